package domain

import (
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain/fair"
)

// DecideBatch returns the decision that cmd leads to in state b. If the rules do not
// allow it the error is a *[Refused].
func DecideBatch(b Batch, cmd BatchCommand, f Facts) (Decision, error) {
	d := batchDecider{b: b, name: cmd.batchCommand(), collection: f.Collection}
	switch c := cmd.(type) {
	case SubmitBatch:
		return d.submit(c, f)
	case GrabBatch:
		return d.grab(c)
	case ParkBatch:
		return d.park(c)
	case FreeBatch:
		return d.free(c)
	case HoldBatch:
		if b.Waits() {
			return d.refuseWaiting()
		}
		if b.State == BatchPending && (f.CollectionHold == nil || b.Listing != nil) {
			return d.refuse(CodeNotOnHold, "the collection is not on hold, or jobs were already made")
		}
		return d.moveOnly(EventBatchHeld, Require{Holds: true}, &c.Reason)
	case ListBatch:
		return d.list(c, f)
	case StartBatch:
		switch {
		case b.Waits():
			return d.refuseWaiting()
		case b.State == BatchPending && c.Problem == nil && !b.AllJobsExist():
			return d.refuse(CodeJobsMissing, "not all of the batch's jobs exist yet")
		case b.State == BatchPending && c.Problem != nil && b.Listing != nil:
			return d.refuse(CodeJobsExist, "the batch was listed, so its manifest cannot be bad")
		}
		dec, err := d.moveOnly(EventBatchStarted, Require{}, c.Problem)
		return d.withDelivery(dec, c.Mailed), err
	case ReleaseBatch:
		return d.release(c.Reason, f, false)
	case UnparkBatch:
		return d.release(&c.Reason, f, true)
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
		return d.oneEvent(EventBatchReported, Require{}, d.reported(c, b.State))
	case RepairBatch:
		if b.Version == 0 {
			return d.refuse(CodeIllegal, "")
		}
		list, more := shorten(c.Repaired)
		return d.oneEvent(EventBatchRepaired, Require{}, &BatchRepaired{BatchMove: d.move(b.State, b.State, nil), Repaired: list, More: more})
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

// submit decides that the batch is made (B1). A synchronous one gets a place in the pool,
// others the ticket of the facts, with which they wait.
func (d batchDecider) submit(c SubmitBatch, f Facts) (Decision, error) {
	if d.b.State != BatchNone {
		return d.refuse(CodeIllegal, "")
	}
	d.b.Submission = c.Submission
	if c.Synchronous {
		user := c.Submission.Submitter
		if err := RefuseSynchronous(d.b.ID, f.Pool, user); err != nil {
			return Decision{}, err
		}
		f.Ticket = &Ticket{Queue: f.Pool.Queue, User: user, Synchronous: true}
	}
	if f.Ticket != nil {
		c.Submission.Queue = f.Ticket.Queue
	}
	return d.transition(EventBatchSubmitted, Require{Holds: c.Synchronous}, func(m BatchMove) EventData {
		m.Ticket = f.Ticket
		return &BatchSubmitted{BatchMove: m, Submission: c.Submission}
	}, nil)
}

// RefuseSynchronous returns nil if a synchronous deposit of the user may run now, else a
// *[Refused] that says why not.
func RefuseSynchronous(id BatchID, p *fair.Pool, user string) error {
	r := &Refused{Aggregate: id.Aggregate(), Command: "submit", Code: CodeNotServed}
	if p == nil {
		r.Message = "no synchronous deposit is taken before the format of the installation is raised"
		return r
	}
	if r.Message = p.Refusal(user); r.Message == "" {
		return nil
	}
	if p.Why(user) == fair.ObstaclePool {
		r.Code = CodePoolFull
	}
	return r
}

// grab decides that the batch leaves its deposit queue for its first claim.
func (d batchDecider) grab(c GrabBatch) (Decision, error) {
	if !d.b.Waits() {
		return d.refuse(CodeNotWaiting, "it does not wait in a deposit queue")
	}
	if c.Ticket.Queue != d.b.Ticket.Queue || c.Ticket.User != d.b.Ticket.User || c.Ticket.Turn < 1 || c.Ticket.Turn != c.Ring.Turn {
		return d.refuse(CodeNotWaiting, "it does not wait there")
	}
	m := d.move(d.b.State, d.b.State, nil)
	m.Ticket, m.Ring = &c.Ticket, &c.Ring
	return d.oneEvent(EventBatchGrabbed, Require{}, &BatchGrabbed{BatchMove: m, Rule: c.Rule, Processor: c.Processor, Size: d.b.Submission.Size})
}

// park decides that a waiting batch leaves its deposit queue without being worked on.
func (d batchDecider) park(c ParkBatch) (Decision, error) {
	if !d.b.Waits() {
		return d.refuse(CodeNotWaiting, "it does not wait in a deposit queue")
	}
	return d.transition(EventBatchHeld, Require{}, func(m BatchMove) EventData {
		m.Ring = &c.Ring
		return &BatchMoved{m}
	}, &c.Reason)
}

// release decides that a held batch goes on; it waits in its deposit queue again.
func (d batchDecider) release(why *Reason, f Facts, unpark bool) (Decision, error) {
	switch {
	case d.b.State != BatchHeld:
		return d.refuse(CodeIllegal, "")
	case d.b.Parked() != unpark:
		return d.refuseParked()
	case f.CollectionHold != nil:
		return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message+"; release that hold first")
	}
	return d.transition(EventBatchReleased, Require{Holds: true}, func(m BatchMove) EventData {
		m.Ticket = f.Ticket
		return &BatchMoved{m}
	}, why)
}

// refuseParked refuses to release what is parked, and to unpark what is not.
func (d batchDecider) refuseParked() (Decision, error) {
	if d.b.Parked() {
		return d.refuse(CodeParked, "it is parked; `accession queue unpark` lets it wait again")
	}
	return d.refuse(CodeNotParked, "it is not parked")
}

// free decides that a running batch no longer takes up a place, though it has not ended.
func (d batchDecider) free(c FreeBatch) (Decision, error) {
	if !d.b.Runs() {
		return d.refuse(CodeNotRunning, "it does not count as running in a deposit queue")
	}
	if c.Reason.Code == CodeJobsRest && d.b.State != BatchProcessing {
		return d.refuse(CodeIllegal, "its jobs have ended, and its report gives the place back")
	}
	return d.oneEvent(EventBatchFreed, Require{}, &BatchFreed{BatchMove: d.move(d.b.State, d.b.State, &c.Reason),
		Queue: d.b.Ticket.Queue, User: d.b.Ticket.User})
}

// refuseWaiting refuses a command that only a batch which was grabbed allows.
func (d batchDecider) refuseWaiting() (Decision, error) {
	return d.refuse(CodeNotGrabbed, "it waits in the deposit queue "+d.b.Ticket.Queue+" until it is grabbed")
}

func (d batchDecider) list(c ListBatch, f Facts) (Decision, error) {
	switch {
	case d.b.State != BatchPending:
		return d.refuse(CodeIllegal, "")
	case d.b.Waits():
		return d.refuseWaiting()
	case d.b.Listing != nil:
		return d.refuse(CodeAlreadyListed, "the batch was listed before")
	case f.CollectionHold != nil:
		return d.refuse(CodeCollectionHeld, Held(f.Collection, *f.CollectionHold).Message)
	case c.Listing.Rows < 1 || c.Listing.FirstJID.Number() < 1:
		return d.refuse(CodeEmptyListing, "a listing needs at least one row and the id of its first job")
	}
	return d.oneEvent(EventBatchListed, Require{Holds: true}, &BatchListed{
		BatchMove: d.move(d.b.State, d.b.State, nil), Listing: c.Listing, Warnings: c.Warnings, MetadataRecords: c.MetadataRecords})
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

// failure returns the manifest error with which the batch was started, nil = none. All
// transitions after B3 keep it.
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
	dec, err := d.oneEvent(event, req, data(d.move(d.b.State, row.To, why)))
	dec.Row = row.Row
	return dec, err
}

// oneEvent returns the decision of one event; the caller sets the row, if it has one.
func (d batchDecider) oneEvent(t EventType, req Require, data EventData) (Decision, error) {
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
