package zklive

import (
	"context"
	"encoding/json"
	"errors"
	"sort"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// node is what one read of a node gives.
type node struct {
	data []byte
	stat *zk.Stat
}

func (s *Store) get(ctx context.Context, path string) (node, error) {
	return read(ctx, func() (node, error) {
		data, stat, err := s.conn.Get(path)
		return node{data, stat}, err
	})
}

// children lists names; stat is the parent's.
func (s *Store) children(ctx context.Context, path string) ([]string, *zk.Stat, error) {
	type answer struct {
		names []string
		stat  *zk.Stat
	}
	a, err := read(ctx, func() (answer, error) {
		names, stat, err := s.conn.Children(path)
		return answer{names, stat}, err
	})
	return a.names, a.stat, err
}

// exists gives nil without an error when the node is not there.
func (s *Store) exists(ctx context.Context, path string) (*zk.Stat, error) {
	return read(ctx, func() (*zk.Stat, error) {
		ok, stat, err := s.conn.Exists(path)
		if err != nil || !ok {
			return nil, err
		}
		return stat, nil
	})
}

// getJSON reads a node into v. A node whose data is damaged is ErrBroken.
func (s *Store) getJSON(ctx context.Context, path string, v any) (*zk.Stat, error) {
	n, err := s.get(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(n.data, v); err != nil {
		return nil, &eventstore.Error{Op: "read " + path, Err: errors.Join(eventstore.ErrBroken, err),
			Hint: "the node's data is damaged"}
	}
	return n.stat, nil
}

// notFound turns a missing node into the port's answer.
func notFound(op string, a domain.Aggregate, err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		return &eventstore.Error{Op: op, Aggregate: a, Err: eventstore.ErrNotFound}
	}
	return &eventstore.Error{Op: op, Aggregate: a, Err: err}
}

// incomplete tells of an error in reading a part: a part that is missing went with
// the whole, unless the status is still there.
func (s *Store) incomplete(ctx context.Context, a domain.Aggregate, status string, err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		stat, lerr := s.exists(ctx, status)
		if lerr != nil {
			err = lerr
		} else if stat != nil {
			return &eventstore.Error{Op: "load", Aggregate: a, Err: errors.Join(eventstore.ErrBroken, err), Hint: "it has a status, and another of its nodes is missing"}
		}
	}
	return notFound("load", a, err)
}

