package recovery

import (
	"context"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// surveyParallel is how many batches are listed at once.
const surveyParallel = 32

// surveyor makes a survey.
type surveyor struct {
	*Inspector
	mu  sync.Mutex
	out *eventstore.Survey
}

// Survey implements eventstore.Inspector.
func (x *Inspector) Survey(ctx context.Context) (*eventstore.Survey, error) {
	v := &surveyor{Inspector: x, out: &eventstore.Survey{Entries: map[domain.JobID][]string{}, Refs: map[domain.JobID][]string{}, Promises: map[domain.JobID][]string{},
		Odd: map[domain.BatchID][]string{}}}
	for _, step := range []func(context.Context) error{x.Sync, v.jobs, v.queues, v.promised, v.batches, v.settings} {
		if err := step(ctx); err != nil {
			return nil, &eventstore.Error{Op: "survey the tree", Err: err}
		}
	}
	slices.Sort(v.out.Strays)
	return v.out, nil
}

// names lists the children of a directory below the root, sorted; none when it is
// not there.
func (v *surveyor) names(ctx context.Context, dir string) ([]string, error) {
	names, err := v.conn.List(ctx, v.root.At(dir))
	slices.Sort(names)
	return names, err
}

func (v *surveyor) stray(node string) { v.out.Strays = append(v.out.Strays, node) }

func (v *surveyor) jobs(ctx context.Context) error {
	names, err := v.names(ctx, "/jobs")
	for _, n := range names {
		if id, bad := domain.ParseJobID(n); bad == nil {
			v.out.Jobs = append(v.out.Jobs, id)
		} else if n != "states" {
			v.stray("/jobs/" + n)
		}
	}
	return err
}

func (v *surveyor) queues(ctx context.Context) error {
	states, err := v.names(ctx, "/jobs/states")
	if err != nil {
		return err
	}
	for _, state := range states {
		dir := "/jobs/states/" + state
		if !slices.Contains(domain.JobStates, domain.JobState(state)) {
			v.stray(dir)
			continue
		}
		names, err := v.names(ctx, dir)
		if err != nil {
			return err
		}
		for _, n := range names {
			if _, id, bad := domain.ParseEntryName(n); bad == nil {
				v.out.Entries[id] = append(v.out.Entries[id], dir+"/"+n)
			} else {
				v.stray(dir + "/" + n)
			}
		}
	}
	return nil
}

func (v *surveyor) promised(ctx context.Context) error {
	names, err := v.names(ctx, "/space")
	for _, n := range names {
		if id, bad := domain.ParseJobID(n); bad == nil {
			v.out.Promises[id] = []string{"/space/" + n}
		} else {
			v.stray("/space/" + n)
		}
	}
	return err
}

func (v *surveyor) batches(ctx context.Context) error {
	names, err := v.names(ctx, "/batches")
	if err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(surveyParallel)
	for _, n := range names {
		id, bad := domain.ParseBatchID(n)
		if bad != nil {
			v.mu.Lock()
			v.stray("/batches/" + n)
			v.mu.Unlock()
			continue
		}
		v.out.Batches = append(v.out.Batches, id)
		g.Go(func() error { return v.refs(gctx, id) })
	}
	return g.Wait()
}

func (v *surveyor) refs(ctx context.Context, id domain.BatchID) error {
	for _, sub := range domain.Subs {
		dir := v.root.Name(v.root.Sub(id, sub))
		names, err := v.names(ctx, dir)
		if err != nil {
			return err
		}
		v.mu.Lock()
		for _, n := range names {
			if job, bad := domain.ParseJobID(n); bad == nil {
				v.out.Refs[job] = append(v.out.Refs[job], dir+"/"+n)
			} else {
				v.out.Odd[id] = append(v.out.Odd[id], dir+"/"+n)
			}
		}
		v.mu.Unlock()
	}
	return nil
}

func (v *surveyor) settings(ctx context.Context) error {
	add := func(a domain.Aggregate) {
		if !slices.Contains(v.out.Settings, a) {
			v.out.Settings = append(v.out.Settings, a)
		}
	}
	names, err := v.names(ctx, "/config/versions")
	if err != nil {
		return err
	}
	for _, n := range names {
		if kind, _, ok := strings.Cut(n, ":"); ok && kind != "" {
			add(domain.Aggregate{Kind: domain.KindSetting, ID: n})
		} else {
			v.stray("/config/versions/" + n)
		}
	}
	for kind, dir := range map[domain.HoldKind]string{domain.HoldCollection: "/locks/collections", domain.HoldQueue: "/locks/queue"} {
		names, err := v.names(ctx, dir)
		if err != nil {
			return err
		}
		for _, n := range names {
			add(domain.SettingAggregate(kind, n))
		}
	}
	return nil
}
