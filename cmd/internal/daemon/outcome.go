package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/order"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// verb is the action of the runner after a step.
type verb int

const (
	verbNext    verb = iota // commit the command, which ends the claim
	verbFail                // commit a failure
	verbWait                // write the reason for waiting, once, and release it
	verbRetry               // release it; fail when that happened too often
	verbTrouble             // like verbWait, for a time that grows: our own side is the cause
	verbRelease             // release it; nothing is counted
)

// outcomes are the verbs as a meter counts them.
var outcomes = map[verb]string{
	verbNext: "moved", verbFail: "failed", verbWait: "waits", verbRetry: "retried", verbTrouble: "waits", verbRelease: "handed_back",
}

// Outcome is the result of a step. Neither waiting nor a release is a failure.
type Outcome struct {
	verb   verb
	job    domain.JobCommand
	batch  domain.BatchCommand
	reason domain.Reason
	object *domain.StoredObject // of verbFail and verbRetry, nil = nothing is stored
	before order.Before         // of verbWait: the job or batch that it waits for
	server string               // of verbWait: the server of its files that it waits for, "" = none
	delay  time.Duration        // of verbWait; of verbRetry and verbTrouble: for which a server asked
	err    error                // of verbRetry, verbTrouble and verbRelease, nil = nothing is wrong

	// Of verbRetry: the number of attempts, and what follows the last, nil = the job
	// fails. ours says that the cause is not a depositor's server.
	most int
	then *Outcome
	ours bool
}

// nextJob commits cmd, which moves the job on.
func nextJob(cmd domain.JobCommand) Outcome { return Outcome{job: cmd} }

// nextBatch commits cmd, which moves the batch on.
func nextBatch(cmd domain.BatchCommand) Outcome { return Outcome{batch: cmd} }

// fail fails the job in its present state.
func fail(r domain.Reason) Outcome { return Outcome{verb: verbFail, reason: r} }

// wait leaves the job in its state; the reason is written when it differs from the
// one before.
func wait(r domain.Reason, delay time.Duration) Outcome {
	r.Class = domain.ClassWait
	return Outcome{verb: verbWait, reason: r, delay: delay}
}

// retry releases the work after an attempt at a depositor's server that failed with
// err, for a later one after a pause that grows. After the last the job fails with r. An
// error against which another attempt cannot help is the last.
func retry(r domain.Reason, err error, most int) Outcome {
	again, after := fetch.MayRetry(err)
	if !again {
		return fail(r)
	}
	return Outcome{verb: verbRetry, reason: r, err: err, delay: after, most: most}
}

// release ends the claim, for the job to be claimed later: something other than this
// job prevents the step or, if err is nil, the job has changed meanwhile.
func release(err error) Outcome { return Outcome{verb: verbRelease, err: err} }

// errorOutcome returns the outcome of an error on our side. The job waits, without limit
// and with the reason in its status (not while it is the log, which could not take that
// event), while one of our servers, the store or the disk cannot be used, and after an
// error of unknown kind, which is not known to be the deposit's. A permanent error fails
// it at once, and what an object store says of the object itself after maxTries.
func (s *steps) errorOutcome(err error, doing string) Outcome {
	r := reason.Of(err, doing)
	wrapped := fmt.Errorf("%s: %w", doing, err)
	var p *reason.Problem
	_, _, temporary, known := reason.Fault(err)
	switch {
	case isAway(err), isRefused(err), errors.Is(err, payload.ErrBusy), errors.Is(err, eventstore.ErrConflict), errors.Is(err, eventstore.ErrUnknown):
		return release(wrapped)
	case known && temporary && r.Class == domain.ClassSystem, reason.StorageIll(err):
		_, after := fetch.MayRetry(err)
		return Outcome{verb: verbTrouble, reason: r, err: wrapped, delay: after}
	case errors.As(err, &p), known:
		return fail(r)
	case reason.OfTheObject(err):
		return Outcome{verb: verbRetry, reason: r, err: wrapped, most: maxTries, ours: true}
	default:
		r.Class = domain.ClassSystem
		return Outcome{verb: verbTrouble, reason: r, err: wrapped}
	}
}

// isAway reports whether the events of files could not be written or read.
func isAway(err error) bool {
	var away *logError
	return errors.As(err, &away)
}

// isRefused reports whether the rules refused a command.
func isRefused(err error) bool {
	var r *domain.Refused
	return errors.As(err, &r)
}
