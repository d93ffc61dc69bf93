package layout

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Facts are what the operations of changes rest on besides the changes themselves.
type Facts struct {
	// Rows is the progress of the batch whose jobs are made, nil = none are.
	Rows *Rows
	// Promised are the promises of working space that were found otherwise than the
	// job's state says: is there one?
	Promised map[domain.JobID]bool
	// HandOver is the claim of the next state, nil = the change is not handed over.
	HandOver *HandOver
}

// Rows is how far the making of a batch's jobs goes on.
type Rows struct {
	Batch   domain.BatchID
	Now     Progress
	Version int32 // of the progress node
	Count   int   // of rows that get their jobs
}

// HandOver is the claim of a job's next state in the multi that finishes the state
// before: a worker goes on without asking again. The tree before and after is that
// of a transition and a claim.
type HandOver struct {
	Claim      *eventstore.Claim
	Holds      int64
	Batch      domain.BatchID
	BatchToken eventstore.Token
}

// Changes returns the operations of changes that are written together: what they
// prove, then what they do to the tree.
func (r Root) Changes(changes []eventstore.Change, f Facts) Ops {
	ops := make(Ops, 0, 8*len(changes))
	fenced := ""
	for _, c := range changes {
		if c.Claim != nil && c.Claim.Worker != fenced {
			fenced = c.Claim.Worker
			ops.Check(r.Worker(fenced), Any, eventstore.ErrFenced)
		}
	}
	if f.Rows != nil {
		r.rows(&ops, *f.Rows)
	}
	for _, c := range changes {
		r.require(&ops, c)
		r.transition(&ops, c, f)
		switch {
		case f.HandOver != nil:
			r.handOver(&ops, *f.HandOver, c.Job.To)
		case c.Claim != nil && !c.KeepClaim && c.Claim.Aggregate == c.Aggregate():
			ops.Delete(r.Lock(c.Claim.Aggregate), Any, eventstore.ErrFenced)
		}
	}
	return ops
}

// rows moves a batch's progress on, by compare-and-set, and makes the states
// directories with the first row.
func (r Root) rows(ops *Ops, rows Rows) {
	next := rows.Now
	next.NextRow += rows.Count
	ops.Set(r.Progress(rows.Batch), Encode(next), rows.Version, eventstore.ErrConflict)
	if rows.Now.NextRow == 0 {
		ops.change(nil, r.statesNodes(rows.Batch), "", 0)
	}
}

// require adds the proofs that a decision asked for.
func (r Root) require(ops *Ops, c eventstore.Change) {
	if c.SpaceTerm != nil {
		ops.Check(r.Space(), int32(*c.SpaceTerm), eventstore.ErrFenced)
	}
	if c.Require.Holds {
		ops.Check(r.Locks(), int32(c.HoldsVersion), ErrHolds)
	}
	if c.Require.Batch && c.Job != nil {
		ops.Check(r.BatchStatus(c.Job.To.Configuration.BatchID), int32(c.BatchToken), eventstore.ErrConflict)
	}
	if c.Require.Unlocked && (c.Claim == nil || c.Claim.Aggregate != c.Aggregate()) {
		r.unlocked(ops, c.Aggregate(), eventstore.ErrLocked)
	}
	if c.Require.Idle != nil {
		r.idle(ops, c.Batch.To.ID, c.Require.Idle)
	}
	for _, sub := range c.Require.Empty {
		r.empty(ops, c.Batch.To.ID, sub)
	}
}

// unlocked proves that a lock is not there. No check does; making and removing it
// does.
func (r Root) unlocked(ops *Ops, a domain.Aggregate, refusal error) {
	ops.CreateEphemeral(r.Lock(a), nil, refusal)
	ops.Delete(r.Lock(a), Any, refusal)
}

// empty proves that a sub-state has no reference: ZooKeeper refuses to delete a
// directory that has a child.
func (r Root) empty(ops *Ops, id domain.BatchID, sub domain.Sub) {
	ops.Delete(r.Sub(id, sub), Any, eventstore.ErrConflict)
	ops.Create(r.Sub(id, sub), nil, eventstore.ErrConflict)
}

// idle proves that batch-processing refers to these jobs alone, and that none of
// them is locked: without their references the directory can be deleted, and all of
// it is made again.
func (r Root) idle(ops *Ops, batch domain.BatchID, jobs []domain.JobID) {
	for _, j := range jobs {
		r.unlocked(ops, j.Aggregate(), eventstore.ErrConflict)
		ops.Delete(r.Ref(batch, domain.SubProcessing, j), Any, eventstore.ErrConflict)
	}
	r.empty(ops, batch, domain.SubProcessing)
	for _, j := range jobs {
		ops.Create(r.Ref(batch, domain.SubProcessing, j), []byte{}, eventstore.ErrConflict)
	}
}