// Batch implements eventstore.Live. The status is read first, so that a write
// decided on newer other nodes is refused by the compare-and-set.
func (s *Store) Batch(ctx context.Context, id domain.BatchID) (at eventstore.Loaded[domain.Batch], err error) {
	var status batchStatus
	stat, err := s.getJSON(ctx, s.paths.batchStatus(id), &status)
	if err != nil {
		return at, notFound("load", id.Aggregate(), err)
	}
	b := domain.Batch{ID: id}
	status.apply(&b)
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		_, err := s.getJSON(gctx, s.paths.batch(id)+"/submission", &b.Submission)
		return err
	})
	var prog progress
	g.Go(func() error {
		_, err := s.getJSON(gctx, s.paths.progress(id), &prog)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	var report *domain.Report
	g.Go(func() error {
		_, err := s.getJSON(gctx, s.paths.statusReport(id), &report)
		if errors.Is(err, zk.ErrNoNode) {
			return nil
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return at, s.incomplete(ctx, id.Aggregate(), s.paths.batchStatus(id), err)
	}
	if prog.Rows > 0 {
		l := prog.Listing
		b.Listing, b.NextRow = &l, prog.NextRow
	}
	b.Report = report
	return eventstore.Loaded[domain.Batch]{State: b, Token: eventstore.Token(stat.Version)}, nil
}

// Job implements eventstore.Live; see Batch for the order of reading.
func (s *Store) Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error) {
	at, err := s.jobStatus(ctx, id)
	if err != nil {
		return at, err
	}
	return at, s.jobRest(ctx, &at.State)
}

// jobStatus reads the part of a job that its status node holds.
func (s *Store) jobStatus(ctx context.Context, id domain.JobID) (at eventstore.Loaded[domain.Job], err error) {
	var status jobStatus
	stat, err := s.getJSON(ctx, s.paths.jobStatus(id), &status)
	if err != nil {
		return at, notFound("load", id.Aggregate(), err)
	}
	at.State.ID, at.Token = id, eventstore.Token(stat.Version)
	status.apply(&at.State)
	return at, nil
}

// jobConfiguration reads what a job was asked to do. It never changes, so that it
// may be read at any time.
func (s *Store) jobConfiguration(ctx context.Context, j *domain.Job) error {
	_, err := s.getJSON(ctx, s.paths.job(j.ID)+"/configuration", &j.Configuration)
	return err
}

// jobRest reads the other nodes.
func (s *Store) jobRest(ctx context.Context, j *domain.Job) error {
	g, gctx := errgroup.WithContext(ctx)
	dir := s.paths.job(j.ID)
	if j.Configuration.BatchID == "" {
		g.Go(func() error { return s.jobConfiguration(gctx, j) })
	}
	for name, v := range map[string]any{"identifiers": &j.Identifiers,
		"metadata": &j.Metadata, "priority": &j.Priority, "space_needed": &j.SpaceNeeded} {
		g.Go(func() error { _, err := s.getJSON(gctx, dir+"/"+name, v); return err })
	}
	if err := g.Wait(); err != nil {
		return s.incomplete(ctx, j.ID.Aggregate(), s.paths.jobStatus(j.ID), err)
	}
	return nil
}

// Setting implements eventstore.Live.
func (s *Store) Setting(ctx context.Context, kind domain.HoldKind, name string) (at eventstore.Loaded[domain.Setting], err error) {
	at.State = domain.Setting{Kind: kind, Name: name}
	if err := domain.CheckHoldName(kind, name); err != nil {
		return at, &domain.Refused{Aggregate: at.State.Aggregate(), Code: "bad_name", Message: err.Error()}
	}
	stat, err := s.getJSON(ctx, s.paths.settingVersion(at.State.Aggregate()), &at.State.Version)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return at, nil
	case err != nil:
		return at, notFound("load", at.State.Aggregate(), err)
	}
	at.Token = eventstore.Token(stat.Version)
	if kind == domain.HoldAudit {
		return at, nil
	}
	var h domain.Hold
	switch _, err := s.getJSON(ctx, s.paths.hold(kind, name), &h); {
	case err == nil:
		at.State.Hold = &h
	case !errors.Is(err, zk.ErrNoNode):
		return at, notFound("load", at.State.Aggregate(), err)
	}
	return at, nil
}

// Refs implements eventstore.Live by the directories' child counts.
func (s *Store) Refs(ctx context.Context, id domain.BatchID) (r eventstore.Refs, err error) {
	g, gctx := errgroup.WithContext(ctx)
	for sub, n := range map[domain.Sub]*int{domain.SubProcessing: &r.Processing, domain.SubFailed: &r.Failed, domain.SubCompleted: &r.Completed} {
		g.Go(func() error {
			stat, err := s.exists(gctx, s.paths.sub(id, sub))
			if err == nil && stat != nil {
				*n = int(stat.NumChildren)
			}
			return err
		})
	}
	return r, g.Wait()
}

// BatchJobs implements eventstore.Live.
func (s *Store) BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error) {
	names, _, err := s.children(ctx, s.paths.sub(id, sub))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, notFound("list jobs of", id.Aggregate(), err)
	}
	sort.Strings(names)
	jobs := make([]domain.JobID, len(names))
	for i, n := range names {
		jobs[i] = domain.JobID(n)
	}
	return jobs, nil
}

// lockedParallel is how many locks are looked at at once.
const lockedParallel = 64

// Locked implements eventstore.Live.
func (s *Store) Locked(ctx context.Context, of ...domain.Aggregate) ([]domain.Aggregate, error) {
	held := make([]bool, len(of))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(lockedParallel)
	for i, a := range of {
		g.Go(func() error {
			stat, err := s.exists(gctx, s.paths.lock(a))
			held[i] = stat != nil
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, &eventstore.Error{Op: "look for locks", Err: err}
	}
	var locked []domain.Aggregate
	for i, a := range of {
		if held[i] {
			locked = append(locked, a)
		}
	}
	return locked, nil
}

// Batches implements eventstore.Live.
func (s *Store) Batches(ctx context.Context) ([]domain.BatchID, error) {
	names, _, err := s.children(ctx, s.paths.at("/batches"))
	if err != nil {
		return nil, &eventstore.Error{Op: "list batches", Err: err}
	}
	sort.Strings(names)
	ids := make([]domain.BatchID, 0, len(names))
	for _, n := range names {
		if id, err := domain.ParseBatchID(n); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
