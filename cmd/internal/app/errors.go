package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/hint"
	"github.com/accession-ingest/accession/cmd/internal/app/intake"
	"github.com/accession-ingest/accession/cmd/internal/app/texts"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Kind sorts errors by what the caller can do about them.
type Kind string

// The kinds of error.
const (
	Invalid     Kind = "invalid"     // the request itself is wrong
	Refused     Kind = "refused"     // the rules do not allow it now
	NotFound    Kind = "not_found"   // there is no such thing
	Gone        Kind = "gone"        // it was withdrawn, and does not come back
	Unavailable Kind = "unavailable" // a server does not answer
	Outdated    Kind = "outdated"    // it was changed since the caller read it
	KeyReused   Kind = "key_reused"  // the idempotency key was used for another request
	// Unauthenticated and Forbidden are errors of callers who have to say who they are.
	Unauthenticated Kind = "unauthenticated" // who calls is not known
	Forbidden       Kind = "forbidden"       // the caller may see it, and not do this
	IntakeClosed    Kind = "intake_closed"   // operators let no deposit in now
	Full            Kind = "full"            // a limit is reached; later it may work
	Lost            Kind = "lost"            // a server has lost its data; a restore is needed
	Interrupted     Kind = "interrupted"     // the caller ended it before it was done
	Failed          Kind = "failed"          // anything else
)

// ExitCodes are the codes with which a command ends after an error of each kind.
var ExitCodes = map[Kind]int{
	Failed: 1, Invalid: 2, Refused: 3, Outdated: 3, KeyReused: 3, NotFound: 4, Gone: 4, Unavailable: 5,
	Full: 7, IntakeClosed: 12, Lost: 8, Unauthenticated: 10, Forbidden: 11, Interrupted: 130,
}

// Error is the error of a use case.
type Error struct {
	Kind Kind
	What string // what was being done, such as: submit; filled in by the use case
	Err  error
	Hint string // what to do next, "" = none
	// RetryAfter is when to try again, of errors of kind Full and IntakeClosed.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errorf returns an error of a kind with a hint; explain adds what was being done.
func errorf(kind Kind, hint, format string, args ...any) error {
	return &Error{Kind: kind, Err: fmt.Errorf(format, args...), Hint: hint}
}

// missing returns an error of kind NotFound in place of one about something that does
// not exist, and other errors unchanged.
func missing(err error, hint, format string, args ...any) error {
	if errors.Is(err, eventstore.ErrNotFound) || errors.Is(err, query.ErrNotFound) {
		return errorf(NotFound, hint, format, args...)
	}
	return err
}

// Explained explains the error that a use case returns; it is deferred.
//
//nolint:gocritic // a deferred call changes the result of its caller
func Explained(err *error, what string) { *err = explain(what, *err) }

// explain turns the errors of the layers below into an [*Error]. nil stays nil, an
// *Error stays as it is.
func explain(what string, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		known.What = cmp.Or(known.What, what)
		return err
	}
	if err == nil {
		return nil
	}
	e := &Error{Kind: Failed, What: what, Err: err}
	if store, ok := errors.AsType[*eventstore.Error](err); ok && store.Hint != "" {
		e.Hint, e.Err = store.Hint, unhinted(store)
	}
	refused, isRefused := errors.AsType[*domain.Refused](err)
	full, isFull := errors.AsType[*eventstore.FullError](err)
	_, isClosed := errors.AsType[*eventstore.ClosedError](err)
	_, noProfile := errors.AsType[*profile.NotFoundError](err)
	switch {
	case isRefused && slices.Contains(malformed, refused.Code):
		e.Kind = Invalid
	case isRefused:
		e.Kind, e.Hint = Refused, hint.Instead(refused)
		if refused.Code == domain.CodePoolFull {
			e.Kind, e.RetryAfter = Full, eventstore.RetryPool
		}
	case noProfile:
		e.Kind, e.Hint = NotFound, "`accession profile ls` lists the profiles there are; each is a file in profiles_dir"
	case isClosed:
		e.Kind, e.RetryAfter = IntakeClosed, intake.RetryClosed
		e.Hint = fmt.Sprintf("nothing was taken: try again in %v", e.RetryAfter)
	case isFull:
		e.Kind, e.RetryAfter = Full, full.After
		e.Hint = fmt.Sprintf("nothing was taken or changed: try again in %v; %s", full.After, cmp.Or(full.Remedy, "`accession status` shows queues and outbox"))
	case errors.Is(err, eventstore.ErrFull):
		e.Kind, e.RetryAfter = Full, eventstore.RetryQueue
		e.Hint = fmt.Sprintf("the queues are full: try again in %v", e.RetryAfter)
	default:
		known := slices.IndexFunc(knownErrors, func(k knownError) bool { return errors.Is(err, k.err) })
		if known >= 0 {
			e.Kind, e.Hint = knownErrors[known].kind, cmp.Or(knownErrors[known].hint, e.Hint)
		} else if errors.Is(err, eventstore.ErrUnknown) || unreachable(err) {
			e.Kind, e.Hint = Unavailable, cmp.Or(e.Hint, "is the server running? `accession status` shows which does not answer")
		}
	}
	return e
}

// knownError describes an error of the layers below to the caller.
type knownError struct {
	err  error
	kind Kind
	hint string // "" = that of the error, if it has one
}

var knownErrors = []knownError{
	{eventstore.ErrNotFound, NotFound, ""},
	{eventstore.ErrRestoring, Lost, ""},
	{query.ErrNotFound, NotFound, ""},
	{fs.ErrNotExist, NotFound, ""},
	{eventstore.ErrOutdated, Outdated, "nothing was changed: read it again, and repeat the command for the version that it has now"},
	{eventstore.ErrLocked, Refused, lockedHint},
	{eventstore.ErrConflict, Refused, "another process changed it meanwhile: look at it and try again"},
	{query.ErrReplaced, Failed, "run it again: it then reads the new tables"},
	{query.ErrIdle, Failed, "write it to a file with --out, and read that"},
}

// lockedHint says what to do about a lock.
const lockedHint = "locked by a worker: try again when its step has ended, or pause the queue first; `accession job fail` ends a job in spite of the lock"

// unhinted returns the error without its hint, which is shown elsewhere.
func unhinted(e *eventstore.Error) error {
	short := *e
	short.Hint = ""
	return &short
}

// NoAnswer returns an error of kind Unavailable for a server that cannot be reached.
// nil stays nil.
func NoAnswer(server string, err error, hint string) error {
	if err == nil {
		return nil
	}
	if store, ok := errors.AsType[*eventstore.Error](err); ok {
		err = unhinted(store)
	}
	return &Error{Kind: Unavailable, What: server, Err: texts.OneLine(err), Hint: hint}
}

// unreachable reports whether a server could not be reached.
func unreachable(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, context.DeadlineExceeded)
}

// malformed are the codes of refusals of requests that are wrong in themselves.
var malformed = []domain.Code{domain.CodeBadName, domain.CodeBadPriority}
