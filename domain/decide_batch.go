package domain

import "fmt"

// DecideBatch returns the decision that cmd leads to in state b. If the rules do not
// allow it the error is a *[Refused].
func DecideBatch(b Batch, cmd BatchCommand, f Facts) (Decision, error) {
	d := batchDecider{b: b, name: cmd.batchCommand()}
	switch c := cmd.(type) {
	case SubmitBatch:
		if b.State != BatchNone {
			return d.refuse(CodeIllegal, "")
		}
		return d.move(BatchPending, Require{}, func(m BatchMove) EventData {
			return &BatchSubmitted{BatchMove: m, Submission: c.Submission}
		}, nil)
	case HoldBatch:
		if b.State == BatchPending && (f.CollectionHold == nil || b.Listing != nil) {
			return d.refuse(CodeNotOnHold, "the collection is not on hold, or jobs were already made")
		}
		return d.plain(BatchHeld, Require{Holds: true}, &c.Reason)
	case ListBatch:
		return d.list(c, f)
	case StartBatch:
		if b.State == BatchPending && c.Problem == nil && !b.AllJobsExist() {
			return d.refuse(CodeJobsMissing, "not all of the batch's jobs exist yet")
		}
		if b.State == BatchPending && c.Problem != nil && b.Listing != nil {
			return d.refuse(CodeJobsExist, "the batch was listed, so its manifest cannot be bad")
		}
		dec, err := d.plain(BatchProcessing, Require{}, c.Problem)
		return d.noting(dec, c.Mailed), err
	case ReleaseBatch:
		if b.State != BatchHeld {
			return d.refuse(CodeIllegal, "")
		}
		if f.CollectionHold != nil {
			return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message+"; lift that hold first")
		}
		return d.plain(BatchPending, Require{Holds: true}, c.Reason)
	case BeginReport:
		if b.State == BatchProcessing && f.Processing > 0 {
			return d.refuse(CodeJobsProcessing, "jobs of the batch are still being processed")
		}
		return d.plain(BatchReporting, Require{Empty: []Sub{SubProcessing}}, b.failure())
	case FinishReport:
		dec, err := d.report(c, f)
		return d.noting(dec, c.Mailed), err
	case RequestUpdate:
		if b.State == BatchFailed && f.Processing > 0 {
			return d.refuse(CodeJobsProcessing, "jobs of the batch are still being processed; wait until they end")
		}
		return d.plain(BatchUpdateReporting, Require{Empty: []Sub{SubProcessing}}, c.Reason)
	case DeleteBatch:
		return d.delete(c, f)
	case CleanBatch:
		if b.State != BatchCompleted {
			return d.refuse(CodeIllegal, "")
		}
		why := Reason{Class: ClassWait, Code: CodeCleaned, Message: "cleaned up after its retention time"}
		if c.Why != "" {
			why.Message = "cleaned up on request: " + c.Why
		}
		return d.plain(BatchDeleted, Require{Unlocked: true}, &why)
	case NoteDelivery:
		if b.State == BatchNone || b.State == BatchDeleted {
			return d.refuse(CodeIllegal, "")
		}
		return d.stay(EventBatchReported, Require{}, c.reported(b.State))
	case RepairBatch:
		if b.Version == 0 {
			return d.refuse(CodeIllegal, "")
		}
		list, more := shorten(c.Mended)
		return d.stay(EventBatchRepaired, Require{}, &BatchRepaired{BatchMove: BatchMove{From: b.State, To: b.State}, Mended: list, More: more})
	default:
		return d.refuse(CodeUnknownCommand, "")
	}
}

type batchDecider struct {
	b    Batch
	name string
}

func (d batchDecider) list(c ListBatch, f Facts) (Decision, error) {
	switch {
	case d.b.State != BatchPending:
		return d.refuse(CodeIllegal, "")
	case d.b.Listing != nil:
		return d.refuse(CodeAlreadyListed, "the batch was listed before")
	case f.CollectionHold != nil:
		return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message)
	case c.Listing.Rows < 1 || c.Listing.FirstJID.Number() < 1:
		return d.refuse(CodeEmptyListing, "a listing needs at least one row and the id of its first job")
	}
	return d.stay(EventBatchListed, Require{Holds: true}, &BatchListed{
		BatchMove: BatchMove{From: d.b.State, To: d.b.State}, Listing: c.Listing})
}

