package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Answer is what becomes of a command.
type Answer string

// The answers.
const (
	Done     Answer = "done"
	Refused  Answer = "refused"   // by the rules
	Locked   Answer = "locked"    // another worker has it
	Fenced   Answer = "fenced"    // the claim was lost
	NotFound Answer = "not found" // there is none
)

// Workflow is the state of all batches, jobs and holds.
type Workflow struct {
	Batches []*Batch        // in the order of their ids
	Jobs    []*Job          // the same
	Held    map[string]bool // collections on hold
	Paused  map[string]bool // queues, by state; "ingest" = all
}

// Batch is a batch as it should be.
type Batch struct {
	ID, Collection string
	State          string
	Version        int
	Rows, Next     int // 0 rows = not listed
	Holder         string
	Cleaned, Gone  bool
}

// Job is a job as it should be.
type Job struct {
	ID            string
	Batch         *Batch
	State, Last   string // Last = last successful status
	Retries       int
	Priority      int
	Version       int
	Holder        string // of its lock: a claim
	Claims        int    // since the last event or release
	Cleaned, Gone bool
}

// New returns an empty workflow.
func New() *Workflow { return &Workflow{Held: map[string]bool{}, Paused: map[string]bool{}} }

// Queued reports whether the job has an entry in its state's queue.
func (j *Job) Queued() bool { return !j.Cleaned && !j.Gone }

// Sub is where the batch keeps its reference to the job.
func (j *Job) Sub() string {
	switch {
	case j.Gone:
		return ""
	case j.State == "completed" || j.State == "failed":
		return j.State
	}
	return "processing"
}

// Count counts a batch's jobs in one of its sub-states.
func (w *Workflow) Count(b *Batch, sub string) (n int) {
	for _, j := range w.Jobs {
		if j.Batch == b && j.Sub() == sub {
			n++
		}
	}
	return n
}

// HoldSetting holds or lifts; it is refused when that is so already.
func HoldSetting(of map[string]bool, name string, on bool) Answer {
	if of[name] == on {
		return Refused
	}
	of[name] = on
	return Done
}

// NextJob is the job that is handed out next in a state, nil = none: the most urgent
// one, the lowest id first.
func (w *Workflow) NextJob(state string) *Job {
	if w.Paused["ingest"] || w.Paused[state] {
		return nil
	}
	var next *Job
	for _, j := range w.Jobs {
		if j.State == state && j.Queued() && j.Holder == "" && j.Batch.State != "deleted" &&
			(next == nil || cmp.Or(cmp.Compare(j.Priority, next.Priority), cmp.Compare(j.ID, next.ID)) < 0) {
			next = j
		}
	}
	return next
}

// NextBatch is the batch that is handed out next in a state, nil = none.
func (w *Workflow) NextBatch(state string) *Batch {
	if w.Paused["ingest"] {
		return nil
	}
	i := slices.IndexFunc(w.Batches, func(b *Batch) bool { return b.State == state && b.Holder == "" && !b.Gone })
	if i < 0 {
		return nil
	}
	return w.Batches[i]
}

// ClaimJob locks a job for a claim.
func (w *Workflow) ClaimJob(j *Job, claim string) Answer {
	switch {
	case j.Gone || j.Batch.State == "deleted":
		return NotFound
	case j.Holder != "":
		return Locked
	}
	j.Holder = claim
	j.Claims++
	return Done
}

// ClaimBatch locks a batch for a claim.
func (w *Workflow) ClaimBatch(b *Batch, claim string) Answer {
	switch {
	case b.Gone:
		return NotFound
	case b.Holder != "":
		return Locked
	}
	b.Holder = claim
	return Done
}

// Release ends a claim without a change: the worker did not die.
func (w *Workflow) Release(claim string) {
	for _, j := range w.Jobs {
		if j.Holder == claim {
			j.Holder, j.Claims = "", 0
		}
	}
	w.lose(claim)
}

// Lose ends claims because their session is gone.
func (w *Workflow) Lose(claims ...string) {
	for _, c := range claims {
		w.lose(c)
	}
}

func (w *Workflow) lose(claim string) {
	for _, j := range w.Jobs {
		if j.Holder == claim {
			j.Holder = ""
		}
	}
	for _, b := range w.Batches {
		if b.Holder == claim {
			b.Holder = ""
		}
	}
}

// Say describes a job in one line.
func (j *Job) Say() string {
	return fmt.Sprintf("%s number %d last=%s retries=%d priority=%d cleaned=%t", j.State, j.Version, j.Last, j.Retries, j.Priority, j.Cleaned)
}

// Say describes a batch in one line.
func (b *Batch) Say() string {
	return fmt.Sprintf("%s number %d rows=%d of %d", b.State, b.Version, b.Next, b.Rows)
}
