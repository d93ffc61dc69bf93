package domain

import (
	"slices"

	"github.com/accession-ingest/accession/domain/fair"
)

// Facts are what a decision needs to know besides the state of its aggregate. They were read
// before it; what it relied on is named in its [Require], and proven in the write.
type Facts struct {
	// Collection is the collection of the aggregate's profile, for every command;
	// CollectionHold is the hold on it, nil = none.
	Collection     string
	CollectionHold *Hold
	// Batch is the status of the job's batch (for jobs only).
	Batch BatchState
	// Processing, Failed and Completed count the references in the batch's
	// sub-states (for batches only).
	Processing, Failed, Completed int
	// Open are the jobs in batch-processing, Locked those of the batch's jobs that
	// are locked (for the deletion of a batch).
	Open, Locked []JobID
	// Ticket is that of a deposit queue for a batch which is submitted or
	// released; nil = the queue is not used, and the batch may be claimed at once.
	Ticket *Ticket
	// Pool is that of synchronous deposits, for a batch which is to be one; nil = the
	// live state has none.
	Pool *fair.Pool
}

// Require lists what must still be true when a decision is written. The event
// store proves it in the same atomic write, or refuses the write as a conflict.
type Require struct {
	Holds    bool  // holds and pauses are as they were when the facts were read
	Batch    bool  // the batch's status is as it was when the facts were read (for jobs)
	Unlocked bool  // no worker holds the aggregate's lock, but the one that makes the change
	Empty    []Sub // these sub-states of the batch have no reference
	// Idle, when not empty: batch-processing refers to these jobs and no other, and
	// none of them is locked.
	Idle []JobID
}

// MaxIdle is how many jobs a [Require] may name as idle: so many can be proven in
// one write.
const MaxIdle = 200

// Decision is what a command leads to: the events, in order, and what must still
// hold when they are written. Row names the table row, "" when the state stays.
type Decision struct {
	Row     string
	Events  []Event
	Require Require
}

// refuse returns the answer to a command that the rules do not allow. possible are the
// states to which the table leads from here; the refusal lists them when the table has no such row.
func refuse(a Aggregate, command, state string, code Code, why string, possible []string) *Refused {
	r := &Refused{Aggregate: a, Command: command, State: state, Code: code}
	if why != "" {
		r.Message = a.String() + " cannot " + command + ": " + why
	}
	if code == CodeIllegal {
		r.Possible = possible
	}
	return r
}

// rowWhere returns the first row of a table that fits.
func rowWhere[T any](table []T, fits func(T) bool) (row T, found bool) {
	if i := slices.IndexFunc(table, fits); i >= 0 {
		return table[i], true
	}
	return row, false
}

// singleEvent returns the decision of one event.
func singleEvent(a Aggregate, version int64, t EventType, data EventData, require Require) Decision {
	return Decision{Require: require, Events: []Event{{Type: t, Aggregate: a, Version: version, Data: data}}}
}

// Needs are the facts that a command's decision reads.
type Needs struct {
	Holds  bool // Facts.CollectionHold
	Batch  bool // Facts.Batch
	Count  bool // Facts.Processing, Failed, Completed
	Jobs   bool // Facts.Open, Locked
	Ticket bool // Facts.Ticket
	Pool   bool // Facts.Pool
}

// BatchNeeds returns which facts to read before deciding cmd.
func BatchNeeds(cmd BatchCommand) Needs {
	switch c := cmd.(type) {
	case HoldBatch, ListBatch:
		return Needs{Holds: true}
	case SubmitBatch:
		return Needs{Ticket: !c.Synchronous, Pool: c.Synchronous, Holds: c.Synchronous}
	case ReleaseBatch, UnparkBatch:
		return Needs{Holds: true, Ticket: true}
	case BeginReport, FinishReport, RequestUpdate, CleanBatch:
		return Needs{Count: true}
	case DeleteBatch:
		return Needs{Jobs: true}
	default:
		return Needs{}
	}
}

// JobNeeds returns which facts to read before deciding cmd.
func JobNeeds(cmd JobCommand) Needs {
	switch cmd.(type) {
	case ReleaseJob, AcceptJob:
		return Needs{Holds: true}
	case RequeueJob, DeleteJob, DeleteJobWithBatch:
		return Needs{Batch: true}
	default:
		return Needs{}
	}
}