// delete requires that no job of the batch is being worked on. After the write none can
// be claimed.
func (d batchDecider) delete(c DeleteBatch, f Facts) (Decision, error) {
	switch {
	case d.b.State == BatchCompleted:
		return d.refuse(CodeIllegal, "a completed batch is cleaned up, not deleted")
	case d.b.State != BatchFailed:
		return d.plain(BatchDeleted, Require{Unlocked: true}, c.Reason)
	case len(f.Locked) > 0:
		return d.refuse(CodeJobsLocked, fmt.Sprintf("%d of its jobs are being worked on, among them %s; wait until they have ended", len(f.Locked), f.Locked[0]))
	case len(f.Open) > MaxIdle:
		return d.refuse(CodeJobsProcessing, fmt.Sprintf("%d of its jobs are still being processed, and no more than %d may be; wait until they have ended", len(f.Open), MaxIdle))
	case len(f.Open) > 0:
		return d.plain(BatchDeleted, Require{Unlocked: true, Idle: f.Open}, c.Reason)
	}
	return d.plain(BatchDeleted, Require{Unlocked: true, Empty: []Sub{SubProcessing}}, c.Reason)
}

func (d batchDecider) report(c FinishReport, f Facts) (Decision, error) {
	if f.Processing > 0 && (d.b.State == BatchReporting || d.b.State == BatchUpdateReporting) {
		return d.refuse(CodeJobsProcessing, "jobs of the batch are still being processed")
	}
	// A batch that was started without a listing had a bad manifest.
	good := f.Failed == 0 && d.b.Listing != nil
	if d.b.State == BatchUpdateReporting {
		good = good && f.Completed > 0
	}
	to, req := BatchFailed, Require{}
	if good {
		to, req = BatchCompleted, Require{Empty: []Sub{SubProcessing, SubFailed}}
	}
	return d.move(to, req, func(m BatchMove) EventData {
		return &BatchReport{BatchMove: m, Report: c.Report}
	}, d.b.failure())
}

// reported returns the data of the event that notes a delivery while the batch is in a
// state.
func (c NoteDelivery) reported(in BatchState) *BatchReported {
	return &BatchReported{BatchMove: BatchMove{From: in, To: in, Reason: c.Reason},
		Channel: c.Channel, About: c.About, Delivery: c.Delivery, Delivered: c.Delivered}
}

// noting adds the delivery of a message to the transition that it is about, so that
// both are written together.
func (d batchDecider) noting(dec Decision, message *NoteDelivery) Decision {
	for _, t := range BatchTransitions {
		if message != nil && t.Row == dec.Row {
			dec.Events = append(dec.Events, Event{Type: EventBatchReported, Aggregate: d.b.ID.Aggregate(),
				Version: d.b.Version + 2, Data: message.reported(t.To)})
		}
	}
	return dec
}

// failure returns the batch's manifest error, which all transitions after B3 keep, or
// nil.
func (b Batch) failure() *Reason {
	if b.Reason.Failure() {
		return b.Reason
	}
	return nil
}

// plain decides a transition whose event has no data but the states and the reason.
func (d batchDecider) plain(to BatchState, req Require, why *Reason) (Decision, error) {
	return d.move(to, req, func(m BatchMove) EventData { return &BatchMoved{m} }, why)
}

// move decides a transition to a state: it finds the row of the table and makes its
// event; data returns the data of the event.
func (d batchDecider) move(to BatchState, req Require, data func(BatchMove) EventData, why *Reason) (Decision, error) {
	row, ok := BatchRow(d.b.State, to)
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	dec, err := d.stay(row.Event, req, data(BatchMove{From: d.b.State, To: to, Reason: why}))
	dec.Row = row.Row
	return dec, err
}

// stay returns a decision of one event, without a row.
func (d batchDecider) stay(t EventType, req Require, data EventData) (Decision, error) {
	return one(d.b.ID.Aggregate(), d.b.Version+1, t, data, req), nil
}

// refuse returns a refusal that names the states to which the batch can go.
func (d batchDecider) refuse(code Code, why string) (Decision, error) {
	var possible []string
	for _, t := range BatchTransitions {
		if t.From == d.b.State {
			possible = append(possible, string(t.To))
		}
	}
	return Decision{}, refuse(d.b.ID.Aggregate(), d.name, string(d.b.State), code, why, possible)
}
