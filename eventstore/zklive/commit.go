package zklive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// errHolds: a hold or pause was set or lifted since the decision read them.
var errHolds = fmt.Errorf("holds have changed: %w", eventstore.ErrConflict)

// errNeverSent marks a multi that certainly did not reach a server.
func errNeverSent(err error) bool {
	return errors.Is(err, zk.ErrNoServer) || errors.Is(err, errNotSent)
}

// Commit implements eventstore.Live: all changes in one multi.
func (s *Store) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	for _, c := range changes {
		if c.Claim != nil && !s.holding(c.Claim) {
			return nil, &eventstore.Error{Op: "commit", Aggregate: c.Aggregate(), Err: eventstore.ErrFenced}
		}
	}
	done, err := s.commit(ctx, changes)
	switch {
	case err == nil:
		s.committed(changes, done)
		return done, nil
	case errors.Is(err, errHolds):
		s.holds.outdated()
	case errors.Is(err, eventstore.ErrUnknown):
		for _, c := range changes {
			s.doubt(c.Claim)
		}
	}
	return nil, err
}

func (s *Store) commit(ctx context.Context, changes []eventstore.Change) ([]eventstore.Committed, error) {
	first := changes[0].Aggregate()
	hand := s.handOver(ctx, changes)
	defer s.promises.forget(changes)
	unknown := false // an earlier try may have been applied
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		p, err := s.plan(ctx, changes, hand)
		if err != nil {
			if unknown {
				if done, derr := s.written(ctx, changes); derr != nil || done != nil {
					return s.found(ctx, hand, done, derr)
				}
			}
			return nil, err
		}
		v := s.groups.send(ctx, p)
		switch {
		case v.err == nil:
			done := answer(p, v)
			if hand != nil {
				done[0].Claim = hand.claim
			}
			return done, nil
		case errNeverSent(v.err):
		case answered(v.err):
			if unknown {
				if done, derr := s.written(ctx, changes); derr != nil || done != nil {
					return s.found(ctx, hand, done, derr)
				}
			}
			if errors.Is(v.meaning, errHandOver) {
				s.refusedHandOver(hand)
				hand = nil
				continue
			}
			if errors.Is(v.meaning, errPromise) && s.lookForPromises(ctx, changes) == nil {
				continue
			}
			return nil, &eventstore.Error{Op: "commit", Aggregate: first, Err: v.meaning}
		default:
			unknown = true
			done, derr := s.written(ctx, changes)
			if derr != nil || done != nil {
				return s.found(ctx, hand, done, derr)
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			if unknown {
				return nil, &eventstore.Error{Op: "commit", Aggregate: first, Err: eventstore.ErrUnknown}
			}
			return nil, &eventstore.Error{Op: "commit", Aggregate: first, Err: ctx.Err()}
		}
	}
}

func answer(p *plan, v verdict) []eventstore.Committed {
	done := make([]eventstore.Committed, len(p.status))
	for i, op := range p.status {
		done[i].Zxid = v.zxid
		if op >= 0 && v.answers[op].Stat != nil {
			done[i].Token = eventstore.Token(v.answers[op].Stat.Version)
		}
	}
	return done
}

// written finds out whether an earlier try with an unknown outcome was applied:
// nil and no error means that it was not and may be sent again. A multi is all or
// nothing, so that the first change tells for all.
func (s *Store) written(ctx context.Context, changes []eventstore.Change) ([]eventstore.Committed, error) {
	c := changes[0]
	a := c.Aggregate()
	unknown := func(err error) error {
		return &eventstore.Error{Op: "find out the outcome of a commit to", Aggregate: a, Err: errors.Join(eventstore.ErrUnknown, err)}
	}
	if err := s.sync(ctx); err != nil {
		return nil, unknown(err)
	}
	event := c.Events[len(c.Events)-1]
	version, command, token, err := s.registered(ctx, c)
	switch {
	case err != nil:
		return nil, unknown(err)
	case command == event.CommandID && version == event.Version:
		return s.doneBefore(changes), nil
	case version == event.Version-1 && c.Setting == nil && (version == 0 || token == c.Token):
		return nil, nil
	}
	// Moved on by somebody, or gone. Only the event itself tells now: in the
	// outbox, in the log, and in the outbox again for one that was between.
	for range 2 {
		found, err := s.outbox.find(ctx, shardOf(c, s.outbox.shards), event.ID())
		if err != nil {
			return nil, unknown(err)
		}
		if found != "" {
			return s.verdict(changes, found == event.CommandID)
		}
		if s.cfg.Written != nil {
			if found, err = s.cfg.Written(ctx, a, event.Version); err != nil {
				return nil, unknown(err)
			}
			if found != "" {
				return s.verdict(changes, found == event.CommandID)
			}
		}
	}
	if version < event.Version {
		return nil, nil
	}
	return nil, &eventstore.Error{Op: "commit", Aggregate: a, Err: eventstore.ErrConflict}
}

