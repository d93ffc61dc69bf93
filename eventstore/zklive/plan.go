package zklive

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Limits of one multi. ZooKeeper answers a request over 1 MiB by closing the
// connection, so sizes are checked before sending.
const (
	maxOps   = 1000
	maxBytes = 512 << 10
)

// plan is one multi under construction. meaning[i] says what it means when
// operation i is the one that the server refuses.
type plan struct {
	ops     []any
	meaning []error
	bytes   int

	status []int         // per change: index of the operation that sets its status, -1 = created
	events []shardEvents // for the outbox, at most one a shard
	alone  bool          // shares its multi with no other plan
}

// shardEvents are the events of a plan that go into one shard.
type shardEvents struct {
	shard  int
	events []domain.Recorded
	data   []byte // as codec.MarshalOutbox gives it
}

func (p *plan) add(op any, meaning error) int {
	p.ops = append(p.ops, op)
	p.meaning = append(p.meaning, meaning)
	switch o := op.(type) {
	case *zk.CreateRequest:
		p.bytes += len(o.Path) + len(o.Data) + 64
	case *zk.SetDataRequest:
		p.bytes += len(o.Path) + len(o.Data) + 32
	case *zk.DeleteRequest:
		p.bytes += len(o.Path) + 24
	case *zk.CheckVersionRequest:
		p.bytes += len(o.Path) + 24
	}
	return len(p.ops) - 1
}

func (p *plan) check(path string, version int32, meaning error) {
	p.add(&zk.CheckVersionRequest{Path: path, Version: version}, meaning)
}
func (p *plan) create(path string, data []byte, flags int32, meaning error) {
	p.add(&zk.CreateRequest{Path: path, Data: data, Acl: acl, Flags: flags}, meaning)
}
func (p *plan) set(path string, data []byte, version int32, meaning error) int {
	return p.add(&zk.SetDataRequest{Path: path, Data: data, Version: version}, meaning)
}
func (p *plan) delete(path string, version int32, meaning error) {
	p.add(&zk.DeleteRequest{Path: path, Version: version}, meaning)
}

// plan puts changes, with all that they require and their events, into one multi.
func (s *Store) plan(ctx context.Context, changes []eventstore.Change, hand *handOver) (p *plan, err error) {
	p = &plan{alone: !sharing(changes), ops: make([]any, 0, 8), meaning: make([]error, 0, 8)}
	fenced := map[string]bool{}
	for _, c := range changes {
		if c.Claim != nil && !fenced[c.Claim.Worker] {
			fenced[c.Claim.Worker] = true
			p.check(s.paths.worker(c.Claim.Worker), -1, eventstore.ErrFenced)
		}
	}
	if err := s.planRows(ctx, p, changes); err != nil {
		return nil, err
	}
	for _, c := range changes {
		s.planRequire(p, c)
		s.planImage(p, c)
		switch {
		case hand != nil:
			s.planHandOver(p, hand, c.Job.To)
		case c.Claim != nil && !c.KeepClaim && c.Claim.Aggregate == c.Aggregate():
			p.delete(s.paths.lock(c.Claim.Aggregate), -1, eventstore.ErrFenced)
		}
		p.record(shardOf(c, s.outbox.shards), c.Events)
	}
	for i := range p.events {
		e := &p.events[i]
		if e.data, err = codec.MarshalOutbox(e.events); err != nil {
			return nil, err
		}
		p.bytes += len(e.data)
	}
	if len(p.ops)+2*len(p.events) > maxOps || p.bytes+nodeBytes*len(p.events) > maxBytes {
		return nil, &eventstore.Error{Op: "commit", Err: eventstore.ErrBroken,
			Hint: fmt.Sprintf("%d operations of %d bytes do not fit one write of %d and %d: commit fewer changes at once", len(p.ops), p.bytes, maxOps, maxBytes)}
	}
	return p, nil
}

// record adds events to those of a shard. The caller's own stay as they are: it
// stamps them once they are written.
func (p *plan) record(shard int, events []domain.Recorded) {
	if len(events) == 0 {
		return
	}
	for i := range p.events {
		if p.events[i].shard == shard {
			p.events[i].events = append(p.events[i].events, events...)
			return
		}
	}
	p.events = append(p.events, shardEvents{shard: shard, events: slices.Clone(events)})
}

// sharing reports whether changes may share a multi with others: the moves of a
// single job. What makes or removes directories, or proves them empty, depends on
// the order in which others touch what is in them, and goes alone; so do the rare
// changes of batches and settings.
func sharing(changes []eventstore.Change) bool {
	c := changes[0]
	return len(changes) == 1 && c.Job != nil && c.Job.From.State != domain.JobNone && c.Job.To.State != domain.JobDeleted
}

