package projections

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var (
	// ErrReplaced says that a rebuild swapped the tables under a [Still].
	ErrReplaced = errors.New("the tables were rebuilt while they were read")
	// ErrLeftAlone says that PostgreSQL ended a [Still] that nobody read on from.
	ErrLeftAlone = errors.New("nobody read on for too long")
)

// leftAlone is how long a [Still] may wait for its reader. It stops no projector, but
// a migration and the end of a rebuild wait for whoever reads the tables.
const leftAlone = "5min"

// Still is the tables as they were at one moment, for as long as it is open: what
// several questions answer belongs together. It serves one goroutine.
type Still struct{ pgx.Tx }

// HoldStill begins to read the tables as they are now. The caller closes it.
func HoldStill(ctx context.Context, db DB) (*Still, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	s := &Still{tx}
	if _, err := tx.Exec(ctx, "set transaction isolation level repeatable read, read only; set local idle_in_transaction_session_timeout = '"+leftAlone+"'"); err != nil {
		s.Close(ctx)
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	return s, nil
}

// Close ends it, also when ctx has ended. To close it again does nothing.
func (s *Still) Close(ctx context.Context) { _ = s.Rollback(context.WithoutCancel(ctx)) }

// Whole is asked behind the last question: nil says that all answers came from the same
// tables. Names of tables are looked up anew by each question, the catalog is read as
// it was; where the two differ, a rebuild has swapped the tables in between.
func (s *Still) Whole(ctx context.Context) error {
	var same bool
	err := s.QueryRow(ctx, "select coalesce(to_regnamespace('accession')::oid = (select oid from pg_namespace where nspname = 'accession'), false)").Scan(&same)
	switch {
	case err != nil:
		return stood(fmt.Errorf("look whether the tables are the same: %w", err))
	case !same:
		return ErrReplaced
	}
	return nil
}

// Rows gives what is read from it, and behind the last row what Whole says.
func Rows[T any](ctx context.Context, s *Still, rows iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for row, err := range rows {
			if !yield(row, stood(err)) || err != nil {
				return
			}
		}
		if err := s.Whole(ctx); err != nil {
			var none T
			yield(none, err)
		}
	}
}

// stood names the error of a transaction that PostgreSQL ended for standing still.
func stood(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == stoodStill {
		return fmt.Errorf("%w (%s): %w", ErrLeftAlone, leftAlone, err)
	}
	return err
}
