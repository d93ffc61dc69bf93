package daemon

import (
	"time"

	"github.com/accession-ingest/accession/domain"
)

// verb is what the runner is to do with a claimed batch or job.
type verb int

const (
	verbNext     verb = iota // commit the command, which ends the claim
	verbFail                 // commit a failure
	verbWait                 // tell why it waits, once, and give it back
	verbRetry                // give it back; fail when that happened too often
	verbHandBack             // give it back; nothing is counted
)

// Outcome is the answer of a step. Waiting is not failing, and handing back is
// neither.
type Outcome struct {
	verb   verb
	job    domain.JobCommand
	batch  domain.BatchCommand
	reason domain.Reason
	delay  time.Duration // of verbWait
	err    error         // of verbRetry and verbHandBack, nil = nothing is wrong
}

// nextJob goes on with cmd.
func nextJob(cmd domain.JobCommand) Outcome { return Outcome{job: cmd} }

// nextBatch goes on with cmd.
func nextBatch(cmd domain.BatchCommand) Outcome { return Outcome{batch: cmd} }

// fail stops the job where it is.
func fail(r domain.Reason) Outcome { return Outcome{verb: verbFail, reason: r} }

// wait leaves the job in its state; the reason is told when it is another one
// than before.
func wait(r domain.Reason, delay time.Duration) Outcome {
	r.Class = domain.ClassWait
	return Outcome{verb: verbWait, reason: r, delay: delay}
}

// retry gives the job back for later and fails it with r when it was given back
// so too often.
func retry(r domain.Reason, err error) Outcome {
	return Outcome{verb: verbRetry, reason: r, err: err}
}

// handBack gives the work back for later: something that is no matter of this job
// stands in the way.
func handBack(err error) Outcome { return Outcome{verb: verbHandBack, err: err} }

// again gives the work back to be looked at anew soon: it changed meanwhile.
func again() Outcome { return Outcome{verb: verbHandBack} }
