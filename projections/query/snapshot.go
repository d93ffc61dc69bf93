package query

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/projections/internal/tables"
)

var (
	// ErrReplaced reports that a rebuild swapped the tables under a [Snapshot].
	ErrReplaced = errors.New("the tables were rebuilt while they were read")
	// ErrIdle reports that PostgreSQL ended a [Snapshot] that was idle for too long.
	ErrIdle = errors.New("the snapshot was idle for too long")
)

// idleTimeout is how long a [Snapshot] may wait for its reader. It does not block the
// projector, but a migration and the end of a rebuild wait for all readers of the
// tables.
const idleTimeout = "5min"

// Snapshot is the tables as they were at one moment, for as long as it is open, so that
// the results of several queries are consistent. It is for one goroutine.
type Snapshot struct{ pgx.Tx }

// OpenSnapshot opens a snapshot of the tables as they are now. The caller closes it.
func OpenSnapshot(ctx context.Context, db DB) (*Snapshot, error) {
	tx, err := db.BeginTx(ctx, tables.Snapshot)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	s := &Snapshot{tx}
	if _, err := tx.Exec(ctx, "set local idle_in_transaction_session_timeout = '"+idleTimeout+"'"); err != nil {
		s.Close(ctx)
		return nil, fmt.Errorf("limit the snapshot: %w", err)
	}
	return s, nil
}

// Close ends the snapshot, also when ctx has ended. A second call does nothing.
func (s *Snapshot) Close(ctx context.Context) { _ = s.Rollback(context.WithoutCancel(ctx)) }

// Unchanged returns [ErrReplaced] if a rebuild has replaced the tables since the
// snapshot was opened; call it after the last read. Each query looks up the names of
// tables again, while the catalog is read as of the snapshot; if the two differ, a
// rebuild has swapped the tables.
func (s *Snapshot) Unchanged(ctx context.Context) error {
	var same bool
	err := s.QueryRow(ctx, "select coalesce(to_regnamespace('accession')::oid = (select oid from pg_namespace where nspname = 'accession'), false)").Scan(&same)
	switch {
	case err != nil:
		return idle(fmt.Errorf("look whether the tables are the same: %w", err))
	case !same:
		return ErrReplaced
	}
	return nil
}

// Rows yields rows that are read from a snapshot, and after the last one the error of
// Unchanged.
func Rows[T any](ctx context.Context, s *Snapshot, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if !yield(row, idle(err)) || err != nil {
				return
			}
		}
		if err := s.Unchanged(ctx); err != nil {
			var none T
			yield(none, err)
		}
	}
}

// idle returns ErrIdle for a transaction that PostgreSQL ended because it was idle.
func idle(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == tables.IdleTimeout {
		return fmt.Errorf("%w (%s): %w", ErrIdle, idleTimeout, err)
	}
	return err
}
