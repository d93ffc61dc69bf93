package layout

import (
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Inputs are what was read of the tree to build the operations, besides the changes.
type Inputs struct {
	// NextRows is the progress of the batch whose jobs are created, nil = no job is
	// created.
	NextRows *NextRows
	// NewerNodes says of promises and object entries, by path, whether they exist, where
	// that does not follow from the state of their job (see [ErrNewerNodes]).
	NewerNodes map[string]bool
	// HandOver is the claim of the next state, nil = the change is not handed over.
	HandOver *HandOver
	// Compact says that the tree is compact: finished jobs have three nodes (see
	// [Root.JobNodes]).
	Compact bool
	// Ring is what was read of a deposit queue, nil = the change does not need it.
	Ring *RingInputs
	// CompactJobs are the finished jobs that are stored in the compact form: all of their
	// data is in the status node. The parts of all others have nodes of their own.
	CompactJobs map[domain.JobID]bool
}

// NextRows is the progress of a batch whose next jobs are created.
type NextRows struct {
	Batch   domain.BatchID
	Now     Progress
	Version int32 // of the progress node
	Count   int   // of the jobs that are created
}

// HandOver is a claim of a job's next state, made in the multi that ends the previous
// state: the worker keeps the job without another request. The resulting tree is that
// of a transition followed by a claim.
type HandOver struct {
	Claim      *eventstore.Claim
	Holds      int64
	Batch      domain.BatchID
	BatchToken eventstore.Token
}

// Changes returns the operations of changes that are written together: for each change
// first the checks that it requires, then its writes.
func (r Root) Changes(changes []eventstore.Change, in Inputs) Ops {
	ops := make(Ops, 0, 12*len(changes))
	fenced := ""
	for _, c := range changes {
		claim := c.NewClaim()
		if claim == nil {
			claim = c.Claim
		}
		if claim != nil && claim.Worker != fenced {
			fenced = claim.Worker
			ops.Check(r.Worker(fenced), Any, eventstore.ErrFenced)
		}
	}
	if in.NextRows != nil {
		r.nextRows(&ops, *in.NextRows)
	}
	for _, c := range changes {
		r.require(&ops, c)
		r.transition(&ops, c, in)
		switch {
		case in.HandOver != nil:
			r.handOver(&ops, *in.HandOver, c.Job.To)
		case c.Claim != nil && !c.KeepClaim && c.Claim.Aggregate == c.Aggregate():
			ops.Delete(r.Lock(c.Claim.Aggregate), Any, eventstore.ErrFenced)
		}
	}
	return ops
}

// nextRows moves a batch's progress on by compare-and-set, and creates the directories of its
// references with the first row.
func (r Root) nextRows(ops *Ops, rows NextRows) {
	next := rows.Now
	next.NextRow += rows.Count
	ops.Set(r.Progress(rows.Batch), Encode(next), rows.Version, eventstore.ErrConflict)
	if rows.Now.NextRow == 0 {
		ops.change(nil, r.statesNodes(rows.Batch), "", 0)
	}
}

// MayShare reports whether changes may share a multi. Only the transition of a single job or
// entry may: what creates or deletes directories, or proves them empty, depends on the order of
// the other writes to them. The rare changes of batches and settings are sent alone too.
func MayShare(changes []eventstore.Change) bool {
	c := changes[0]
	return len(changes) == 1 && c.Observed == nil && (c.Entry != nil || c.Job != nil && c.Job.From.State != domain.JobNone && c.Job.To.State != domain.JobDeleted)
}

// require adds the checks that a decision requires.
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
	if c.Require.Unlocked && c.Lease == nil && (c.Claim == nil || c.Claim.Aggregate != c.Aggregate()) {
		r.requireUnlocked(ops, c.Aggregate(), eventstore.ErrLocked)
	}
	if c.Require.Idle != nil {
		r.requireIdle(ops, c.Batch.To.ID, c.Require.Idle)
	}
	for _, sub := range c.Require.Empty {
		r.requireEmpty(ops, c.Batch.To.ID, sub)
	}
}

