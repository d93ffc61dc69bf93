package domain

import "fmt"

// DecideJob says what cmd does to j, or why it is refused (*[Refused]).
func DecideJob(j Job, cmd JobCommand, f Facts) (Decision, error) {
	d := jobDecider{j: j, name: cmd.jobCommand()}
	switch c := cmd.(type) {
	case CreateJob:
		d.j.Priority, d.j.SpaceNeeded = c.Priority, c.SpaceNeeded
		return d.step(JobNone, JobPending, func(m JobMove) EventData {
			return &JobCreated{JobMove: m, Configuration: c.Configuration, Identifiers: c.Identifiers, Metadata: c.Metadata}
		})
	case HoldJob:
		return d.plain(JobHeld, Require{}, &c.Reason)
	case ReleaseJob:
		if j.State == JobHeld && f.CollectionHold != nil {
			return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message+"; lift that hold first")
		}
		return d.from(JobHeld, JobPending, Require{Holds: true, Unlocked: true}, c.Reason)
	case AcceptJob:
		if j.State == JobPending && f.CollectionHold != nil {
			return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message)
		}
		return d.plain(JobEstimating, Require{Holds: true}, nil)
	case EstimateJob:
		d.j.Priority, d.j.SpaceNeeded = c.Priority, c.Bytes
		return d.move(JobProvisioning, Require{}, nil, func(m JobMove) EventData {
			return &JobEstimated{JobMove: m, Files: c.Files, Unknown: c.Unknown, Bytes: c.Bytes}
		})
	case ProvisionJob:
		return d.from(JobProvisioning, JobDownloading, Require{}, nil)
	case DownloadJob:
		d.j.Priority, d.j.SpaceNeeded = c.Priority, c.Bytes
		return d.step(JobDownloading, JobProcessing, func(m JobMove) EventData {
			return &JobDownloaded{JobMove: m, Files: c.Files, Bytes: c.Bytes}
		})
	case ProcessJob:
		return d.step(JobProcessing, JobRecording, func(m JobMove) EventData {
			return &JobProcessed{JobMove: m, Object: c.Object}
		})
	case RecordJob:
		return d.from(JobRecording, JobNotify, Require{}, nil)
	case CompleteJob:
		return d.step(JobNotify, JobCompleted, func(m JobMove) EventData {
			return &JobDone{JobMove: m, Callback: c.Callback}
		})
	case FailJob:
		return d.plain(JobFailed, Require{}, &c.Reason)
	case RequeueJob:
		return d.requeue(c, f)
	case CleanJob:
		if j.Cleaned {
			return d.refuse(CodeAlreadyCleaned, "it has left its queue already")
		}
		return d.from(JobCompleted, JobCompleted, Require{}, nil)
	case DeleteJob:
		return d.delete(c, f)
	case DeleteJobWithBatch:
		if f.Batch != BatchDeleted {
			return d.refuse(CodeBatchNotDeleted, "its batch is not deleted")
		}
		return d.row(RowWithBatch, JobDeleted, Require{Unlocked: true}, nil, deletion(true))
	default:
		return d.inPlace(cmd)
	}
}

// inPlace decides the commands that keep the state.
func (d jobDecider) inPlace(cmd JobCommand) (Decision, error) {
	switch c := cmd.(type) {
	case IdentifyJob:
		if d.j.State != JobProcessing {
			return d.refuse(CodeIllegal, "")
		}
		return d.stay(EventJobIdentified, Require{}, &JobIdentified{JobMove: d.base(d.j.State, nil), Identifiers: c.Identifiers, Minted: c.Minted}), nil
	case WaitJob:
		if !d.j.State.Worked() {
			return d.refuse(CodeIllegal, "")
		}
		return d.stay(EventJobWaiting, Require{}, &JobMoved{d.base(d.j.State, &c.Reason)}), nil
	case ReprioritiseJob:
		if d.j.QueueEntry() == "" {
			return d.refuse(CodeIllegal, "")
		}
		if c.Priority < PriorityFirst || c.Priority > PriorityLast {
			return d.refuse(CodeBadPriority, fmt.Sprintf("a priority is %d to %d, and lower runs first", PriorityFirst, PriorityLast))
		}
		d.j.Priority = c.Priority
		return d.stay(EventJobReprioritised, Require{Unlocked: true}, &JobMoved{d.base(d.j.State, c.Reason)}), nil
	case RepairJob:
		if d.j.Version == 0 {
			return d.refuse(CodeIllegal, "")
		}
		list, more := shorten(c.Mended)
		return d.stay(EventJobRepaired, Require{}, &JobRepaired{JobMove: d.base(d.j.State, nil), Mended: list, More: more}), nil
	default:
		return d.refuse(CodeUnknownCommand, "")
	}
}

