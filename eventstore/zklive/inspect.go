package zklive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

var (
	_ eventstore.Inspector = (*Store)(nil)
	_ eventstore.Layout    = (*Store)(nil)
)

// belowLimit is how many nodes below one that should have none are looked at; what is
// more shows when these are removed.
const belowLimit = 200

// inspectParallel is how many nodes of one aggregate are read at once.
const inspectParallel = 8

// Sync implements eventstore.Inspector.
func (s *Store) Sync(ctx context.Context) error {
	_, err := read(ctx, func() (string, error) { return s.conn.Sync(cmp.Or(string(s.paths), "/")) })
	return err
}

// Below implements eventstore.Inspector.
func (s *Store) Below(ctx context.Context, node string, limit int) (all []string, err error) {
	names, _, err := s.children(ctx, s.paths.at(node))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, n := range names {
		if err != nil || len(all) >= limit {
			return all, err
		}
		var more []string
		more, err = s.Below(ctx, node+"/"+n, limit-len(all))
		all = append(all, more...)
	}
	if err == nil && len(all) < limit {
		all = append(all, node)
	}
	return all, err
}

// name gives a node's name below the root.
func (p paths) name(path string) string { return strings.TrimPrefix(path, string(p)) }

// picture gives an image as the port has it.
func (p paths) picture(img image) eventstore.Nodes {
	out := make(eventstore.Nodes, len(img))
	for path, data := range img {
		out[p.name(path)] = string(data)
	}
	return out
}

// ExpectedJob implements eventstore.Inspector.
func (s *Store) ExpectedJob(j domain.Job) eventstore.Nodes {
	return s.paths.picture(s.paths.wholeJob(j))
}

// wholeJob is the job's image with the node that counts claims, without its data.
func (p paths) wholeJob(j domain.Job) image {
	img := p.jobImage(j)
	if len(img) > 0 {
		img[p.claims(j.ID)] = nil
	}
	return img
}

// ExpectedBatch implements eventstore.Inspector.
func (s *Store) ExpectedBatch(b domain.Batch) eventstore.Nodes {
	return s.paths.picture(s.paths.batchImage(b))
}

// ExpectedSetting implements eventstore.Inspector.
func (s *Store) ExpectedSetting(set domain.Setting) eventstore.Nodes {
	return s.paths.picture(s.paths.settingImage(set))
}

// settingImage gives the nodes of a setting: its version, and its hold.
func (p paths) settingImage(set domain.Setting) image {
	img := image{}
	if set.Version > 0 {
		img[p.settingVersion(set.Aggregate())] = []byte(strconv.FormatInt(set.Version, 10))
	}
	if set.Hold != nil {
		img[p.hold(set.Kind, set.Name)] = encode(set.Hold)
	}
	return img
}

// seen is what tells whether a node changed between two looks.
type seen struct {
	created int64
	version int32
}

func (s *Store) seen(ctx context.Context, paths ...string) ([2]seen, error) {
	var all [2]seen
	for i, path := range paths {
		stat, err := s.exists(ctx, path)
		if err != nil {
			return all, err
		}
		if stat != nil {
			all[i] = seen{stat.Czxid, stat.Version}
		}
	}
	return all, nil
}

// inspector reads one aggregate.
type inspector struct {
	s    *Store
	mu   sync.Mutex
	look eventstore.Observed
}

// steady looks again and again until nothing moved meanwhile: every write to an
// aggregate also writes one of these nodes.
func (s *Store) steady(ctx context.Context, a domain.Aggregate, look func(context.Context, *inspector) error, moves ...string) (eventstore.Observed, error) {
	for {
		before, err := s.seen(ctx, moves...)
		if err != nil {
			return eventstore.Observed{}, err
		}
		in := &inspector{s: s, look: eventstore.Observed{Aggregate: a, Nodes: eventstore.Nodes{}, Token: eventstore.Token(before[0].version)}}
		if err := look(ctx, in); err != nil {
			return in.look, err
		}
		after, err := s.seen(ctx, moves...)
		if err != nil || before == after {
			return in.look, err
		}
		if ctx.Err() != nil {
			return in.look, ctx.Err()
		}
	}
}

// InspectJob implements eventstore.Inspector.
func (s *Store) InspectJob(ctx context.Context, id domain.JobID, also ...string) (eventstore.Observed, error) {
	return s.steady(ctx, id.Aggregate(), func(ctx context.Context, in *inspector) error {
		dir := s.paths.job(id)
		if err := in.directory(ctx, dir); err != nil {
			return err
		}
		j := domain.Job{ID: id}
		var status jobStatus
		if json.Unmarshal([]byte(in.look.Nodes[s.paths.name(dir)+"/status"]), &status) == nil {
			in.look.Version = status.Version
			status.apply(&j)
		}
		if _, there := in.look.Nodes[s.paths.name(s.paths.claims(id))]; there {
			in.look.Nodes[s.paths.name(s.paths.claims(id))] = ""
		}
		bad := json.Unmarshal([]byte(in.look.Nodes[s.paths.name(dir)+"/priority"]), &j.Priority)
		bad = cmp.Or(bad, json.Unmarshal([]byte(in.look.Nodes[s.paths.name(dir)+"/configuration"]), &j.Configuration))
		if bad == nil {
			for node := range s.ExpectedJob(j) {
				if _, known := in.look.Nodes[node]; !known {
					also = append(also, node)
				}
			}
		}
		return in.also(ctx, also)
	}, s.paths.jobStatus(id))
}

