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
	Faulty        bool   // it failed while it was pending, by its payload
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

// HoldSetting holds or releases; it is refused when that is so already.
func HoldSetting(of map[string]bool, name string, on bool) Answer {
	if of[name] == on {
		return Refused
	}
	of[name] = on
	return Done
}

// WaitingJobs are those that wait in a state, in the order in which they are handed out: the
// most urgent one first, of these the lowest id.
func (w *Workflow) WaitingJobs(state string) (jobs []*Job) {
	if w.Paused["ingest"] || w.Paused[state] {
		return nil
	}
	for _, j := range w.Jobs {
		if j.State == state && j.Queued() && j.Holder == "" && j.Batch.State != "deleted" {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID)) })
	return jobs
}

// WaitingBatches are those that wait in a state, in the order in which they are handed
// out.
func (w *Workflow) WaitingBatches(state string) (batches []*Batch) {
	if w.Paused["ingest"] {
		return nil
	}
	for _, b := range w.Batches {
		if b.State == state && b.Holder == "" && !b.Gone {
			batches = append(batches, b)
		}
	}
	return batches
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
