package record

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/accession-ingest/accession/domain"
)

// Codes of this package's errors.
const (
	CodeUnavailable        domain.Code = "record_unavailable"  // PostgreSQL cannot be reached at the moment
	CodeBroken             domain.Code = "record_error"        // it refused a statement
	CodeNotFound           domain.Code = "record_not_found"    // there is no such row
	CodeIdentifierTaken    domain.Code = "identifier_taken"    // another job has this identifier
	CodeIdentifierMismatch domain.Code = "identifier_mismatch" // names of one object lead to different ones
	CodeIdentifierForeign  domain.Code = "identifier_foreign"  // the object is of another collection
	CodeObjectWithdrawn    domain.Code = "object_withdrawn"    // the object was withdrawn
	CodeInventoryConflict  domain.Code = "inventory_conflict"  // something else is recorded there
	CodeURLTaken           domain.Code = "url_taken"           // another URL has this public form
	CodeResultKept         domain.Code = "result_kept"         // another result of the same claim is kept
)

// Error says what could not be kept or read.
type Error struct {
	Code    domain.Code
	Op      string // what was asked, such as "reserve identifier"
	About   string // for what, such as jid0000000042
	Message string // one sentence, "" = the cause says it
	Err     error  // the cause, nil = the answer is final
}

// Error implements error.
func (e *Error) Error() string {
	s := strings.TrimSuffix(e.Op+" "+e.About, " ")
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reason returns the error as the reason of a failure. Names that lead to different
// objects, or to one of another collection or that was withdrawn, are the depositor's to correct.
func (e *Error) Reason() domain.Reason {
	class := domain.ClassSystem
	if slices.Contains([]domain.Code{CodeIdentifierMismatch, CodeIdentifierForeign, CodeObjectWithdrawn}, e.Code) {
		class = domain.ClassContent
	}
	return domain.Reason{Class: class, Code: e.Code, Message: e.Error()}
}

// Retry reports whether the same request may succeed later: when PostgreSQL can be reached
// again, or when an operator has put right what it lacks.
func (e *Error) Retry() (again bool, after time.Duration) {
	return e.Code == CodeUnavailable || e.Code == CodeBroken && !ofTheData(e.Err), 0
}

// ofTheData reports whether PostgreSQL refuses what a statement was given: a value that its
// type or an index cannot hold, or a row that breaks a constraint.
func ofTheData(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && slices.Contains([]string{"22", "23", "54"}, pg.Code[:2])
}

// refuse returns an error against which trying again does not help.
func refuse(code domain.Code, op, about, format string, args ...any) error {
	return &Error{Code: code, Op: op, About: about, Message: fmt.Sprintf(format, args...)}
}

// wrap turns an error of PostgreSQL into an *Error; an *Error stays as it is.
func wrap(err error, op, about string) error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	code := CodeBroken
	if unavailable(err) {
		code = CodeUnavailable
	}
	return &Error{Code: code, Op: op, About: about, Err: err}
}

func unavailable(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// Connection, resources, operator intervention; conflicts of transactions.
		return slices.Contains([]string{"08", "53", "57"}, pg.Code[:2]) || slices.Contains([]string{"40001", "40P01"}, pg.Code)
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err)
}
