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

// idleTimeout is how long a [Snapshot] may wait for its reader. It stops no projector, but
// a migration and the end of a rebuild wait for every reader of the tables.
const idleTimeout = "5min"

// Snapshot is the tables as they were at one moment, for as long as it is open: what
// several questions answer belongs together. It serves one goroutine.
type Snapshot struct{ pgx.Tx }

// OpenSnapshot begins to read the tables as they are now. The caller closes it.
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

// Close ends it, also when ctx has ended. To close it again does nothing.
func (s *Snapshot) Close(ctx context.Context) { _ = s.Rollback(context.WithoutCancel(ctx)) }

// Unchanged returns [ErrReplaced] if a rebuild has replaced the tables since the snapshot
// was opened; call it after the last read. Names of tables are looked up again by each query, the catalog is read as
// it was; where the two differ, a rebuild has swapped the tables in between.
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

// Rows returns what is read from it, and after the last row what Unchanged returns.
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

// idle names the error of a transaction that PostgreSQL ended for standing still.
func idle(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == tables.IdleTimeout {
		return fmt.Errorf("%w (%s): %w", ErrIdle, idleTimeout, err)
	}
	return err
}
