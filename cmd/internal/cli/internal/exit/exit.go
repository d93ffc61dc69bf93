// Package exit says with which code a command ends, and what to do next.
package exit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/domain"
)

// The exit codes of every command.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	Refused     = 3
	NotFound    = 4
	Unavailable = 5
	BatchFailed = 6
	Full        = 7
	Lost        = 8
	Unfinished  = 9
	Unknown     = 10
	Forbidden   = 11
	Closed      = 12
	Repairable  = 20
	Person      = 21
	Unchecked   = 22
	Interrupted = 130
)

// Codes is the table that `accession help exit-codes` and docs/cli.md show.
var Codes = []struct {
	Code  int
	About string
}{
	{OK, "success"},
	{Failed, "failed; see the message"},
	{Usage, "the command line or a setting is invalid"},
	{Refused, "refused: the rules of the workflow do not allow it now"},
	{NotFound, "there is no such batch, job, profile or file"},
	{Unavailable, "a server cannot be reached"},
	{BatchFailed, "with --watch or --sync: the batch failed"},
	{Full, "a limit is reached; try again later"},
	{Lost, "a server has lost its data; the message names the restore command"},
	{Unfinished, "with --watch or --sync: the batch is held, or goes on after --wait"},
	{Unknown, "over HTTP: the key, session or password is not valid"},
	{Forbidden, "over HTTP: the caller has no right to do this"},
	{Closed, "the intake is closed; the message says why, and to try again later"},
	{Repairable, "verify: there are differences, and --repair can repair all of them"},
	{Person, "verify, diff: there are differences that need a person"},
	{Unchecked, "verify, diff: the check could not be made"},
	{Interrupted, "interrupted"},
}

// Text returns the table as text, one line for each code.
func Text() string {
	var b strings.Builder
	for _, c := range Codes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.Code, c.About)
	}
	return b.String()
}

// UsageError reports that the command line is invalid.
type UsageError struct {
	Err     error
	Command string // whose help to read
}

// Usagef returns a usage error, for what only the running command can find out.
func Usagef(format string, args ...any) error { return &UsageError{Err: fmt.Errorf(format, args...)} }

// Error implements error.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *UsageError) Unwrap() error { return e.Err }

// Error ends the program with this code; the command has reported why.
type Error int

// Error implements error.
func (e Error) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// If returns an Error when the condition holds.
func If(condition bool, code int) error {
	if condition {
		return Error(code)
	}
	return nil
}

// Batch returns the Error of a command that waited for a batch, which is in this state
// now; nil = it completed.
func Batch(state domain.BatchState) error {
	switch state {
	case domain.BatchCompleted:
		return nil
	case domain.BatchFailed:
		return Error(BatchFailed)
	}
	return Error(Unfinished)
}

// bySeverity orders the exit codes of a command on several things.
var bySeverity = []int{OK, Refused, NotFound, Full, Closed, Usage, Forbidden, Unknown, Failed, Unavailable, Lost, Interrupted}

// Worse returns the worse of two exit codes of a command on several things. A code without
// a rank, such as one of a newer service, is the worst.
func Worse(a, b int) int {
	rank := func(code int) int {
		if i := slices.Index(bySeverity, code); i >= 0 {
			return i
		}
		return len(bySeverity)
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

// ErrInterrupted is the error of what a signal ended.
var ErrInterrupted = errors.New("interrupted")

// Known returns the error of a use case in err, or one of kind Failed.
func Known(err error) *app.Error {
	var e *app.Error
	if !errors.As(err, &e) {
		return &app.Error{Kind: app.Failed, Err: err}
	}
	return e
}

// Kind returns the kind of an error: that of a use case, or the one by its exit code.
func Kind(err error) app.Kind {
	var e *app.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	code, _ := Explain(err)
	for _, kind := range []app.Kind{app.Invalid, app.Refused, app.NotFound, app.Unavailable, app.Full, app.IntakeClosed, app.Lost, app.Interrupted} {
		if app.ExitCodes[kind] == code {
			return kind
		}
	}
	return app.Failed
}

// Explain returns the exit code of an error and what to do next.
func Explain(err error) (code int, hint string) {
	var (
		silent  Error
		usage   *UsageError
		faults  config.Faults
		missing *stack.MissingError
		there   interface{ Problem() problem.Problem } // the answer of a service
	)
	switch {
	case err == nil:
		return OK, ""
	case errors.As(err, &silent):
		return int(silent), ""
	case errors.Is(err, ErrInterrupted), errors.Is(err, context.Canceled):
		return Interrupted, ""
	case errors.As(err, &usage):
		return Usage, "`" + usage.Command + " --help` explains the command"
	case errors.As(err, &faults):
		return Usage, "`accession config print` shows every setting and its origin"
	case errors.As(err, &missing):
		return Failed, "give ZooKeeper, NATS and PostgreSQL of your own by URL, or install what is missing"
	case errors.Is(err, stack.ErrLocked):
		return Refused, "stop it first, or name another directory with --dir"
	}
	e := Known(err)
	if errors.As(err, &there) && there.Problem().Exit > 0 {
		return there.Problem().Exit, e.Hint
	}
	return app.ExitCodes[e.Kind], e.Hint
}

// Problem describes an error to programs, as the service describes it to callers over HTTP.
func Problem(err error) *problem.Problem {
	code, hint := Explain(err)
	p := problem.Of(Kind(err), err.Error(), hint)
	p.Exit = code
	var there interface{ Problem() problem.Problem }
	if errors.As(err, &there) {
		is := there.Problem()
		p.Status, p.Title, p.Request = cmp.Or(is.Status, p.Status), cmp.Or(is.Title, p.Title), is.Request
	}
	return p
}
