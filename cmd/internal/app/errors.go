package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Kind sorts errors by what the asker can do about them.
type Kind string

// The kinds of error.
const (
	Invalid     Kind = "invalid"     // the question itself is wrong
	Refused     Kind = "refused"     // the rules do not allow it now
	NotFound    Kind = "not_found"   // there is no such thing
	Unavailable Kind = "unavailable" // a server does not answer
	Full        Kind = "full"        // a limit is reached; later it may work
	Lost        Kind = "lost"        // a server has lost its data; a restore makes it anew
	Interrupted Kind = "interrupted" // the asker ended it, and should know how things stand
	Failed      Kind = "failed"      // anything else
)

// Error is the answer of a use case that could not do what was asked.
type Error struct {
	Kind Kind
	What string // what was being done, such as: submit
	Err  error
	Hint string // what to do next, "" = nothing to say
	// RetryAfter is when it is worth trying again, of errors of kind Full.
	RetryAfter time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// explain turns the errors of the layers below into an [*Error]. nil stays nil,
// an *Error stays as it is.
func explain(what string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Kind: Failed, What: what, Err: err}
	var refused *domain.Refused
	var profileUnknown *profile.NotFoundError
	var full *eventstore.FullError
	var store *eventstore.Error
	if errors.As(err, &store) && store.Hint != "" {
		e.Hint = store.Hint
		e.Err = unhinted(store)
	}
	switch {
	case errors.As(err, &refused) && slices.Contains(malformed, refused.Code):
		e.Kind = Invalid
	case errors.As(err, &refused):
		e.Kind, e.Hint = Refused, instead(refused)
	case errors.As(err, &profileUnknown):
		e.Kind, e.Hint = NotFound, "`accession profile ls` lists the profiles there are; each is a file in profiles_dir"
	case errors.Is(err, eventstore.ErrNotFound), errors.Is(err, query.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e.Kind = NotFound
	case errors.As(err, &full):
		e.Kind, e.RetryAfter = Full, full.After
		e.Hint = fmt.Sprintf("nothing was taken or changed: try again in %v; `accession status` shows queues and outbox", full.After)
	case errors.Is(err, eventstore.ErrFull):
		e.Kind, e.RetryAfter = Full, eventstore.RetryQueue
		e.Hint = fmt.Sprintf("the queues are full: try again in %v", e.RetryAfter)
	case errors.Is(err, eventstore.ErrLocked):
		e.Kind, e.Hint = Refused, lockedHint
	case errors.Is(err, eventstore.ErrConflict):
		e.Kind, e.Hint = Refused, "somebody else changed it in this moment: look at it and try again"
	case errors.Is(err, query.ErrReplaced):
		e.Hint = "make it again: it then tells of the new tables"
	case errors.Is(err, query.ErrIdle):
		e.Hint = "write it into a file with --out, and look at that"
	case errors.Is(err, eventstore.ErrUnknown), unreachable(err):
		e.Kind = Unavailable
		if e.Hint == "" {
			e.Hint = "is the server running? `accession status` tells which does not answer"
		}
	}
	return e
}

// lockedHint says what can be done about a lock.
const lockedHint = "a worker is at it in this moment: try again when its step has ended, or pause the queue first"

// unhinted gives the error without its hint, which is told once and elsewhere.
func unhinted(e *eventstore.Error) error {
	short := *e
	short.Hint = ""
	return &short
}

// NoAnswer is the error of kind Unavailable for a server that cannot be talked to.
// nil stays nil.
func NoAnswer(server string, err error, hint string) error {
	if err == nil {
		return nil
	}
	var store *eventstore.Error
	if errors.As(err, &store) {
		err = unhinted(store)
	}
	return &Error{Kind: Unavailable, What: server, Err: oneLine{err}, Hint: hint}
}

// oneLine shows an error in one line: some drivers write a list.
type oneLine struct{ error }

// Error implements error.
func (e oneLine) Error() string { return strings.Join(strings.Fields(e.error.Error()), " ") }

// Unwrap gives the cause.
func (e oneLine) Unwrap() error { return e.error }

// unreachable reports whether a server could not be talked to.
func unreachable(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}

// malformed are the codes of refusals that no other moment would change: the
// question itself is wrong.
var malformed = []domain.Code{"bad_name", "bad_priority"}

// instead says, for a refusal, what could be done instead.
func instead(r *domain.Refused) string {
	commands := insteadOfState[r.Aggregate.Kind][r.State]
	if other, known := insteadOfCode[r.Code]; known {
		commands = other
	}
	return strings.ReplaceAll(commands, "ID", r.Aggregate.ID)
}

var insteadOfCode = map[domain.Code]string{
	domain.CodeCollectionHeld: "`accession collection ls` shows who set the hold and why; `accession collection release` lifts it",
	domain.CodeJobsLocked:     "`accession job ls --batch ID` shows where they are",
	"jobs_processing":         "`accession job ls --batch ID` shows where they are",
	"batch_state":             "wait until the batch is reported; `accession job show ID` names it",
	"not_reported":            "`accession batch show ID` tells how far it is",
	"no_mail_address":         "name them in the profile, under notify; `accession report batch --batch ID --format mail --from ADDRESS --to ADDRESS` makes a mail for others",
	"not_recoverable":         "`accession job delete ID` deletes it",
}

var insteadOfState = map[domain.Kind]map[string]string{
	domain.KindBatch: {
		string(domain.BatchPending):         "its jobs are being made: `accession batch show ID` tells how far it is; `accession collection hold` stops its jobs",
		string(domain.BatchHeld):            "`accession batch release ID` lets it go on, `accession batch delete ID` deletes it",
		string(domain.BatchProcessing):      "its jobs are at work: `accession batch show ID` tells how far they are",
		string(domain.BatchReporting):       "wait until its report is made",
		string(domain.BatchUpdateReporting): "wait until its report is made",
		string(domain.BatchFailed):          "`accession job requeue` sends its failed jobs back, then `accession batch update-report ID`; `accession batch delete ID` deletes it",
		string(domain.BatchCompleted):       "`accession batch cleanup ID` takes it out of the live state",
		string(domain.BatchDeleted):         "`accession batch report ID` shows what became of it",
	},
	domain.KindJob: {
		string(domain.JobPending):      "`accession job hold ID` parks it",
		string(domain.JobHeld):         "`accession job release ID` lets it go on, `accession job delete ID` deletes it",
		string(domain.JobFailed):       "`accession job requeue ID` sends it back, `accession job delete ID` deletes it",
		string(domain.JobCompleted):    "it is done; `accession job show ID` tells where its object is",
		string(domain.JobEstimating):   working,
		string(domain.JobProvisioning): working,
		string(domain.JobDownloading):  working,
		string(domain.JobProcessing):   working,
		string(domain.JobRecording):    working,
		string(domain.JobNotify):       working,
	},
	domain.KindFile: {
		string(domain.FileDiscovered):        fileComes,
		string(domain.FileDownloading):       fileComes,
		string(domain.FileDownloadingFailed): fileComes,
		string(domain.FileDownloaded):        "`accession file skip ID` leaves it out",
		string(domain.FileReady):             fileWorks,
		string(domain.FileProcessing):        fileWorks,
		string(domain.FileProcessingFailed):  fileWorks,
		string(domain.FileProcessed):         "it is done; `accession file show ID` tells where its result is",
		string(domain.FileIgnore):            fileAgain,
		string(domain.FileAbandoned):         fileAgain,
		string(domain.FileSkipped):           fileAgain,
	},
	domain.KindSetting: {
		"already on hold": "`accession collection ls` shows who set it and why",
		"not on hold":     "`accession collection ls` shows what is set",
		"already paused":  "`accession queue ls` shows who set it and why",
		"not paused":      "`accession queue ls` shows what is set",
	},
}

const (
	working   = "it is on its way: wait until it has completed or failed; `accession queue pause` stops its queue"
	fileComes = "it is on its way: `accession file show ID` tells how far; once it is DOWNLOADED, `accession file skip ID` leaves it out"
	fileWorks = "it is on its way: wait until it is PROCESSED, or ABANDONED and can be taken up again"
	fileAgain = "`accession file requeue ID` takes it up again"
)