// InspectBatch implements eventstore.Inspector.
func (s *Store) InspectBatch(ctx context.Context, id domain.BatchID, also ...string) (eventstore.Observed, error) {
	return s.steady(ctx, id.Aggregate(), func(ctx context.Context, in *inspector) error {
		if err := in.directory(ctx, s.paths.batch(id)); err != nil {
			return err
		}
		if _, there := in.look.Nodes[s.paths.name(s.paths.states(id))]; there {
			if err := in.directory(ctx, s.paths.states(id)); err != nil {
				return err
			}
		}
		var status batchStatus
		if json.Unmarshal([]byte(in.look.Nodes[s.paths.name(s.paths.batchStatus(id))]), &status) == nil {
			in.look.Version = status.Version
		}
		var prog progress
		if json.Unmarshal([]byte(in.look.Nodes[s.paths.name(s.paths.progress(id))]), &prog) == nil {
			in.look.NextRow = prog.NextRow
		}
		return in.also(ctx, also)
	}, s.paths.batchStatus(id), s.paths.progress(id))
}

// InspectSetting implements eventstore.Inspector.
func (s *Store) InspectSetting(ctx context.Context, a domain.Aggregate) (eventstore.Observed, error) {
	kind, name, _ := strings.Cut(a.ID, ":")
	version := s.paths.settingVersion(a)
	return s.steady(ctx, a, func(ctx context.Context, in *inspector) error {
		also := []string{s.paths.name(version)}
		if k := domain.HoldKind(kind); k == domain.HoldCollection || k == domain.HoldQueue {
			also = append(also, s.paths.name(s.paths.hold(k, name)))
		}
		if err := in.also(ctx, also); err != nil {
			return err
		}
		in.look.Version, _ = strconv.ParseInt(in.look.Nodes[s.paths.name(version)], 10, 64)
		return nil
	}, version)
}

// directory reads a node and its children; one that is gone has none.
func (in *inspector) directory(ctx context.Context, dir string) error {
	names, _, err := in.s.children(ctx, dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	in.look.Dir = true
	nodes := []string{in.s.paths.name(dir)}
	for _, n := range names {
		if n == "lock" {
			if err := in.lock(ctx, dir+"/lock"); err != nil {
				return err
			}
			continue
		}
		nodes = append(nodes, in.s.paths.name(dir)+"/"+n)
	}
	return in.also(ctx, nodes)
}

// also reads further nodes, of which some may not be there, and what stands below
// those that should have nothing below them.
func (in *inspector) also(ctx context.Context, nodes []string) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(inspectParallel)
	for _, node := range nodes {
		g.Go(func() error {
			n, err := in.s.get(gctx, in.s.paths.at(node))
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			if err != nil {
				return err
			}
			in.mu.Lock()
			in.look.Nodes[node] = string(n.data)
			in.mu.Unlock()
			if n.stat.NumChildren == 0 || in.holds(node) {
				return nil
			}
			return in.below(gctx, node)
		})
	}
	return g.Wait()
}

// holds reports whether a node of the aggregate has others below it that are looked
// at by their own names.
func (in *inspector) holds(node string) bool {
	p, a := in.s.paths, in.look.Aggregate
	switch a.Kind {
	case domain.KindJob:
		return node == p.name(p.job(domain.JobID(a.ID)))
	case domain.KindBatch:
		id := domain.BatchID(a.ID)
		return node == p.name(p.batch(id)) || node == p.name(p.states(id)) ||
			slices.ContainsFunc(domain.Subs, func(sub domain.Sub) bool { return node == p.name(p.sub(id, sub)) })
	}
	return false
}

// below adds what stands below a node, without data. Of more than can be looked at
// the node itself stays away: it can only go after them.
func (in *inspector) below(ctx context.Context, node string) error {
	all, err := in.s.Below(ctx, node, belowLimit)
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, n := range all {
		if n != node {
			in.look.Nodes[n] = ""
		}
	}
	if len(all) == belowLimit {
		delete(in.look.Nodes, node)
	}
	return err
}

// lock reads a lock, then whether its holder lives, then that it is still the same
// lock: both go in one moment when a session ends.
func (in *inspector) lock(ctx context.Context, path string) error {
	n, err := in.s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	var h holder
	l := &eventstore.ObservedLock{Node: in.s.paths.name(path), Created: n.stat.Czxid, Version: n.stat.Version}
	if json.Unmarshal(n.data, &h) == nil {
		l.Holder = h.Holder
	}
	if l.Holder != "" && !strings.Contains(l.Holder, "/") {
		stat, err := in.s.exists(ctx, in.s.paths.worker(l.Holder))
		if err != nil {
			return err
		}
		l.Alive = stat != nil && n.stat.EphemeralOwner != 0 && stat.EphemeralOwner == n.stat.EphemeralOwner
	}
	again, err := in.s.exists(ctx, path)
	if err == nil && again != nil && again.Czxid == l.Created {
		in.look.Lock = l
	}
	return err
}

// SeizeLock implements eventstore.Inspector. A lock that was never written to has
// version 0, as every new one has; written to, it can be told from those.
func (s *Store) SeizeLock(ctx context.Context, look *eventstore.Observed) error {
	l, path := look.Lock, ""
	refused := &eventstore.Error{Op: "break the lock of", Aggregate: look.Aggregate, Err: eventstore.ErrLocked}
	if l == nil || l.Alive {
		return refused
	}
	path = s.paths.at(l.Node)
	crash.Point("zklive/repair/before-seize-lock")
	stat, err := read(ctx, func() (*zk.Stat, error) { return s.conn.Set(path, encode(holder{l.Holder}), l.Version) })
	crash.Point("zklive/repair/after-seize-lock")
	if err != nil && !answered(err) {
		return err
	}
	if err != nil || stat.Czxid != l.Created {
		return refused
	}
	l.Version = stat.Version
	return nil
}
