package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// The exit codes of every command.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitRefused     = 3
	exitNotFound    = 4
	exitUnavailable = 5
	exitBatchFailed = 6
	exitFull        = 7
	exitLost        = 8
	exitRepairable  = 20
	exitPerson      = 21
	exitUnchecked   = 22
	exitInterrupted = 130
)

// exitCodes is the table that `accession help exit-codes` and docs/cli.md show.
var exitCodes = []struct {
	code  int
	about string
}{
	{exitOK, "success"},
	{exitFailed, "failed; see the message"},
	{exitUsage, "the command line or a setting is invalid"},
	{exitRefused, "refused: the rules of the workflow do not allow it now"},
	{exitNotFound, "there is no such batch, job, profile or file"},
	{exitUnavailable, "a server cannot be reached"},
	{exitBatchFailed, "with --watch: the batch failed"},
	{exitFull, "a limit is reached; try again later"},
	{exitLost, "a server has lost its data; the message names the restore command"},
	{exitRepairable, "verify: there are differences, and --repair can repair all of them"},
	{exitPerson, "verify, diff: there are differences that need a person"},
	{exitUnchecked, "verify, diff: the check could not be made"},
	{exitInterrupted, "interrupted"},
}

// exitCodesText returns the table as text, one line for each code.
func exitCodesText() string {
	var b strings.Builder
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.about)
	}
	return b.String()
}

// usageError reports that the command line is invalid.
type usageError struct {
	err     error
	command string // whose help to read; execute sets it
}

// usage returns a usage error, for what only the running command can find out.
func usage(format string, args ...any) error { return &usageError{err: fmt.Errorf(format, args...)} }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// exitError ends the program with this code; the command has reported why.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitIf returns an exitError when the condition holds.
func exitIf(condition bool, code int) error {
	if condition {
		return exitError(code)
	}
	return nil
}

var errInterrupted = errors.New("interrupted")

// known returns the error of a use case in err, or one of kind Failed.
func known(err error) *app.Error {
	var e *app.Error
	if !errors.As(err, &e) {
		return &app.Error{Kind: app.Failed, Err: err}
	}
	return e
}

// report writes an error and its hint, and returns the exit code.
func (p *program) report(err error) int {
	code, hint := explain(err)
	var silent exitError
	if err == nil || errors.As(err, &silent) {
		return code
	}
	fmt.Fprintf(p.Err, "accession: %v\n", err)
	if hint != "" {
		fmt.Fprintf(p.Err, "hint: %s\n", hint)
	}
	return code
}

// explain returns the exit code of an error and what to do next.
func explain(err error) (code int, hint string) {
	var (
		silent  exitError
		usage   *usageError
		faults  config.Faults
		missing *stack.MissingError
	)
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &silent):
		return int(silent), ""
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return exitInterrupted, ""
	case errors.As(err, &usage):
		return exitUsage, "`" + usage.command + " --help` explains the command"
	case errors.As(err, &faults):
		return exitUsage, "`accession config print` shows every setting and its origin"
	case errors.As(err, &missing):
		return exitFailed, "give ZooKeeper, NATS and PostgreSQL of your own by URL, or install what is missing"
	case errors.Is(err, stack.ErrLocked):
		return exitRefused, "stop it first, or name another directory with --dir"
	}
	e := known(err)
	return codeOf[e.Kind], e.Hint
}

var codeOf = map[app.Kind]int{
	app.Invalid: exitUsage, app.Refused: exitRefused, app.NotFound: exitNotFound,
	app.Unavailable: exitUnavailable, app.Full: exitFull, app.Lost: exitLost, app.Interrupted: exitInterrupted, app.Failed: exitFailed,
}
