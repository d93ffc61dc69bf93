package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
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
	verbRelease             // release it; nothing is counted
)

// outcomes are the verbs as a meter counts them.
var outcomes = map[verb]string{
	verbNext: "moved", verbFail: "failed", verbWait: "waits", verbRetry: "retried", verbRelease: "handed_back",
}

// Outcome is the result of a step. Neither waiting nor a release is a failure.
type Outcome struct {
	verb   verb
	job    domain.JobCommand
	batch  domain.BatchCommand
	reason domain.Reason
	delay  time.Duration // of verbWait
	err    error         // of verbRetry and verbRelease, nil = nothing is wrong
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

// retry releases the job for a later attempt, and fails it with r after too many of
// them.
func retry(r domain.Reason, err error) Outcome {
	return Outcome{verb: verbRetry, reason: r, err: err}
}

// release ends the claim, for the job to be claimed later: something other than this
// job prevents the step or, if err is nil, the job has changed meanwhile.
func release(err error) Outcome { return Outcome{verb: verbRelease, err: err} }

// trouble returns the outcome of an error on our side. While a server cannot be reached
// the work is released, without limit; a permanent error fails it at once; any other,
// such as a full disk, after too many attempts.
func (s *steps) trouble(err error, doing string) Outcome {
	r := reason.Of(err, doing)
	var p *reason.Problem
	var away *logError
	_, _, temporary, known := reason.Fault(err)
	switch {
	case errors.As(err, &away), isRefused(err), errors.Is(err, eventstore.ErrConflict), errors.Is(err, eventstore.ErrUnknown),
		known && temporary && r.Class == domain.ClassSystem:
		return release(fmt.Errorf("%s: %w", doing, err))
	case errors.As(err, &p), known:
		return fail(r)
	default:
		return retry(r, fmt.Errorf("%s: %w", doing, err))
	}
}

// isRefused reports whether the rules refused a command.
func isRefused(err error) bool {
	var r *domain.Refused
	return errors.As(err, &r)
}
