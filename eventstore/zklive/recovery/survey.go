package recovery

import (
	"cmp"
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

// each calls take for the children of a directory, sorted; those that take does not
// know are strays.
func (v *surveyor) each(ctx context.Context, dir string, take func(name, node string) bool) error {
	names, err := v.conn.List(ctx, v.root.At(dir))
	slices.Sort(names)
	for _, name := range names {
		if node := dir + "/" + name; !take(name, node) {
			v.out.Strays = append(v.out.Strays, node)
		}
	}
	return err
}

func (v *surveyor) jobs(ctx context.Context) error {
	return v.each(ctx, "/jobs", func(name, _ string) bool {
		id, err := domain.ParseJobID(name)
		if err == nil {
			v.out.Jobs = append(v.out.Jobs, id)
		}
		return err == nil || name == "states"
	})
}

func (v *surveyor) queues(ctx context.Context) error {
	err := v.each(ctx, "/jobs/states", func(name, _ string) bool { return slices.Contains(domain.JobStates, domain.JobState(name)) })
	for _, state := range domain.JobStates {
		err = cmp.Or(err, v.each(ctx, "/jobs/states/"+string(state), func(name, node string) bool {
			_, id, err := domain.ParseEntryName(name)
			if err == nil {
				v.out.Entries[id] = append(v.out.Entries[id], node)
			}
			return err == nil
		}))
	}
	return err
}

func (v *surveyor) promised(ctx context.Context) error {
	return v.each(ctx, "/space", func(name, node string) bool {
		id, err := domain.ParseJobID(name)
		if err == nil {
			v.out.Promises[id] = []string{node}
		}
		return err == nil
	})
}

func (v *surveyor) batches(ctx context.Context) error {
	err := v.each(ctx, "/batches", func(name, _ string) bool {
		id, err := domain.ParseBatchID(name)
		if err == nil {
			v.out.Batches = append(v.out.Batches, id)
		}
		return err == nil
	})
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(surveyParallel)
	for _, id := range v.out.Batches {
		g.Go(func() error { return v.refs(gctx, id) })
	}
	return cmp.Or(err, g.Wait())
}

func (v *surveyor) refs(ctx context.Context, id domain.BatchID) error {
	for _, sub := range domain.Subs {
		names, err := v.conn.List(ctx, v.root.Sub(id, sub))
		if err != nil {
			return err
		}
		slices.Sort(names)
		v.mu.Lock()
		for _, name := range names {
			node := v.root.Name(v.root.Sub(id, sub)) + "/" + name
			if job, bad := domain.ParseJobID(name); bad == nil {
				v.out.Refs[job] = append(v.out.Refs[job], node)
			} else {
				v.out.Odd[id] = append(v.out.Odd[id], node)
			}
		}
		v.mu.Unlock()
	}
	return nil
}

func (v *surveyor) settings(ctx context.Context) error {
	add := func(a domain.Aggregate) bool {
		if !slices.Contains(v.out.Settings, a) {
			v.out.Settings = append(v.out.Settings, a)
		}
		return true
	}
	err := v.each(ctx, "/config/versions", func(name, _ string) bool {
		kind, _, ok := strings.Cut(name, ":")
		return ok && kind != "" && add(domain.Aggregate{Kind: domain.KindSetting, ID: name})
	})
	for _, kind := range []domain.HoldKind{domain.HoldCollection, domain.HoldQueue} {
		err = cmp.Or(err, v.each(ctx, v.root.Name(v.root.Holds(kind)), func(name, _ string) bool { return add(domain.SettingAggregate(kind, name)) }))
	}
	return err
}
