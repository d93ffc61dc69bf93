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
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailed, "failed, as the message says"},
	{exitUsage, "the command line or a setting is wrong"},
	{exitRefused, "the rules of the workflow do not allow it now"},
	{exitNotFound, "there is no such batch, job, profile or file"},
	{exitUnavailable, "a server cannot be reached"},
	{exitBatchFailed, "with --watch: the batch ended failed"},
	{exitFull, "a limit is reached; try again later"},
	{exitLost, "a server has lost its data; the message names the restore that makes it anew"},
	{exitRepairable, "verify: there are differences, and --repair can mend them all"},
	{exitPerson, "verify, diff: there are differences that somebody has to look at"},
	{exitUnchecked, "verify, diff: the check could not be made"},
	{exitInterrupted, "interrupted"},
}

// exitCodesText gives the table one line a code.
func exitCodesText() string {
	var b strings.Builder
	for _, c := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %s\n", c.code, c.meaning)
	}
	return b.String()
}

// usageError says that the command line is wrong.
type usageError struct {
	err     error
	command string // whose help to read
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// exitError ends the program with a code after the command has said why itself.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

var errInterrupted = errors.New("interrupted")

// report tells of an error and gives the exit code.
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

func explain(err error) (code int, hint string) {
	var (
		silent  exitError
		usage   *usageError
		faults  config.Faults
		known   *app.Error
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
		return exitUsage, "`" + usage.command + " --help` shows how it is used"
	case errors.As(err, &faults):
		return exitUsage, "`accession config print` shows every setting and where it comes from"
	case errors.As(err, &known):
		return codeOf[known.Kind], known.Hint
	case errors.As(err, &missing):
		return exitFailed, "give ZooKeeper, NATS and PostgreSQL of your own by URL, or install what is missing"
	case errors.Is(err, stack.ErrLocked):
		return exitRefused, "stop it first, or name another directory with --dir"
	}
	return exitFailed, ""
}

var codeOf = map[app.Kind]int{
	app.Invalid: exitUsage, app.Refused: exitRefused, app.NotFound: exitNotFound,
	app.Unavailable: exitUnavailable, app.Full: exitFull, app.Lost: exitLost, app.Interrupted: exitInterrupted, app.Failed: exitFailed,
}
