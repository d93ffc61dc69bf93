package zklive

import (
	"context"
	"encoding/json"
	"errors"
	"path"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// space keeps the promises of working space. They begin, change and end in the multi
// that moves their job.
type space struct {
	conn    *session.Conn
	reader  *reader
	leaders *leaders
}

// LeadSpace implements eventstore.Space. The term is the version of /space, which each
// lead writes once: a late promise of an earlier leader is then refused.
func (s *space) LeadSpace(ctx context.Context) (context.Context, eventstore.Token, func(), error) {
	lead, w, resign, err := s.leaders.lead(ctx, "provisioning")
	if err != nil {
		return nil, 0, nil, err
	}
	answers, err := s.conn.Multi(lead, "zklive/space/lead", s.reader.root.LeadSpace(w.ID))
	if err != nil {
		resign()
		return nil, 0, nil, &eventstore.Error{Op: "lead provisioning", Err: err}
	}
	return lead, eventstore.Token(answers[len(answers)-1].Stat.Version), resign, nil
}

// Promised implements eventstore.Space.
func (s *space) Promised(ctx context.Context) ([]domain.JobID, error) {
	v, err := s.conn.Children(ctx, s.reader.root.Space())
	if err != nil {
		return nil, &eventstore.Error{Op: "list the promises of working space", Err: err}
	}
	ids := make([]domain.JobID, 0, len(v.Names))
	for _, n := range v.Names {
		if id, err := domain.ParseJobID(n); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Promise implements eventstore.Space. The status is read last: while the job is in
// that state its promise is valid.
func (s *space) Promise(ctx context.Context, id domain.JobID) (eventstore.Promise, error) {
	var p eventstore.Promise
	n, err := s.conn.Get(ctx, s.reader.root.Promise(id))
	j := domain.Job{ID: id}
	if err == nil {
		err = s.reader.jobConfiguration(ctx, &j)
	}
	var at eventstore.Loaded[domain.Job]
	if err == nil {
		at, _, err = s.reader.jobStatus(ctx, id)
	}
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, eventstore.ErrNotFound), err == nil && !at.State.Promised():
		return p, &eventstore.Error{Op: "look for the promise to", Aggregate: id.Aggregate(), Err: eventstore.ErrNotFound}
	case err == nil:
		err = json.Unmarshal(n.Data, &p.Bytes)
	}
	if err != nil {
		return p, &eventstore.Error{Op: "read the promise to", Aggregate: id.Aggregate(), Err: errors.Join(eventstore.ErrBroken, err),
			Hint: "`accession verify --repair` repairs it"}
	}
	p.Profile, p.Version = j.Configuration.ProfileName, at.State.Version
	return p, nil
}

// PromiseFile implements eventstore.Space. The node is ephemeral.
func (s *space) PromiseFile(ctx context.Context, p eventstore.FilePromise) (end func(), err error) {
	failed := func(err error) error {
		return &eventstore.Error{Op: "promise working space to", Aggregate: p.File.Aggregate(), Err: err}
	}
	in, root := s.leaders.session, s.reader.root
	w, err := in.Worker(ctx)
	if err != nil {
		return nil, failed(err)
	}
	end = func() {
		in.Spawn(func() {
			_, _ = session.Retry(in.Context(), func() (none struct{}, err error) { // at the latest its session ends it
				ours, err := in.HeldBy(in.Context(), root.FilePromise(p.File), w.ID)
				if err == nil && ours {
					_, err = in.TryMulti(in.Context(), "zklive/space/file-end", root.EndFilePromise(p.File, w.ID))
				}
				return none, err
			})
		})
	}
	switch _, err = in.TryMulti(ctx, "zklive/space/file", root.PromiseFile(p, w.ID)); {
	case err == nil:
		return end, nil
	case errors.Is(err, zk.ErrNodeExists):
		return nil, failed(eventstore.ErrLocked)
	case !session.Answered(err):
		end() // it may be there
	}
	return nil, failed(err)
}

// FilePromises implements eventstore.Space.
func (s *space) FilePromises(ctx context.Context) (all []eventstore.FilePromise, err error) {
	in, root := s.leaders.session, s.reader.root
	names, err := in.List(ctx, root.Space())
	if err != nil {
		return nil, &eventstore.Error{Op: "list the promises of working space", Err: err}
	}
	for _, name := range names {
		hash, is := layout.ParseFilePromise(name)
		if !is {
			continue
		}
		var data layout.FilePromise
		_, err := in.GetJSON(ctx, path.Join(root.Space(), name), &data)
		if errors.Is(err, zk.ErrNoNode) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return nil, &eventstore.Error{Op: "read the promise to", Aggregate: hash.Aggregate(), Err: err}
		}
		all = append(all, eventstore.FilePromise{File: hash, Bytes: data.Bytes, Profile: data.Profile})
	}
	return all, nil
}