// sync makes the reads that follow see what was written before, by whomever.
func (s *Store) sync(ctx context.Context) error {
	_, err := read(ctx, func() (string, error) { return s.conn.Sync(cmp.Or(string(s.paths), "/")) })
	if answered(err) {
		return nil
	}
	return err
}

func (s *Store) verdict(changes []eventstore.Change, ours bool) ([]eventstore.Committed, error) {
	if ours {
		return s.doneBefore(changes), nil
	}
	return nil, &eventstore.Error{Op: "commit", Aggregate: changes[0].Aggregate(), Err: eventstore.ErrConflict}
}

// doneBefore is the answer for changes that an earlier try has written. The
// compare-and-set number of an update is always one more than before.
func (s *Store) doneBefore(changes []eventstore.Change) []eventstore.Committed {
	done := make([]eventstore.Committed, len(changes))
	for i, c := range changes {
		created := c.Batch != nil && c.Batch.From.Version == 0 || c.Job != nil && c.Job.From.Version == 0 ||
			c.Setting != nil && c.Setting.From.Version == 0
		if !created {
			done[i].Token = c.Token + 1
		}
	}
	s.outbox.hints.tellAll()
	return done
}

// registered reads what the register holds: version, the command that wrote it
// and the token. All zero when there is no node.
func (s *Store) registered(ctx context.Context, c eventstore.Change) (int64, string, eventstore.Token, error) {
	var version int64
	var command string
	var stat *zk.Stat
	var err error
	switch {
	case c.Batch != nil:
		var st batchStatus
		stat, err = s.getJSON(ctx, s.paths.batchStatus(c.Batch.To.ID), &st)
		version, command = st.Version, st.Command
	case c.Job != nil:
		var st jobStatus
		stat, err = s.getJSON(ctx, s.paths.jobStatus(c.Job.To.ID), &st)
		version, command = st.Version, st.Command
	default:
		stat, err = s.getJSON(ctx, s.paths.settingVersion(c.Aggregate()), &version)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return 0, "", 0, nil
	}
	if err != nil {
		return 0, "", 0, err
	}
	return version, command, eventstore.Token(stat.Version), nil
}

// committed tells the rest of the store what a successful write changed.
func (s *Store) committed(changes []eventstore.Change, done []eventstore.Committed) {
	for i, c := range changes {
		own := c.Claim != nil && c.Claim.Aggregate == c.Aggregate()
		next := done[i].Claim
		switch {
		case next != nil:
			s.pass(c.Claim, next)
		case own && !c.KeepClaim:
			s.forget(c.Claim)
		}
		switch {
		case c.Job != nil:
			s.queues.remember(eventstore.Loaded[domain.Job]{State: c.Job.To, Token: done[i].Token}, next == nil)
			s.queues.moved(c.Job.From, c.Job.To, done[i].Zxid, next != nil || own && c.KeepClaim)
		case c.Batch != nil:
			s.batches.moved(c.Batch.To.ID, c.Batch.To.State, c.Batch.To.Version, c.Claim != nil && c.KeepClaim)
			s.statuses.know(c.Batch.To.ID, knownStatus{c.Batch.To.State, c.Batch.To.Version, done[i].Token})
		default:
			s.holds.outdated()
		}
	}
}