// planRequire adds the proofs that a decision asked for.
func (s *Store) planRequire(p *plan, c eventstore.Change) {
	if c.SpaceTerm != nil {
		p.check(s.paths.space(), int32(*c.SpaceTerm), eventstore.ErrFenced)
	}
	if c.Require.Holds {
		p.check(s.paths.locks(), int32(c.HoldsVersion), errHolds)
	}
	if c.Require.Batch && c.Job != nil {
		p.check(s.paths.batchStatus(c.Job.To.Configuration.BatchID), int32(c.BatchToken), eventstore.ErrConflict)
	}
	if c.Require.Unlocked && (c.Claim == nil || c.Claim.Aggregate != c.Aggregate()) {
		// No check tells that a node is absent; making and removing it does.
		lock := s.paths.lock(c.Aggregate())
		p.create(lock, nil, zk.FlagEphemeral, eventstore.ErrLocked)
		p.delete(lock, -1, eventstore.ErrLocked)
	}
	if c.Require.Idle != nil {
		s.planIdle(p, c.Batch.To.ID, c.Require.Idle)
	}
	for _, sub := range c.Require.Empty {
		// ZooKeeper refuses to delete a directory that has a child.
		dir := s.paths.sub(c.Batch.To.ID, sub)
		p.delete(dir, -1, eventstore.ErrConflict)
		p.create(dir, nil, 0, eventstore.ErrConflict)
	}
}

// planIdle proves that batch-processing refers to these jobs alone, and that none
// of them is locked: without their references the directory can be deleted, and
// all of it is made again.
func (s *Store) planIdle(p *plan, batch domain.BatchID, jobs []domain.JobID) {
	dir := s.paths.sub(batch, domain.SubProcessing)
	for _, j := range jobs {
		lock := s.paths.jobLock(j)
		p.create(lock, nil, zk.FlagEphemeral, eventstore.ErrConflict)
		p.delete(lock, -1, eventstore.ErrConflict)
		p.delete(s.paths.ref(batch, domain.SubProcessing, j), -1, eventstore.ErrConflict)
	}
	p.delete(dir, -1, eventstore.ErrConflict)
	p.create(dir, nil, 0, eventstore.ErrConflict)
	for _, j := range jobs {
		p.create(s.paths.ref(batch, domain.SubProcessing, j), []byte{}, 0, eventstore.ErrConflict)
	}
}

// planImage adds what the change does to the tree.
func (s *Store) planImage(p *plan, c eventstore.Change) {
	var before, after image
	var status string
	switch {
	case c.Observed != nil:
		s.planRedraw(p, c)
		return
	case c.Setting != nil:
		s.planSetting(p, c)
		return
	case c.Job != nil && c.Job.From.State != domain.JobNone && c.Job.To.State != domain.JobDeleted:
		s.planMove(p, c)
		return
	case c.Batch != nil:
		before, after = s.paths.batchImage(c.Batch.From), s.paths.batchImage(c.Batch.To)
		status = s.paths.batchStatus(c.Batch.To.ID)
	default:
		before, after = s.paths.jobImage(c.Job.From), s.paths.jobImage(c.Job.To)
		status = s.paths.jobStatus(c.Job.To.ID)
	}
	token := -1
	d := diff(before, after)
	for _, path := range d.del {
		version := int32(-1)
		if c.Job != nil && path == s.paths.promise(c.Job.To.ID) {
			continue // planPromise
		}
		if path == status {
			version = int32(c.Token)
		}
		if c.Job != nil && path == s.paths.job(c.Job.To.ID) {
			p.delete(s.paths.claims(c.Job.To.ID), -1, eventstore.ErrConflict)
		}
		p.delete(path, version, eventstore.ErrConflict)
	}
	for _, path := range d.set {
		if path == status {
			token = p.set(path, after[path], int32(c.Token), eventstore.ErrConflict)
			continue
		}
		p.set(path, after[path], -1, eventstore.ErrConflict)
	}
	for _, path := range d.create {
		p.create(path, after[path], 0, eventstore.ErrConflict)
	}
	if c.Job != nil {
		s.planPromise(p, &c.Job.From, &c.Job.To)
	}
	if c.Job != nil && c.Job.From.State == domain.JobNone {
		p.create(s.paths.claims(c.Job.To.ID), encode(claimCount{Version: c.Job.To.Version}), 0, eventstore.ErrConflict)
	}
	p.status = append(p.status, token)
}

