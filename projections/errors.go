package projections

import (
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/projections/internal/fold"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// ErrOtherProjector reports that another projector moved the checkpoint: this one
// has changed nothing since and must stop.
var ErrOtherProjector = tables.ErrMoved

// StreamError reports that the log is not the one that the checkpoint belongs to, or
// that it lost events that were applied here.
type StreamError struct {
	Stream string
	Seq    int64 // sequence of the checkpoint
	Why    string
}

// Error implements error.
func (e *StreamError) Error() string {
	return fmt.Sprintf("stream %s does not continue what was applied up to %d: %s; nothing was changed: `accession restore log` puts lost events back from the tables; if the other stream is the right one, `accession rebuild` makes the tables from it",
		e.Stream, e.Seq, e.Why)
}

// Version is the projection version: that of the rules by which this program makes the
// tables.
const Version = tables.Version

// EventError names the event that could not be applied.
type EventError = fold.EventError

// VersionError reports that the tables have another projection version than this
// program.
type VersionError struct{ Tables int64 }

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("the tables have projection version %d, this program has %d; nothing was changed: run `accession rebuild` of the newer program, then its service",
		e.Tables, Version)
}

// TablesError reports that PostgreSQL does not know a table or column that this program
// writes: the tables are those of another version.
type TablesError struct{ Err error }

// Error implements error.
func (e *TablesError) Error() string {
	return fmt.Sprintf("the tables are not those of this program: %v; nothing was changed: if they are older, run `accession migrate` of this program; if a newer program changed them, run that one's service", e.Err)
}

// Unwrap returns the cause.
func (e *TablesError) Unwrap() error { return e.Err }

// otherTables returns a *TablesError for an error that tables of another version cause,
// and other errors unchanged.
func otherTables(err error) error {
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42703" || pg.Code == "42P01" || pg.Code == "42883") { // column, table, function
		return &TablesError{err}
	}
	return err
}

// cachedPlan: the table that a prepared statement reads was changed by a migration
// or a rebuild; the next try prepares it again.
const cachedPlan = "0A000"

// Unavailable reports whether PostgreSQL does not answer now, or not before its tables are
// those of this program.
func Unavailable(err error) bool {
	var other *TablesError
	return transient(err) || errors.As(otherTables(err), &other)
}

// transient reports whether trying again can help: the server cannot be reached,
// restarts, or requests another try.
func transient(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		switch pg.Code[:2] {
		case "08", "53", "57": // connection, resources, operator intervention
			return true
		}
		return pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "55P03" || pg.Code == tables.IdleTimeout || pg.Code == cachedPlan
	}
	var network net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) ||
		errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}
