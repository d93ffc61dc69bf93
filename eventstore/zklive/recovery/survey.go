package recovery

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
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
		Objects: map[domain.JobID][]string{}, Unnamed: map[domain.BatchID][]string{}, Tickets: map[domain.BatchID][]string{}, QueryTickets: map[domain.QueryID][]string{},
		ComputeNodes: map[compute.ID][]string{}}}
	for _, step := range []func(context.Context) error{x.Sync, v.beside, v.outbox, v.sessions, v.jobs, v.queries, v.queues, v.promised, v.objects, v.batches, v.tickets, v.settings, v.entries} {
		if err := step(ctx); err != nil {
			return nil, &eventstore.Error{Op: "survey the tree", Err: err}
		}
	}
	slices.Sort(v.out.Strays)
	slices.Sort(v.out.Foreign)
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

// foreign finds the children of a directory that are not known. They are not strays: a
// newer program may have made them.
func (v *surveyor) foreign(ctx context.Context, dir string, known func(name, path string) (bool, error)) error {
	names, err := v.conn.List(ctx, dir)
	for _, name := range names {
		path := dir + "/" + name
		is, err := known(name, path)
		if err != nil {
			return err
		}
		if !is {
			v.out.Foreign = append(v.out.Foreign, v.root.Name(path))
		}
	}
	return err
}

// beside finds nodes beside the documented ones. A tree at the root of the server may
// have others beside it.
func (v *surveyor) beside(ctx context.Context) error {
	documented := map[string]bool{}
	for _, path := range v.root.Documented() {
		documented[path] = true
	}
	dirs := []string{v.root.Config(), v.root.NextIDs(), v.root.Locks(), v.root.DepositQueues(), v.root.Compute()}
	for _, queue := range domain.DepositQueues {
		dirs = append(dirs, v.root.DepositQueue(queue), v.root.QueueConfig(queue))
	}
	if v.root != "" {
		dirs = append(dirs, string(v.root))
	}
	for _, dir := range dirs {
		if err := v.foreign(ctx, dir, func(_, path string) (bool, error) { return documented[path], nil }); err != nil {
			return err
		}
	}
	return nil
}

// outbox finds nodes beside the shards of the outbox, and beside their buckets and marks.
func (v *surveyor) outbox(ctx context.Context) error {
	var shards []string
	err := v.foreign(ctx, v.root.Outbox(), func(name, path string) (bool, error) {
		n, err := strconv.Atoi(name)
		is := err == nil && v.root.Shard(n) == path
		if is {
			shards = append(shards, path)
		}
		return is, nil
	})
	for _, shard := range shards {
		err = cmp.Or(err, v.foreign(ctx, shard, func(name, _ string) (bool, error) {
			_, bucket := layout.ParseBucket(name)
			return bucket || name == "mark", nil
		}))
	}
	return err
}

// sessions finds nodes among the workers, the leads and the permits that end with no session: one
// would count for ever.
func (v *surveyor) sessions(ctx context.Context) error {
	for _, dir := range []string{v.root.Workers(), v.root.Leaders(), v.root.Hosts()} {
		err := v.foreign(ctx, dir, func(_, path string) (bool, error) {
			stat, err := v.conn.Exists(ctx, path)
			return stat == nil || stat.EphemeralOwner != 0, err
		})
		if err != nil {
			return err
		}
	}
	return nil
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

func (v *surveyor) queries(ctx context.Context) error {
	return v.each(ctx, "/queries", func(name, _ string) bool {
		id, err := domain.ParseQueryID(name)
		if err == nil {
			v.out.Queries = append(v.out.Queries, id)
		}
		return err == nil
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
		_, ofFile := layout.ParseFilePromise(name) // it ends with its session
		return err == nil || ofFile
	})
}

func (v *surveyor) objects(ctx context.Context) error {
	dirs := v.root.ObjectDirs()
	err := v.each(ctx, v.root.Name(v.root.Objects()), func(_, node string) bool { return slices.Contains(dirs, v.root.At(node)) })
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(surveyParallel)
	for _, dir := range dirs {
		g.Go(func() error {
			names, err := v.conn.List(gctx, dir)
			v.mu.Lock()
			defer v.mu.Unlock()
			for _, name := range names {
				node := v.root.Name(dir) + "/" + name
				if key, id, ok := layout.ParseObjectEntry(name); ok && v.root.ObjectDir(key) == dir {
					v.out.Objects[id] = append(v.out.Objects[id], node)
				} else {
					v.out.Strays = append(v.out.Strays, node)
				}
			}
			return err
		})
	}
	return cmp.Or(err, g.Wait())
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
				v.out.Unnamed[id] = append(v.out.Unnamed[id], node)
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
	if stat, there := v.conn.Exists(ctx, v.root.Timeouts()); stat != nil {
		add(domain.SettingAggregate(domain.SettingTimeouts, domain.TimeoutsFiles))
	} else {
		err = cmp.Or(err, there)
	}
	for _, kind := range []domain.SettingKind{domain.HoldCollection, domain.HoldQueue} {
		err = cmp.Or(err, v.each(ctx, v.root.Name(v.root.Holds(kind)), func(name, _ string) bool {
			return domain.CheckHoldName(kind, name) == nil && add(domain.SettingAggregate(kind, name))
		}))
	}
	for _, kind := range []domain.SettingKind{domain.SettingProfile, domain.SettingDataset, domain.SettingDiscovery} {
		err = cmp.Or(err, v.each(ctx, v.root.Name(v.root.Directory(kind)), func(name, _ string) bool {
			return domain.CheckHoldName(kind, name) == nil && add(domain.SettingAggregate(kind, name))
		}))
	}
	for _, queue := range domain.DepositQueues {
		err = cmp.Or(err, v.queueSettings(ctx, queue, add))
	}
	return err
}

// queueSettings adds the settings of a deposit queue whose values are there.
func (v *surveyor) queueSettings(ctx context.Context, queue string, add func(domain.Aggregate) bool) error {
	nodes, dirs := v.root.QueueSettings(queue)
	for _, node := range nodes {
		stat, err := v.conn.Exists(ctx, node)
		if err != nil {
			return err
		}
		if a, ok := layout.QueueSetting(queue, "", path.Base(node)); stat != nil && ok {
			add(a)
		}
	}
	for _, dir := range dirs {
		err := v.each(ctx, v.root.Name(dir), func(name, _ string) bool {
			a, ok := layout.QueueSetting(queue, path.Base(dir), name)
			return ok && add(a)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
