package domain

import (
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain/text"
)

// DecideJob returns the decision that cmd leads to in state j. If the rules do not allow
// it the error is a *[Refused].
func DecideJob(j Job, cmd JobCommand, f Facts) (Decision, error) {
	d := jobDecider{j: j, name: cmd.jobCommand(), collection: f.Collection}
	switch c := cmd.(type) {
	case CreateJob:
		d.j.Priority, d.j.SpaceNeeded, d.j.Configuration = c.Priority, c.SpaceNeeded, c.Configuration
		c.Identifiers.LocalID = text.Distinct(c.Identifiers.LocalID)
		return d.transitionFrom(JobNone, JobPending, func(m JobMove) EventData {
			return &JobCreated{JobMove: m, Configuration: c.Configuration, Identifiers: c.Identifiers, Metadata: c.Metadata}
		})
	case HoldJob:
		return d.moveOnly(JobHeld, Require{}, &c.Reason)
	case ReleaseJob:
		if j.State == JobHeld && f.CollectionHold != nil {
			return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message+"; release that hold first")
		}
		return d.moveOnlyFrom(JobHeld, JobPending, Require{Holds: true, Unlocked: true}, c.Reason)
	case AcceptJob:
		if j.State == JobPending && f.CollectionHold != nil {
			return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message)
		}
		return d.transition(JobEstimating, Require{Holds: true}, nil, func(m JobMove) EventData {
			return &JobAccepted{JobMove: m, Warnings: c.Warnings}
		})
	case EstimateJob:
		d.j.Priority, d.j.SpaceNeeded = c.Priority, max(c.Bytes, c.Space)
		return d.transition(JobProvisioning, Require{}, nil, func(m JobMove) EventData {
			return &JobEstimated{JobMove: m, Files: c.Files, Unknown: c.Unknown, Bytes: c.Bytes}
		})
	case ProvisionJob:
		return d.moveOnlyFrom(JobProvisioning, JobDownloading, Require{}, nil)
	case DownloadJob:
		d.j.Priority, d.j.SpaceNeeded = c.Priority, max(c.Bytes, c.Space)
		return d.transitionFrom(JobDownloading, JobProcessing, func(m JobMove) EventData {
			return &JobDownloaded{JobMove: m, Files: c.Files, Bytes: c.Bytes}
		})
	case ProcessJob:
		return d.transitionFrom(JobProcessing, JobRecording, func(m JobMove) EventData {
			return &JobProcessed{JobMove: m, Object: c.Object}
		})
	case RecordJob:
		return d.moveOnlyFrom(JobRecording, JobNotify, Require{}, nil)
	case CompleteJob:
		return d.transitionFrom(JobNotify, JobCompleted, func(m JobMove) EventData {
			return &JobDone{JobMove: m, Callback: c.Callback, Deposit: j.Deposit(), Object: c.Object}
		})
	case FailJob:
		if row, _ := JobRow(j.State, JobFailed); row.Row == RowCancel {
			return d.refuse(CodeIllegal, "")
		}
		return d.transition(JobFailed, Require{}, c.Reason.Final(), func(m JobMove) EventData {
			return &JobFailure{JobMove: m, Deposit: j.Deposit(), Object: c.Object}
		})
	case CancelJob:
		if c.Reason.Attempt == 0 {
			c.Reason.Attempt = j.RetryCount + 1
		}
		return d.namedRow(RowCancel, JobFailed, Require{}, c.Reason.Final(), func(m JobMove) EventData {
			return &JobFailure{JobMove: m, Deposit: j.Deposit()}
		})
	case RequeueJob:
		return d.requeue(c, f)
	case CleanJob:
		if j.Cleaned {
			return d.refuse(CodeAlreadyCleaned, "it has left its queue already")
		}
		return d.moveOnlyFrom(JobCompleted, JobCompleted, Require{}, nil)
	case DeleteJob:
		return d.delete(c, f)
	case DeleteJobWithBatch:
		if f.Batch != BatchDeleted {
			return d.refuse(CodeBatchNotDeleted, "its batch is not deleted")
		}
		return d.namedRow(RowWithBatch, JobDeleted, Require{Unlocked: true}, nil, deletion(true))
	default:
		return d.keep(cmd)
	}
}

// keep decides the commands that keep the state.
func (d jobDecider) keep(cmd JobCommand) (Decision, error) {
	switch c := cmd.(type) {
	case IdentifyJob:
		if d.j.State != JobProcessing {
			return d.refuse(CodeIllegal, "")
		}
		return d.oneEvent(EventJobIdentified, Require{}, &JobIdentified{JobMove: d.move(d.j.State, nil), Identifiers: c.Identifiers, Minted: c.Minted}), nil
	case WaitJob:
		if !d.j.State.Worked() {
			return d.refuse(CodeIllegal, "")
		}
		return d.oneEvent(EventJobWaiting, Require{}, &JobWaiting{d.move(d.j.State, &c.Reason), c.WaitsFor}), nil
	case ReprioritiseJob:
		if d.j.QueueEntry() == "" {
			return d.refuse(CodeIllegal, "")
		}
		if c.Priority < PriorityFirst || c.Priority > PriorityLast {
			return d.refuse(CodeBadPriority, fmt.Sprintf("a priority is %d to %d, and lower runs first", PriorityFirst, PriorityLast))
		}
		d.j.Priority = c.Priority
		return d.oneEvent(EventJobReprioritised, Require{Unlocked: true}, &JobMoved{d.move(d.j.State, c.Reason)}), nil
	case RepairJob:
		if d.j.Version == 0 {
			return d.refuse(CodeIllegal, "")
		}
		list, more := shorten(c.Repaired)
		return d.oneEvent(EventJobRepaired, Require{}, &JobRepaired{JobMove: d.move(d.j.State, nil), Repaired: list, More: more}), nil
	default:
		return d.refuse(CodeUnknownCommand, "")
	}
}