// transition adds what a change does to the nodes of its aggregate.
func (r Root) transition(ops *Ops, c eventstore.Change, f Facts) {
	switch {
	case c.Observed != nil:
		r.repair(ops, c)
	case c.Setting != nil:
		r.setting(ops, c)
	case c.Batch != nil:
		ops.change(r.BatchNodes(c.Batch.From), r.BatchNodes(c.Batch.To), r.Status(c), c.Token)
	default:
		from, to := &c.Job.From, &c.Job.To
		ops.change(r.jobNodes(from), r.jobNodes(to), r.Status(c), c.Token)
		r.promise(ops, from, to, f.Promised)
	}
}

// Status returns the node that carries the compare-and-set of a change.
func (r Root) Status(c eventstore.Change) string {
	switch {
	case c.Batch != nil:
		return r.BatchStatus(c.Batch.To.ID)
	case c.Job != nil:
		return r.JobStatus(c.Job.To.ID)
	default:
		return r.SettingVersion(c.Aggregate())
	}
}

// TokenAfter returns the token of the state after a change that was written: a write
// makes it one more, and a node that was made has none.
func (r Root) TokenAfter(c eventstore.Change) eventstore.Token {
	switch {
	case c.Observed != nil:
		if _, there := c.Observed.Nodes[r.Name(r.Status(c))]; !there {
			return 0
		}
	case c.Batch != nil && c.Batch.From.Version == 0, c.Job != nil && c.Job.From.Version == 0,
		c.Setting != nil && c.Setting.From.Version == 0:
		return 0
	}
	return c.Token + 1
}

// promise begins, changes or ends the promise of working space.
func (r Root) promise(ops *Ops, from, to *domain.Job, found map[domain.JobID]bool) {
	if from.Promised() == to.Promised() && (!to.Promised() || from.SpaceNeeded == to.SpaceNeeded) {
		return
	}
	there, odd := found[to.ID]
	if !odd {
		there = from.Promised()
	}
	switch path := r.Promise(to.ID); {
	case to.Promised() && there:
		ops.Set(path, Encode(to.SpaceNeeded), Any, ErrPromise)
	case to.Promised():
		ops.Create(path, Encode(to.SpaceNeeded), ErrPromise)
	case there:
		ops.Delete(path, Any, ErrPromise)
	}
}

// setting changes a hold or a pause, and its version; /locks is written so that its
// version tells whether anything about holds changed.
func (r Root) setting(ops *Ops, c eventstore.Change) {
	from, to := r.SettingNodes(c.Setting.From), r.SettingNodes(c.Setting.To)
	ops.change(from, to, r.Status(c), c.Token)
	r.touchHolds(ops, c)
}

func (r Root) touchHolds(ops *Ops, c eventstore.Change) {
	if c.Setting != nil && c.Setting.To.Kind != domain.HoldAudit { // an audit stops nothing
		ops.Set(r.Locks(), nil, Any, eventstore.ErrConflict)
	}
}

// repair makes the nodes of an aggregate what they should be, whatever was observed.
// That nothing has moved since is proven by the compare-and-set on the status: every
// write to the aggregate writes it.
func (r Root) repair(ops *Ops, c eventstore.Change) {
	var to []Node
	switch {
	case c.Batch != nil:
		to = r.BatchNodes(c.Batch.To)
	case c.Job != nil:
		to = r.JobNodes(c.Job.To)
	default:
		to = r.SettingNodes(c.Setting.To)
	}
	if l := c.Observed.Lock; l != nil {
		version := l.Version
		if version == 0 {
			version = -2 // not seized: the server refuses this version for any node
		}
		ops.Delete(r.At(l.Node), version, eventstore.ErrLocked)
	}
	ops.change(r.observed(c.Observed.Nodes), to, r.Status(c), c.Token)
	r.touchHolds(ops, c)
}

// handOver adds the checks and the writes of a claim; the worker's fence is there
// already, and so is the status. The lock stays: to delete it and to make the same
// again would leave the same tree.
func (r Root) handOver(ops *Ops, h HandOver, to domain.Job) {
	ops.Check(r.Locks(), int32(h.Holds), ErrHandOver)
	ops.Check(r.BatchStatus(h.Batch), int32(h.BatchToken), ErrHandOver)
	ops.Check(r.Lock(h.Claim.Aggregate), Any, eventstore.ErrFenced)
	ops.Set(r.Claims(to.ID), Encode(ClaimCount{Version: to.Version, Claims: 1}), Any, ErrHandOver)
}