// requireUnlocked adds the proof that a lock does not exist. ZooKeeper cannot check for
// an absent node, so the lock is created and deleted again.
func (r Root) requireUnlocked(ops *Ops, a domain.Aggregate, refusal error) {
	ops.CreateEphemeral(r.Lock(a), nil, refusal)
	ops.Delete(r.Lock(a), Any, refusal)
}

// requireEmpty adds the proof that a sub-state has no reference: ZooKeeper refuses to
// delete a directory that has a child.
func (r Root) requireEmpty(ops *Ops, id domain.BatchID, sub domain.Sub) {
	ops.Delete(r.Sub(id, sub), Any, eventstore.ErrConflict)
	ops.Create(r.Sub(id, sub), nil, eventstore.ErrConflict)
}

// requireIdle adds the proof that batch-processing refers to exactly these jobs, and that
// none of them is locked: their references are deleted and then the directory, which must
// be empty, and all of them are created again.
func (r Root) requireIdle(ops *Ops, batch domain.BatchID, jobs []domain.JobID) {
	for _, j := range jobs {
		r.requireUnlocked(ops, j.Aggregate(), eventstore.ErrConflict)
		ops.Delete(r.Ref(batch, domain.SubProcessing, j), Any, eventstore.ErrConflict)
	}
	r.requireEmpty(ops, batch, domain.SubProcessing)
	for _, j := range jobs {
		ops.Create(r.Ref(batch, domain.SubProcessing, j), []byte{}, eventstore.ErrConflict)
	}
}

// transition adds what a change does to the nodes of its aggregate.
func (r Root) transition(ops *Ops, c eventstore.Change, in Inputs) {
	switch {
	case c.Observed != nil:
		r.repair(ops, c, in.Compact)
	case c.Setting != nil:
		r.setting(ops, c)
	case c.Batch != nil:
		r.ticketBefore(ops, c, in.Ring)
		ops.change(r.BatchNodes(c.Batch.From), r.BatchNodes(c.Batch.To), r.Status(c), c.Token)
		r.ticketAfter(ops, c, in.Ring)
	case c.Query != nil:
		r.ticketBefore(ops, c, in.Ring)
		ops.change(r.QueryNodes(c.Query.From), r.QueryNodes(c.Query.To), r.Status(c), c.Token)
		r.ticketAfter(ops, c, in.Ring)
	case c.Entry != nil:
		r.entry(ops, c)
	default:
		from, to, paths := &c.Job.From, &c.Job.To, r.jobPaths(c.Job.To.ID)
		var was, is [maxJobNodes]Node
		ops.change(r.jobNodes(was[:0], &paths, from, in.CompactJobs[from.ID]), r.jobNodes(is[:0], &paths, to, in.Compact), paths.status, c.Token)
		r.promise(ops, from, to, in.NewerNodes)
		r.objectEntries(ops, from, to, in.NewerNodes)
	}
}

// Status returns the path of the node that carries the compare-and-set of a change: the
// status of a batch, query, entry or job, the version of a setting.
func (r Root) Status(c eventstore.Change) string {
	switch {
	case c.Batch != nil:
		return r.BatchStatus(c.Batch.To.ID)
	case c.Query != nil:
		return r.QueryStatus(c.Query.To.ID)
	case c.Entry != nil:
		return r.EntryStatus(c.Entry.To.ID)
	case c.Job != nil:
		return r.JobStatus(c.Job.To.ID)
	default:
		return r.SettingVersion(c.Aggregate())
	}
}

// TokenAfter returns the token of the state after a change that was written: one more
// than before, or 0 for a new node.
func (r Root) TokenAfter(c *eventstore.Change) eventstore.Token {
	switch {
	case c.Observed != nil:
		if _, there := c.Observed.Nodes[r.Name(r.Status(*c))]; !there {
			return 0
		}
	case c.Query != nil && c.Query.From.Version == 0, c.Entry != nil && c.Entry.From.Version == 0, c.Batch != nil && c.Batch.From.Version == 0, c.Job != nil && c.Job.From.Version == 0,
		c.Setting != nil && c.Setting.From.Version == 0:
		return 0
	}
	return c.Token + 1
}

