package zklive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// reader reads batches, jobs and settings from their nodes.
type reader struct {
	conn *session.Conn
	root layout.Root
	// compact says that jobs leave their queues with fewer nodes (see
	// [layout.Root.JobNodes]). Jobs are read with few nodes or with all, in every tree.
	compact bool
}

// notFound returns the error for a failed read: a missing node is
// eventstore.ErrNotFound.
func notFound(op string, a domain.Aggregate, err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		err = eventstore.ErrNotFound
	}
	return &eventstore.Error{Op: op, Aggregate: a, Err: err}
}

// incomplete returns the error for a failed read of a part: if a part is missing the
// aggregate was removed, unless its status still exists.
func (r *reader) incomplete(ctx context.Context, a domain.Aggregate, status string, err error) error {
	if errors.Is(err, zk.ErrNoNode) {
		stat, lerr := r.conn.Exists(ctx, status)
		if lerr != nil {
			err = lerr
		} else if stat != nil {
			return &eventstore.Error{Op: "load", Aggregate: a, Err: errors.Join(eventstore.ErrBroken, err), Hint: "it has a status, and another of its nodes is missing"}
		}
	}
	return notFound("load", a, err)
}

// optional reads a node that may not be there.
func (r *reader) optional(ctx context.Context, path string, v any) error {
	_, err := r.conn.GetJSON(ctx, path, v)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// Batch implements eventstore.Live. The status is read first: if the other nodes are
// newer than it, the compare-and-set refuses a write decided on them.
func (r *reader) Batch(ctx context.Context, id domain.BatchID) (at eventstore.Loaded[domain.Batch], err error) {
	var status layout.BatchStatus
	stat, err := r.conn.GetJSON(ctx, r.root.BatchStatus(id), &status)
	if err != nil {
		return at, notFound("load", id.Aggregate(), err)
	}
	b := domain.Batch{ID: id}
	status.Apply(&b)
	var progress layout.Progress
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error { _, err := r.conn.GetJSON(gctx, r.root.Submission(id), &b.Submission); return err })
	g.Go(func() error { return r.optional(gctx, r.root.Progress(id), &progress) })
	g.Go(func() error { return r.optional(gctx, r.root.StatusReport(id), &b.Report) })
	if err := g.Wait(); err != nil {
		return at, r.incomplete(ctx, id.Aggregate(), r.root.BatchStatus(id), err)
	}
	if progress.Rows > 0 {
		b.Listing, b.NextRow = &progress.Listing, progress.NextRow
	}
	return eventstore.Loaded[domain.Batch]{State: b, Token: eventstore.Token(stat.Version)}, nil
}

// Job implements eventstore.Live; see Batch for the order of reading.
func (r *reader) Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error) {
	at, _, err := r.job(ctx, id)
	return at, err
}

// job reads a job, and reports whether its status holds all of it. A job that left its
// queue between two reads is read again.
func (r *reader) job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], bool, error) {
	for {
		at, compact, err := r.jobStatus(ctx, id)
		if err != nil || compact {
			return at, compact, err
		}
		if err = r.jobRest(ctx, &at); !errors.Is(err, errChanged) || ctx.Err() != nil {
			return at, false, err
		}
	}
}

// jobStatus reads the part of a job that its status node holds, and reports whether that
// is all of it.
func (r *reader) jobStatus(ctx context.Context, id domain.JobID) (at eventstore.Loaded[domain.Job], compact bool, err error) {
	var status layout.JobStatus
	stat, err := r.conn.GetJSON(ctx, r.root.JobStatus(id), &status)
	if err != nil {
		return at, false, notFound("load", id.Aggregate(), err)
	}
	at.State.ID, at.Token = id, eventstore.Token(stat.Version)
	status.Apply(&at.State)
	return at, status.Compact(), nil
}

// jobConfiguration reads the configuration of a job. It never changes, so that it may
// be read at any time.
func (r *reader) jobConfiguration(ctx context.Context, j *domain.Job) error {
	_, err := r.conn.GetJSON(ctx, r.root.Job(j.ID)+"/configuration", &j.Configuration)
	return err
}

// jobRest reads the other nodes of a job whose status was read and does not hold them.
func (r *reader) jobRest(ctx context.Context, at *eventstore.Loaded[domain.Job]) error {
	j := &at.State
	g, gctx := errgroup.WithContext(ctx)
	dir := r.root.Job(j.ID)
	if j.Configuration.BatchID == "" {
		g.Go(func() error { return r.jobConfiguration(gctx, j) })
	}
	for name, v := range map[string]any{"identifiers": &j.Identifiers,
		"metadata": &j.Metadata, "priority": &j.Priority, "space_needed": &j.SpaceNeeded} {
		g.Go(func() error { _, err := r.conn.GetJSON(gctx, dir+"/"+name, v); return err })
	}
	if err := g.Wait(); err != nil {
		return r.incompleteJob(ctx, at, err)
	}
	return nil
}

// errChanged says that a job has changed while it was read.
var errChanged = fmt.Errorf("it changed while it was read: %w", eventstore.ErrConflict)

// incompleteJob is like incomplete, for a job whose status was read before. The job may
// have left its queue since, and its nodes with it: then the error is errChanged.
func (r *reader) incompleteJob(ctx context.Context, at *eventstore.Loaded[domain.Job], err error) error {
	id := at.State.ID
	if errors.Is(err, zk.ErrNoNode) {
		stat, lerr := r.conn.Exists(ctx, r.root.JobStatus(id))
		if lerr == nil && stat != nil && eventstore.Token(stat.Version) != at.Token {
			return &eventstore.Error{Op: "load", Aggregate: id.Aggregate(), Err: errChanged}
		}
	}
	return r.incomplete(ctx, id.Aggregate(), r.root.JobStatus(id), err)
}