// planMove does what the difference of two images of a job does that is there before
// and after, without drawing them.
func (s *Store) planMove(p *plan, c eventstore.Change) {
	before, after := &c.Job.From, &c.Job.To
	dir := s.paths.job(after.ID)
	oldEntry, newEntry := s.paths.queued(*before), s.paths.queued(*after)
	oldRef, newRef := s.paths.referred(*before), s.paths.referred(*after)
	for _, pair := range [2][2]string{{oldEntry, newEntry}, {oldRef, newRef}} {
		if pair[0] != pair[1] && pair[0] != "" {
			p.delete(pair[0], -1, eventstore.ErrConflict)
		}
	}
	p.status = append(p.status, p.set(dir+"/status", encode(jobStatusOf(*after)), int32(c.Token), eventstore.ErrConflict))
	set := func(name string, v any) { p.set(dir+name, encode(v), -1, eventstore.ErrConflict) }
	if before.Configuration != after.Configuration && !reflect.DeepEqual(before.Configuration, after.Configuration) {
		set("/configuration", after.Configuration)
	}
	if !reflect.DeepEqual(before.Identifiers, after.Identifiers) {
		set("/identifiers", after.Identifiers)
	}
	if before.Metadata != after.Metadata {
		set("/metadata", after.Metadata)
	}
	if before.Priority != after.Priority {
		set("/priority", after.Priority)
	}
	if before.SpaceNeeded != after.SpaceNeeded {
		set("/space_needed", after.SpaceNeeded)
	}
	for _, pair := range [2][2]string{{oldEntry, newEntry}, {oldRef, newRef}} {
		if pair[0] != pair[1] && pair[1] != "" {
			p.create(pair[1], []byte{}, 0, eventstore.ErrConflict)
		}
	}
	s.planPromise(p, before, after)
}

func (s *Store) planSetting(p *plan, c eventstore.Change) {
	set := c.Setting
	version, hold := s.paths.settingVersion(set.To.Aggregate()), s.paths.hold(set.To.Kind, set.To.Name)
	data := []byte(strconv.FormatInt(set.To.Version, 10))
	token := -1
	if set.From.Version == 0 {
		p.create(version, data, 0, eventstore.ErrConflict)
	} else {
		token = p.set(version, data, int32(c.Token), eventstore.ErrConflict)
	}
	switch {
	case set.To.Kind == domain.HoldAudit: // it stops nothing
		p.status = append(p.status, token)
		return
	case set.To.Hold == nil:
		p.delete(hold, -1, eventstore.ErrConflict)
	case set.From.Hold == nil:
		p.create(hold, encode(set.To.Hold), 0, eventstore.ErrConflict)
	default:
		p.set(hold, encode(set.To.Hold), -1, eventstore.ErrConflict)
	}
	p.set(s.paths.locks(), nil, -1, eventstore.ErrConflict)
	p.status = append(p.status, token)
}

// planRows moves a batch's progress on over the rows that get their jobs here,
// by compare-and-set, and makes the states directories with the first.
func (s *Store) planRows(ctx context.Context, p *plan, changes []eventstore.Change) error {
	first, rows := -1, 0
	var batch domain.BatchID
	for _, c := range changes {
		if c.NextRow == nil {
			continue
		}
		if first < 0 {
			first, batch = *c.NextRow, c.Job.To.Configuration.BatchID
		}
		rows++
	}
	if first < 0 {
		return nil
	}
	var prog progress
	stat, err := s.getJSON(ctx, s.paths.progress(batch), &prog)
	if err != nil {
		return notFound("make jobs of", batch.Aggregate(), err)
	}
	if prog.NextRow != first || first+rows > prog.Rows {
		return &eventstore.Error{Op: "make jobs of", Aggregate: batch.Aggregate(), Err: eventstore.ErrConflict,
			Hint: fmt.Sprintf("row %d is next of %d, not %d", prog.NextRow, prog.Rows, first)}
	}
	queues, err := s.queued(ctx)
	if err != nil {
		return err
	}
	for _, state := range domain.JobStates {
		if queues[state]+rows > s.cfg.QueueLimit {
			return &eventstore.Error{Op: "make jobs of", Aggregate: batch.Aggregate(), Err: eventstore.ErrFull,
				Hint: fmt.Sprintf("%d jobs are %s; the limit is %d", queues[state], state, s.cfg.QueueLimit)}
		}
	}
	prog.NextRow = first + rows
	p.set(s.paths.progress(batch), encode(prog), stat.Version, eventstore.ErrConflict)
	if first == 0 {
		for _, path := range diff(nil, s.paths.statesImage(batch)).create {
			p.create(path, nil, 0, eventstore.ErrConflict)
		}
	}
	return nil
}
