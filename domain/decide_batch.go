package domain

import (
	"fmt"
	"slices"
)

// DecideBatch returns the decision that cmd leads to in state b. If the rules do not
// allow it the error is a *[Refused].
func DecideBatch(b Batch, cmd BatchCommand, f Facts) (Decision, error) {
	d := batchDecider{b: b, name: cmd.batchCommand(), collection: f.Collection}
	switch c := cmd.(type) {
	case SubmitBatch:
		if b.State != BatchNone {
			return d.refuse(CodeIllegal, "")
		}
		d.b.Submission = c.Submission
		return d.transition(EventBatchSubmitted, Require{}, func(m BatchMove) EventData {
			return &BatchSubmitted{BatchMove: m, Submission: c.Submission}
		}, nil)
	case HoldBatch:
		if b.State == BatchPending && (f.CollectionHold == nil || b.Listing != nil) {
			return d.refuse(CodeNotOnHold, "the collection is not on hold, or jobs were already made")
		}
		return d.moveOnly(EventBatchHeld, Require{Holds: true}, &c.Reason)
	case ListBatch:
		return d.list(c, f)
	case StartBatch:
		if b.State == BatchPending && c.Problem == nil && !b.AllJobsExist() {
			return d.refuse(CodeJobsMissing, "not all of the batch's jobs exist yet")
		}
		if b.State == BatchPending && c.Problem != nil && b.Listing != nil {
			return d.refuse(CodeJobsExist, "the batch was listed, so its manifest cannot be bad")
		}
		dec, err := d.moveOnly(EventBatchStarted, Require{}, c.Problem)
		return d.withDelivery(dec, c.Mailed), err
	case ReleaseBatch:
		if b.State != BatchHeld {
			return d.refuse(CodeIllegal, "")
		}
		if f.CollectionHold != nil {
			return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message+"; lift that hold first")
		}
		return d.moveOnly(EventBatchReleased, Require{Holds: true}, c.Reason)
	case BeginReport:
		if b.State == BatchProcessing && f.Processing > 0 {
			return d.refuse(CodeJobsProcessing, "jobs of the batch are still being processed")
		}
		return d.moveOnly(EventBatchReporting, Require{Empty: []Sub{SubProcessing}}, b.failure())
	case FinishReport:
		dec, err := d.report(c, f)
		return d.withDelivery(dec, c.Mailed), err
	case RequestUpdate:
		if b.State == BatchFailed && f.Processing > 0 {
			return d.refuse(CodeJobsProcessing, "jobs of the batch are still being processed; wait until they end")
		}
		return d.moveOnly(EventBatchUpdateRequested, Require{Empty: []Sub{SubProcessing}}, c.Reason)
	case DeleteBatch:
		return d.delete(c, f)
	case CleanBatch:
		return d.clean(c, f)
	case NoteDelivery:
		if b.State == BatchNone || b.State == BatchDeleted {
			return d.refuse(CodeIllegal, "")
		}
		return d.record(EventBatchReported, Require{}, d.reported(c, b.State))
	case RepairBatch:
		if b.Version == 0 {
			return d.refuse(CodeIllegal, "")
		}
		list, more := shorten(c.Repaired)
		return d.record(EventBatchRepaired, Require{}, &BatchRepaired{BatchMove: d.move(b.State, b.State, nil), Repaired: list, More: more})
	default:
		return d.refuse(CodeUnknownCommand, "")
	}
}

type batchDecider struct {
	b          Batch
	name       string
	collection string
}

// move returns what every event of the batch has.
func (d batchDecider) move(from, to BatchState, why *Reason) BatchMove {
	return BatchMove{From: from, To: to, Reason: why, Collection: d.collection, Profile: d.b.Submission.ProfileName}
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
	return d.record(EventBatchListed, Require{Holds: true}, &BatchListed{
		BatchMove: d.move(d.b.State, d.b.State, nil), Listing: c.Listing, Warnings: c.Warnings})
}