// Setting implements eventstore.Live.
func (r *reader) Setting(ctx context.Context, kind domain.SettingKind, name string) (at eventstore.Loaded[domain.Setting], err error) {
	at.State = domain.Setting{Kind: kind, Name: name}
	a := at.State.Aggregate()
	if err := domain.CheckHoldName(kind, name); err != nil {
		return at, &domain.Refused{Aggregate: a, Code: domain.CodeBadName, Message: err.Error()}
	}
	stat, err := r.conn.GetJSON(ctx, r.root.SettingVersion(a), &at.State.Version)
	never := errors.Is(err, zk.ErrNoNode) // changed through here; another program may have made its hold
	if never {
		err = nil
	}
	if err == nil {
		at.State.SettingValue, at.State.Newer, err = r.value(ctx, kind, name)
	}
	if err != nil {
		return at, notFound("load", a, err)
	}
	if !never {
		at.Token = eventstore.Token(stat.Version)
	}
	return at, nil
}

// value reads the value of a setting, nothing = it has none.
func (r *reader) value(ctx context.Context, kind domain.SettingKind, name string) (v domain.SettingValue, newer bool, err error) {
	path := r.root.SettingValue(kind, name)
	if path == "" { // a history without a value, as that of maintenance
		return v, false, nil
	}
	n, err := r.conn.Find(ctx, path)
	if n == nil {
		return v, false, err
	}
	return r.root.ValueOf(kind, name, n.Data, time.UnixMilli(n.Stat.Ctime))
}

// SetProfiles returns which profiles have a content in place of their files, by name, and
// those of which that cannot be read.
func (r *reader) SetProfiles(ctx context.Context) (set map[string]domain.Profile, damaged map[string]error, err error) {
	set, damaged = map[string]domain.Profile{}, map[string]error{}
	names, err := r.conn.List(ctx, r.root.Profiles())
	for _, name := range names {
		if domain.CheckHoldName(domain.SettingProfile, name) != nil {
			continue // verify names it
		}
		switch v, _, err := r.value(ctx, domain.SettingProfile, name); {
		case errors.Is(err, eventstore.ErrBroken):
			damaged[name] = err
		case err != nil:
			return nil, nil, err
		case v.Profile != nil: // else it was removed meanwhile
			set[name] = *v.Profile
		}
	}
	return set, damaged, err
}

// ProfilesVersion implements eventstore.Profiles.
func (r *reader) ProfilesVersion(ctx context.Context) (eventstore.Token, error) {
	stat, err := r.conn.Exists(ctx, r.root.Profiles())
	if err != nil || stat == nil {
		return 0, err
	}
	return eventstore.Token(stat.Version), nil
}

// Refs implements eventstore.Live; it counts the children of the directories.
func (r *reader) Refs(ctx context.Context, id domain.BatchID) (refs eventstore.Refs, err error) {
	g, gctx := errgroup.WithContext(ctx)
	for sub, n := range map[domain.Sub]*int{domain.SubProcessing: &refs.Processing, domain.SubFailed: &refs.Failed, domain.SubCompleted: &refs.Completed} {
		g.Go(func() (err error) { *n, err = r.conn.Count(gctx, r.root.Sub(id, sub)); return err })
	}
	return refs, g.Wait()
}

// BatchJobs implements eventstore.Live.
func (r *reader) BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error) {
	names, err := r.conn.List(ctx, r.root.Sub(id, sub))
	if err != nil {
		return nil, notFound("list jobs of", id.Aggregate(), err)
	}
	slices.Sort(names)
	jobs := make([]domain.JobID, len(names))
	for i, n := range names {
		jobs[i] = domain.JobID(n)
	}
	return jobs, nil
}

// lockedParallel is how many locks are read at once.
const lockedParallel = 64

// Locked implements eventstore.Live.
func (r *reader) Locked(ctx context.Context, of ...domain.Aggregate) ([]domain.Aggregate, error) {
	there := make([]bool, len(of))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(lockedParallel)
	for i, a := range of {
		g.Go(func() error {
			stat, err := r.conn.Exists(gctx, r.root.Lock(a))
			there[i] = stat != nil
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, &eventstore.Error{Op: "look for locks", Err: err}
	}
	var locked []domain.Aggregate
	for i, a := range of {
		if there[i] {
			locked = append(locked, a)
		}
	}
	return locked, nil
}

// Batches implements eventstore.Catalog.
func (r *reader) Batches(ctx context.Context) ([]domain.BatchID, error) {
	v, err := r.conn.Children(ctx, r.root.Batches())
	if err != nil {
		return nil, &eventstore.Error{Op: "list batches", Err: err}
	}
	ids := make([]domain.BatchID, 0, len(v.Names))
	for _, n := range slices.Sorted(slices.Values(v.Names)) {
		if id, err := domain.ParseBatchID(n); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// queued counts the jobs by state.
func (r *reader) queued(ctx context.Context) (map[domain.JobState]int, error) {
	counts := make([]int, len(domain.JobStates))
	g, gctx := errgroup.WithContext(ctx)
	for i, state := range domain.JobStates {
		g.Go(func() (err error) { counts[i], err = r.conn.Count(gctx, r.root.Queue(state)); return err })
	}
	queues := make(map[domain.JobState]int, len(counts))
	err := g.Wait()
	for i, state := range domain.JobStates {
		queues[state] = counts[i]
	}
	return queues, err
}