type jobDecider struct {
	j    Job
	name string
}

func (d jobDecider) requeue(c RequeueJob, f Facts) (Decision, error) {
	if d.j.State != JobFailed {
		return d.refuse(CodeIllegal, "")
	}
	if f.Batch != BatchProcessing && f.Batch != BatchFailed {
		return d.refuse(CodeBatchState, "its batch is "+string(f.Batch)+"; a job is requeued while its batch is processing or failed")
	}
	t, ok := rowWhere(JobTransitions, func(t JobTransition) bool { return t.Retry && t.LastSuccessful == d.j.LastSuccessful })
	if !ok {
		return d.refuse(CodeNotRecoverable, "it failed before any step succeeded; delete it and submit it again")
	}
	d.j.RetryCount++
	return d.take(t, Require{Batch: true, Unlocked: true}, c.Reason, jobMoved)
}

func (d jobDecider) delete(c DeleteJob, f Facts) (Decision, error) {
	if d.j.State != JobFailed && d.j.State != JobHeld {
		return d.refuse(CodeIllegal, "")
	}
	if f.Batch != BatchProcessing && f.Batch != BatchFailed {
		return d.refuse(CodeBatchState, "its batch is "+string(f.Batch)+"; a job is deleted while its batch is processing or failed")
	}
	return d.move(JobDeleted, Require{Batch: true, Unlocked: true}, c.Reason, deletion(false))
}

// deletion says whether the job is deleted with its batch: a reader that does not know
// the batch yet could not tell.
func deletion(withBatch bool) func(JobMove) EventData {
	return func(m JobMove) EventData { return &JobDeletion{m, &withBatch} }
}

// from is plain for commands that are tied to one state.
func (d jobDecider) from(from, to JobState, req Require, why *Reason) (Decision, error) {
	if d.j.State != from {
		return d.refuse(CodeIllegal, "")
	}
	return d.plain(to, req, why)
}

// step is move for commands that are tied to one state and carry outputs.
func (d jobDecider) step(from, to JobState, data func(JobMove) EventData) (Decision, error) {
	if d.j.State != from {
		return d.refuse(CodeIllegal, "")
	}
	return d.move(to, Require{}, nil, data)
}

func (d jobDecider) plain(to JobState, req Require, why *Reason) (Decision, error) {
	return d.move(to, req, why, jobMoved)
}

func jobMoved(m JobMove) EventData { return &JobMoved{m} }

func (d jobDecider) move(to JobState, req Require, why *Reason, data func(JobMove) EventData) (Decision, error) {
	row, ok := JobRow(d.j.State, to)
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	return d.take(row, req, why, data)
}

func (d jobDecider) row(name string, to JobState, req Require, why *Reason, data func(JobMove) EventData) (Decision, error) {
	t, ok := rowWhere(JobTransitions, func(t JobTransition) bool { return t.Row == name && t.From == d.j.State && t.To == to })
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	return d.take(t, req, why, data)
}

func (d jobDecider) take(row JobTransition, req Require, why *Reason, data func(JobMove) EventData) (Decision, error) {
	if d.j.Priority < PriorityFirst || d.j.Priority > PriorityLast {
		return d.refuse(CodeBadPriority, fmt.Sprintf("a priority is %d to %d, and lower runs first", PriorityFirst, PriorityLast))
	}
	if row.LastSuccessful != "" && !row.Retry {
		d.j.LastSuccessful = row.LastSuccessful
	}
	dec := d.stay(row.Event, req, data(d.base(row.To, why)))
	dec.Row = row.Row
	return dec, nil
}

func (d jobDecider) base(to JobState, why *Reason) JobMove {
	return JobMove{From: d.j.State, To: to, Reason: why, LastSuccessful: d.j.LastSuccessful,
		RetryCount: d.j.RetryCount, Priority: d.j.Priority, SpaceNeeded: d.j.SpaceNeeded}
}

func (d jobDecider) stay(t EventType, req Require, data EventData) Decision {
	return one(d.j.ID.Aggregate(), d.j.Version+1, t, data, req)
}

func (d jobDecider) refuse(code Code, why string) (Decision, error) {
	var possible []string
	for _, t := range JobTransitions {
		// Its batch's deletion is no answer to a question about the job.
		if t.From == d.j.State && t.To != t.From && t.Row != RowWithBatch {
			possible = append(possible, string(t.To))
		}
	}
	return Decision{}, refuse(d.j.ID.Aggregate(), d.name, string(d.j.State), code, why, possible)
}