// promise creates, updates or deletes the node of a promise of working space.
func (r Root) promise(ops *Ops, from, to *domain.Job, newer map[string]bool) {
	if from.Promised() == to.Promised() && (!to.Promised() || from.SpaceNeeded == to.SpaceNeeded) {
		return
	}
	path := r.Promise(to.ID)
	exists, known := newer[path]
	if !known {
		exists = from.Promised()
	}
	switch {
	case to.Promised() && exists:
		ops.Set(path, Encode(to.SpaceNeeded), Any, ErrNewerNodes)
	case to.Promised():
		ops.Create(path, Encode(to.SpaceNeeded), ErrNewerNodes)
	case exists:
		ops.Delete(path, Any, ErrNewerNodes)
	}
}

// objectEntries creates or deletes the entries of a job among the jobs of its object.
func (r Root) objectEntries(ops *Ops, from, to *domain.Job, newer map[string]bool) {
	had, has := from.Objects(), to.Objects()
	if slices.Equal(had, has) {
		return
	}
	for _, key := range had {
		path := r.ObjectEntry(key, to.ID)
		if exists, known := newer[path]; !slices.Contains(has, key) && (exists || !known) {
			ops.Delete(path, Any, ErrNewerNodes)
		}
	}
	for _, key := range has {
		path := r.ObjectEntry(key, to.ID)
		if !slices.Contains(had, key) && !newer[path] {
			ops.Create(path, nil, ErrNewerNodes)
		}
	}
}

// setting changes the nodes of a setting, and those that show that it has changed.
func (r Root) setting(ops *Ops, c eventstore.Change) {
	from, to := r.SettingNodes(c.Setting.From), r.SettingNodes(c.Setting.To)
	ops.change(from, to, r.Status(c), c.Token)
	r.touch(ops, c)
}

// touch writes the nodes whose versions show that a setting has changed: /locks, for a hold
// or pause, /config/profiles, and those of deposit queues.
func (r Root) touch(ops *Ops, c eventstore.Change) {
	if c.Setting == nil {
		return
	}
	if c.Setting.To.Kind.Stops() {
		ops.Set(r.Locks(), nil, Any, eventstore.ErrConflict)
	}
	if c.Setting.To.Kind == domain.SettingProfile {
		among := Any
		if c.ProfilesVersion != nil {
			among = int32(*c.ProfilesVersion)
		}
		ops.Set(r.Profiles(), nil, among, eventstore.ErrConflict)
	}
	r.touchQueue(ops, c.Setting.To)
}

// repair replaces the observed nodes of an aggregate by the expected ones. The
// compare-and-set on the status proves that the aggregate has not changed since,
// because every write to it also writes the status.
func (r Root) repair(ops *Ops, c eventstore.Change, compact bool) {
	var to []Node
	switch {
	case c.Batch != nil:
		to = r.BatchNodes(c.Batch.To)
	case c.Query != nil:
		to = r.QueryNodes(c.Query.To)
	case c.Entry != nil:
		to = r.EntryNodes(c.Entry.To)
	case c.Job != nil:
		to = r.JobNodes(c.Job.To, compact)
	default:
		to = r.SettingNodes(c.Setting.To)
	}
	if l := c.Observed.Lock; l != nil {
		version := l.Version
		if version == 0 {
			version = -2 // the lock was not seized: no node has this version, so the server refuses
		}
		ops.Delete(r.At(l.Node), version, eventstore.ErrLocked)
	}
	ops.change(r.observed(c.Observed.Nodes), to, r.Status(c), c.Token)
	r.touch(ops, c)
}

// handOver adds the checks and the writes of a claim, except the check of the worker's
// session and the status, which the operations already have. The lock stays, because deleting it and
// creating it again would leave the same tree.
func (r Root) handOver(ops *Ops, h HandOver, to domain.Job) {
	ops.Check(r.Locks(), int32(h.Holds), ErrHandOver)
	ops.Check(r.BatchStatus(h.Batch), int32(h.BatchToken), ErrHandOver)
	ops.Check(r.Lock(h.Claim.Aggregate), Any, eventstore.ErrFenced)
	ops.Set(r.Claims(to.ID), Encode(ClaimCount{Version: to.Version, Claims: 1}), Any, ErrHandOver)
}
