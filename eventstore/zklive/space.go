package zklive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

var _ eventstore.Space = (*Store)(nil)

// errPromise: a job's promise is not there, or is there already. Programs before
// these promises move jobs beside this one and leave the node alone.
var errPromise = fmt.Errorf("promised otherwise: %w", eventstore.ErrConflict)

// oddPromises are those that were found otherwise than the job's state says, until
// the write for which they were looked at has ended: is there one?
type oddPromises struct {
	mu    sync.Mutex
	there map[domain.JobID]bool
}

func (o *oddPromises) get(id domain.JobID, usual bool) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if there, odd := o.there[id]; odd {
		return there
	}
	return usual
}

func (o *oddPromises) forget(changes []eventstore.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, c := range changes {
		if c.Job != nil {
			delete(o.there, c.Job.To.ID)
		}
	}
}

// planPromise begins, changes or ends the promise of working space.
func (s *Store) planPromise(p *plan, before, after *domain.Job) {
	if before.Promised() == after.Promised() && (!after.Promised() || before.SpaceNeeded == after.SpaceNeeded) {
		return
	}
	path := s.paths.promise(after.ID)
	switch there := s.promises.get(after.ID, before.Promised()); {
	case after.Promised() && there:
		p.set(path, encode(after.SpaceNeeded), -1, errPromise)
	case after.Promised():
		p.create(path, encode(after.SpaceNeeded), 0, errPromise)
	case there:
		p.delete(path, -1, errPromise)
	}
}

// lookForPromises sees which of the promises are there, for the next try.
func (s *Store) lookForPromises(ctx context.Context, changes []eventstore.Change) error {
	for _, c := range changes {
		if c.Job == nil {
			continue
		}
		id := c.Job.To.ID
		stat, err := s.exists(ctx, s.paths.promise(id))
		if err != nil {
			return err
		}
		s.promises.mu.Lock()
		s.promises.there[id] = stat != nil
		s.promises.mu.Unlock()
	}
	return nil
}

// LeadSpace implements eventstore.Space. The term is the version of /space, which
// each lead writes once: what an earlier one promises late is refused by it.
func (s *Store) LeadSpace(ctx context.Context) (context.Context, eventstore.Token, func(), error) {
	lead, w, resign, err := s.lead(ctx, "provisioning")
	if err != nil {
		return nil, 0, nil, err
	}
	p := &plan{}
	p.check(s.paths.worker(w.id), -1, eventstore.ErrFenced)
	op := p.set(s.paths.space(), nil, -1, eventstore.ErrFenced)
	crash.Point("zklive/space/before-lead")
	answers, err := read(lead, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
	crash.Point("zklive/space/after-lead")
	if err != nil {
		resign()
		return nil, 0, nil, &eventstore.Error{Op: "lead provisioning", Err: err}
	}
	return lead, eventstore.Token(answers[op].Stat.Version), resign, nil
}

// Promised implements eventstore.Space.
func (s *Store) Promised(ctx context.Context) ([]domain.JobID, error) {
	names, _, err := s.children(ctx, s.paths.space())
	if err != nil {
		return nil, &eventstore.Error{Op: "list the promises of working space", Err: err}
	}
	ids := make([]domain.JobID, 0, len(names))
	for _, n := range names {
		if id, err := domain.ParseJobID(n); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Promise implements eventstore.Space. The status is read last: while the job is in
// that state its promise stands.
func (s *Store) Promise(ctx context.Context, id domain.JobID) (eventstore.Promise, error) {
	var p eventstore.Promise
	none := &eventstore.Error{Op: "look for the promise to", Aggregate: id.Aggregate(), Err: eventstore.ErrNotFound}
	n, err := s.get(ctx, s.paths.promise(id))
	j := domain.Job{ID: id}
	if err == nil {
		err = s.jobConfiguration(ctx, &j)
	}
	var at eventstore.Loaded[domain.Job]
	if err == nil {
		at, err = s.jobStatus(ctx, id)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, eventstore.ErrNotFound), err == nil && !at.State.Promised():
		return p, none
	case err == nil:
		err = json.Unmarshal(n.data, &p.Bytes)
	}
	if err != nil {
		return p, &eventstore.Error{Op: "read the promise to", Aggregate: id.Aggregate(), Err: errors.Join(eventstore.ErrBroken, err),
			Hint: "`accession verify --repair` mends it"}
	}
	p.Profile, p.Version = j.Configuration.ProfileName, at.State.Version
	return p, nil
}