type jobDecider struct {
	j          Job
	name       string
	collection string
}

func (d jobDecider) requeue(c RequeueJob, f Facts) (Decision, error) {
	if d.j.State != JobFailed {
		return d.refuse(CodeIllegal, "")
	}
	if f.Batch != BatchProcessing && f.Batch != BatchFailed {
		return d.refuse(CodeBatchState, "its batch is "+string(f.Batch)+"; a job is requeued while its batch is processing or failed")
	}
	t, ok := rowWhere(JobTransitions, func(t JobTransition) bool { return t.Retry && t.LastSuccessful == d.j.LastSuccessful })
	if !ok || d.j.faultyPayload() {
		return d.refuse(CodeNotRecoverable, "its payload is faulty; delete it and submit it again")
	}
	d.j.RetryCount++
	return d.apply(t, Require{Batch: true, Unlocked: true}, c.Reason, jobMoved)
}

// faultyPayload reports whether the job failed because of its row or its manifest (J5).
// A job that was failed later and requeued may fail so too. What never fits is not
// faulty: there may be more space one day.
func (j Job) faultyPayload() bool {
	early := j.LastSuccessful == JobNone || j.LastSuccessful == JobEstimating
	return j.Configuration.RowFault != nil ||
		early && j.Reason != nil && j.Reason.Class == ClassContent && j.Reason.Code != CodeSpaceNever
}

func (d jobDecider) delete(c DeleteJob, f Facts) (Decision, error) {
	if d.j.State != JobFailed && d.j.State != JobHeld {
		return d.refuse(CodeIllegal, "")
	}
	if f.Batch != BatchProcessing && f.Batch != BatchFailed {
		return d.refuse(CodeBatchState, "its batch is "+string(f.Batch)+"; a job is deleted while its batch is processing or failed")
	}
	return d.transition(JobDeleted, Require{Batch: true, Unlocked: true}, c.Reason, deletion(false))
}

// deletion says whether the job is deleted with its batch: a reader that does not know
// the batch yet could not tell.
func deletion(withBatch bool) func(JobMove) EventData {
	return func(m JobMove) EventData { return &JobDeletion{m, &withBatch} }
}

// moveOnlyFrom is moveOnly for commands that are allowed in one state only.
func (d jobDecider) moveOnlyFrom(from, to JobState, req Require, why *Reason) (Decision, error) {
	if d.j.State != from {
		return d.refuse(CodeIllegal, "")
	}
	return d.moveOnly(to, req, why)
}

// transitionFrom is transition for commands that are allowed in one state only and have
// results.
func (d jobDecider) transitionFrom(from, to JobState, data func(JobMove) EventData) (Decision, error) {
	if d.j.State != from {
		return d.refuse(CodeIllegal, "")
	}
	return d.transition(to, Require{}, nil, data)
}

// moveOnly decides a transition whose event has no data but the move itself.
func (d jobDecider) moveOnly(to JobState, req Require, why *Reason) (Decision, error) {
	return d.transition(to, req, why, jobMoved)
}

func jobMoved(m JobMove) EventData { return &JobMoved{m} }

// transition decides a transition to a state: it finds the row of the table and makes its
// event; data returns the data of the event.
func (d jobDecider) transition(to JobState, req Require, why *Reason, data func(JobMove) EventData) (Decision, error) {
	row, ok := JobRow(d.j.State, to)
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	return d.apply(row, req, why, data)
}

// namedRow decides the transition of a row, for rows that the states do not distinguish.
func (d jobDecider) namedRow(name string, to JobState, req Require, why *Reason, data func(JobMove) EventData) (Decision, error) {
	t, ok := rowWhere(JobTransitions, func(t JobTransition) bool { return t.Row == name && t.From == d.j.State && t.To == to })
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	return d.apply(t, req, why, data)
}

// apply decides the transition of a row that was found.
func (d jobDecider) apply(row JobTransition, req Require, why *Reason, data func(JobMove) EventData) (Decision, error) {
	if d.j.Priority < PriorityFirst || d.j.Priority > PriorityLast {
		return d.refuse(CodeBadPriority, fmt.Sprintf("a priority is %d to %d, and lower runs first", PriorityFirst, PriorityLast))
	}
	if row.LastSuccessful != "" && !row.Retry {
		d.j.LastSuccessful = row.LastSuccessful
	}
	dec := d.oneEvent(row.Event, req, data(d.move(row.To, why)))
	dec.Row = row.Row
	return dec, nil
}

// move returns the part that the data of all events of a job have.
func (d jobDecider) move(to JobState, why *Reason) JobMove {
	return JobMove{From: d.j.State, To: to, Reason: why, Collection: d.collection, Profile: d.j.Configuration.ProfileName,
		LastSuccessful: d.j.LastSuccessful, RetryCount: d.j.RetryCount, Priority: d.j.Priority, SpaceNeeded: d.j.SpaceNeeded}
}

// oneEvent returns a decision of one event, without a row.
func (d jobDecider) oneEvent(t EventType, req Require, data EventData) Decision {
	return singleEvent(d.j.ID.Aggregate(), d.j.Version+1, t, data, req)
}

func (d jobDecider) refuse(code Code, why string) (Decision, error) {
	var possible []string
	for _, t := range JobTransitions {
		// Its batch's deletion is no answer to a question about the job.
		if t.From == d.j.State && t.To != t.From && t.Row != RowWithBatch && !slices.Contains(possible, string(t.To)) {
			possible = append(possible, string(t.To))
		}
	}
	return Decision{}, refuse(d.j.ID.Aggregate(), d.name, string(d.j.State), code, why, possible)
}