// Remove implements eventstore.Live.
func (s *Store) Remove(ctx context.Context, id domain.BatchID) error {
	at, err := s.Batch(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if at.State.State != domain.BatchDeleted {
		return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict, Hint: "it is " + string(at.State.State) + ", not deleted"}
	}
	for _, sub := range domain.Subs {
		jobs, err := s.BatchJobs(ctx, id, sub)
		if err != nil {
			return err
		}
		if len(jobs) > 0 && !at.State.Cleaned() {
			return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: eventstore.ErrConflict,
				Hint: fmt.Sprintf("%d of its jobs are not deleted yet", len(jobs))}
		}
		for _, j := range jobs {
			if err := s.removeJob(ctx, id, sub, j); err != nil {
				return err
			}
		}
	}
	return s.removeBatch(ctx, id)
}

// removeBatch takes what makes the batch readable away last and together, so that
// an interrupted removal is found again.
func (s *Store) removeBatch(ctx context.Context, id domain.BatchID) error {
	dir := s.paths.batch(id)
	for _, name := range []string{"/states", "/progress", "/status-report", "/lock"} {
		if err := s.destroy(ctx, dir+name); err != nil {
			return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: err}
		}
		crash.Point("zklive/remove/after-part")
	}
	p := &plan{}
	p.delete(dir+"/submission", -1, nil)
	p.delete(dir+"/status", -1, nil)
	p.delete(dir, -1, nil)
	crash.Point("zklive/remove/before-batch")
	_, err := read(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: err}
	}
	crash.Point("zklive/remove/after-batch")
	s.batches.forget(id)
	s.statuses.forget(id)
	return nil
}

// removeJob takes a job of a cleaned batch away in one multi.
func (s *Store) removeJob(ctx context.Context, batch domain.BatchID, sub domain.Sub, id domain.JobID) error {
	at, err := s.Job(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		return s.destroy(ctx, s.paths.ref(batch, sub, id))
	}
	if errors.Is(err, eventstore.ErrBroken) {
		return s.removeBroken(ctx, batch, sub, id)
	}
	if err != nil {
		return err
	}
	p := &plan{}
	for _, path := range diff(s.paths.jobImage(at.State), nil).del {
		if path == s.paths.job(id) {
			p.delete(s.paths.claims(id), -1, nil)
		}
		p.delete(path, -1, nil)
	}
	crash.Point("zklive/remove/before-job")
	_, err = read(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
	crash.Point("zklive/remove/after-job")
	if errors.Is(err, zk.ErrNoNode) {
		// Gone already, by an answer that was lost or by somebody else; or a node of
		// it was missing, and the others go one by one, the reference last.
		_, err = s.Job(ctx, id)
		if errors.Is(err, eventstore.ErrNotFound) {
			err = nil
		}
		for _, path := range []string{s.paths.queue(at.State.State) + "/" + at.State.QueueEntry(), s.paths.job(id), s.paths.ref(batch, sub, id)} {
			if err == nil && !strings.HasSuffix(path, "/") {
				err = s.destroy(ctx, path)
			}
		}
	}
	if err != nil {
		return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: err}
	}
	s.queues.moved(at.State, domain.Job{ID: id, State: domain.JobDeleted, Version: at.State.Version}, 0, false)
	s.queues.forget(id)
	return nil
}

// removeBroken takes a job of a cleaned batch away that cannot be read: whatever
// bears its name, the reference last, so that an interrupted removal is found again.
func (s *Store) removeBroken(ctx context.Context, batch domain.BatchID, sub domain.Sub, id domain.JobID) error {
	nodes := []string{s.paths.promise(id), s.paths.job(id), s.paths.ref(batch, sub, id)}
	for _, state := range domain.JobStates {
		names, _, err := s.children(ctx, s.paths.queue(state))
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: err}
		}
		for _, n := range names {
			if _, of, bad := domain.ParseEntryName(n); bad == nil && of == id {
				nodes = append([]string{s.paths.queue(state) + "/" + n}, nodes...)
			}
		}
	}
	for _, node := range nodes {
		if err := s.destroy(ctx, node); err != nil {
			return &eventstore.Error{Op: "remove", Aggregate: id.Aggregate(), Err: err}
		}
	}
	s.log.Warn("a job that could not be read went with its batch", "job", id, "batch", batch)
	s.queues.forget(id)
	s.unreadable(id.Aggregate(), false)
	return nil
}