// delete requires that no job of the batch is being worked on. After the write none can
// be claimed.
func (d batchDecider) delete(c DeleteBatch, f Facts) (Decision, error) {
	switch {
	case d.b.State == BatchCompleted:
		return d.refuse(CodeIllegal, "a completed batch is cleaned up, not deleted")
	case d.b.State != BatchFailed:
		return d.moveOnly(EventBatchDeleted, Require{Unlocked: true}, c.Reason)
	case len(f.Locked) > 0:
		return d.refuse(CodeJobsLocked, fmt.Sprintf("%d of its jobs are being worked on, among them %s; wait until they have ended", len(f.Locked), f.Locked[0]))
	case len(f.Open) > MaxIdle:
		return d.refuse(CodeJobsProcessing, fmt.Sprintf("%d of its jobs are still being processed, and no more than %d may be; wait until they have ended", len(f.Open), MaxIdle))
	case len(f.Open) > 0:
		return d.moveOnly(EventBatchDeleted, Require{Unlocked: true, Idle: f.Open}, c.Reason)
	}
	return d.moveOnly(EventBatchDeleted, Require{Unlocked: true, Empty: []Sub{SubProcessing}}, c.Reason)
}

// clean requires that no job of a failed batch was requeued and is being processed.
func (d batchDecider) clean(c CleanBatch, f Facts) (Decision, error) {
	req := Require{Unlocked: true}
	why := Reason{Class: ClassWait, Code: CodeCleaned, Message: "cleaned up after its retention time"}
	if c.Why != "" {
		why.Message = "cleaned up on request: " + c.Why
	}
	if d.b.State == BatchFailed {
		switch {
		case c.Why != "":
			return d.refuse(CodeIllegal, "") // an operator deletes it (B11)
		case f.Processing > 0:
			return d.refuse(CodeJobsProcessing, "jobs of the batch are still being processed")
		}
		req.Empty = []Sub{SubProcessing}
	}
	return d.moveOnly(EventBatchCleaned, req, &why)
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
	event, req := EventBatchFailed, Require{}
	if good {
		event, req = EventBatchCompleted, Require{Empty: []Sub{SubProcessing, SubFailed}}
	}
	return d.transition(event, req, func(m BatchMove) EventData {
		return &BatchReport{BatchMove: m, Report: c.Report}
	}, d.b.failure())
}

// reported returns the data of the event that notes a delivery while the batch is in a
// state.
func (d batchDecider) reported(c NoteDelivery, in BatchState) *BatchReported {
	return &BatchReported{BatchMove: d.move(in, in, c.Reason),
		Channel: c.Channel, About: c.About, Delivery: c.Delivery, Delivered: c.Delivered}
}

// withDelivery adds the delivery of a message to the transition that it is about, so that
// both are written together.
func (d batchDecider) withDelivery(dec Decision, message *NoteDelivery) Decision {
	for _, t := range BatchTransitions {
		if message != nil && t.Row == dec.Row {
			dec.Events = append(dec.Events, Event{Type: EventBatchReported, Aggregate: d.b.ID.Aggregate(),
				Version: d.b.Version + 2, Data: d.reported(*message, t.To)})
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

// moveOnly decides a transition whose event has no data but the states and the reason.
func (d batchDecider) moveOnly(event EventType, req Require, why *Reason) (Decision, error) {
	return d.transition(event, req, func(m BatchMove) EventData { return &BatchMoved{m} }, why)
}

// transition decides the transition that an event makes: it finds the row of the table;
// data returns the data of the event.
func (d batchDecider) transition(event EventType, req Require, data func(BatchMove) EventData, why *Reason) (Decision, error) {
	row, ok := BatchRow(d.b.State, event)
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	if row.To == BatchFailed {
		why = why.Final()
	}
	dec, err := d.record(event, req, data(d.move(d.b.State, row.To, why)))
	dec.Row = row.Row
	return dec, err
}

// record returns a decision of one event without a row.
func (d batchDecider) record(t EventType, req Require, data EventData) (Decision, error) {
	return singleEvent(d.b.ID.Aggregate(), d.b.Version+1, t, data, req), nil
}

// refuse returns a refusal that names the states to which the batch can go.
func (d batchDecider) refuse(code Code, why string) (Decision, error) {
	var possible []string
	for _, t := range BatchTransitions {
		if t.From == d.b.State && !slices.Contains(possible, string(t.To)) {
			possible = append(possible, string(t.To))
		}
	}
	return Decision{}, refuse(d.b.ID.Aggregate(), d.name, string(d.b.State), code, why, possible)
}
