package daemon

import (
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// verb is what the runner does with a claimed batch or job.
type verb int

const (
	verbNext    verb = iota // commit the command, which ends the claim
	verbFail                // commit a failure
	verbWait                // write why it waits, once, and release it
	verbRetry               // release it; fail when that happened too often
	verbRelease             // release it; nothing is counted
)

// outcomes are the verbs as a meter counts them.
var outcomes = map[verb]string{
	verbNext: "moved", verbFail: "failed", verbWait: "waits", verbRetry: "retried", verbRelease: "handed_back",
}

// Outcome is the answer of a step. Waiting is not failing, and neither is being
// released.
type Outcome struct {
	verb   verb
	job    domain.JobCommand
	batch  domain.BatchCommand
	reason domain.Reason
	delay  time.Duration // of verbWait
	err    error         // of verbRetry and verbRelease, nil = nothing is wrong
}

// nextJob goes on with cmd.
func nextJob(cmd domain.JobCommand) Outcome { return Outcome{job: cmd} }

// nextBatch goes on with cmd.
func nextBatch(cmd domain.BatchCommand) Outcome { return Outcome{batch: cmd} }

// fail stops the job where it is.
func fail(r domain.Reason) Outcome { return Outcome{verb: verbFail, reason: r} }

// wait leaves the job in its state; the reason is written when it differs from the
// one before.
func wait(r domain.Reason, delay time.Duration) Outcome {
	r.Class = domain.ClassWait
	return Outcome{verb: verbWait, reason: r, delay: delay}
}

// retry releases the job for later and fails it with r when it was released so too
// often.
func retry(r domain.Reason, err error) Outcome {
	return Outcome{verb: verbRetry, reason: r, err: err}
}

// release ends the claim, for the job to be claimed later: something other than this job stands in the
// way, or (nil) it changed meanwhile and is looked at anew soon.
func release(err error) Outcome { return Outcome{verb: verbRelease, err: err} }

// trouble is the outcome of an error of our own side. While a server is away, the work
// is released for as long as it takes; what is final fails at once; anything else,
// such as a full disk, fails when it happened too often.
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
