package daemon

import (
	"time"

	"github.com/accession-ingest/accession/domain"
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

// release gives the claim up for later: something other than this job stands in the
// way, or (nil) it changed meanwhile and is looked at anew soon.
func release(err error) Outcome { return Outcome{verb: verbRelease, err: err} }
