package zklive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// prepare makes what is missing of the tree, unless it is lost or being restored.
func (s *Store) prepare(ctx context.Context) error {
	if err := s.fresh(ctx); err != nil {
		return err
	}
	if err := s.makeTree(ctx); err != nil {
		return s.unopened(err)
	}
	err := s.whole(ctx)
	if err == nil {
		s.outbox, err = newOutboxState(ctx, s)
	}
	return err
}

// unopened is the error of who cannot read or make the tree.
func (s *Store) unopened(err error) error {
	return &eventstore.Error{Op: "open zookeeper " + strings.Join(s.cfg.Servers, ","), Err: err,
		Hint: "is it running, and may this process write below " + s.cfg.Root + "/?"}
}

// makeTree makes the directories that everything else stands in. Each is made on
// its own; a process that dies in between is finished by the next.
func (s *Store) makeTree(ctx context.Context) error {
	p := s.paths
	var dirs []string
	for i := range p {
		if i > 0 && p[i] == '/' {
			dirs = append(dirs, string(p[:i]))
		}
	}
	if p != "" {
		dirs = append(dirs, string(p))
	}
	for _, d := range []string{"/batches", "/jobs", "/jobs/states", "/outbox", "/workers", "/leaders", "/ids",
		"/space", "/locks", "/locks/collections", "/locks/queue", "/config", "/config/versions"} {
		dirs = append(dirs, p.at(d))
	}
	for _, st := range domain.JobStates {
		dirs = append(dirs, p.queue(st))
	}
	for _, d := range dirs {
		if err := s.ensure(ctx, d, nil); err != nil {
			return err
		}
	}
	for name, v := range map[string]any{p.epoch(): 1, p.ids("bid"): 1, p.ids("jid"): 1} {
		if err := s.ensure(ctx, name, encode(v)); err != nil {
			return err
		}
	}
	return nil
}

// ensure makes a node unless it is there.
func (s *Store) ensure(ctx context.Context, path string, data []byte) error {
	stat, err := s.exists(ctx, path)
	if err != nil || stat != nil {
		return err
	}
	crash.Point("zklive/tree/before-make-node")
	_, err = read(ctx, func() (string, error) { return s.conn.Create(path, data, 0, acl) })
	crash.Point("zklive/tree/after-make-node")
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// ReserveBatchID implements eventstore.Catalog.
func (s *Store) ReserveBatchID(ctx context.Context) (domain.BatchID, error) {
	n, err := s.reserve(ctx, "bid", 1)
	return domain.NewBatchID(n), err
}

// ReserveJobIDs implements eventstore.Catalog.
func (s *Store) ReserveJobIDs(ctx context.Context, n int) (domain.JobID, error) {
	first, err := s.reserve(ctx, "jid", n)
	return domain.NewJobID(first), err
}

// reserve takes n numbers by one versioned write. When its outcome is unknown
// the numbers are left unused, never used twice.
func (s *Store) reserve(ctx context.Context, name string, n int) (int64, error) {
	path := s.paths.ids(name)
	for {
		cur, err := s.get(ctx, path)
		if err != nil {
			return 0, &eventstore.Error{Op: "reserve ids", Err: err}
		}
		var next int64
		if err := json.Unmarshal(cur.data, &next); err != nil {
			return 0, &eventstore.Error{Op: "reserve ids", Err: errors.Join(eventstore.ErrBroken, err), Hint: path + " must hold a number"}
		}
		if next+int64(n)-1 > domain.MaxID {
			return 0, &eventstore.Error{Op: "reserve ids", Err: eventstore.ErrBroken, Hint: fmt.Sprintf("%s is used up", path)}
		}
		crash.Point("zklive/ids/before-reserve")
		_, err = read(ctx, func() (*zk.Stat, error) {
			return s.conn.Set(path, encode(next+int64(n)), cur.stat.Version)
		})
		crash.Point("zklive/ids/after-reserve")
		if err == nil {
			return next, nil
		}
		if !errors.Is(err, zk.ErrBadVersion) {
			return 0, &eventstore.Error{Op: "reserve ids", Err: err}
		}
	}
}

// Overview tells an operator what is going on.
func (s *Store) Overview(ctx context.Context) (o eventstore.Overview, err error) {
	if o.Queues, err = s.queued(ctx); err != nil {
		return o, err
	}
	names, _, err := s.children(ctx, s.paths.at("/workers"))
	if err != nil {
		return o, err
	}
	for _, n := range names {
		var w eventstore.WorkerInfo
		if _, err := s.getJSON(ctx, s.paths.worker(n), &w); errors.Is(err, zk.ErrNoNode) {
			continue
		} else if err != nil {
			return o, err
		}
		o.Workers = append(o.Workers, w)
	}
	if o.Outbox, err = s.Depth(ctx); err != nil {
		return o, err
	}
	_, err = s.getJSON(ctx, s.paths.epoch(), &o.Epoch)
	return o, err
}

// Destroy removes the whole tree below the root. It is for tests and for the
// operator who starts over.
func (s *Store) Destroy(ctx context.Context) error { return s.destroy(ctx, string(s.paths)) }

// destroy removes a node and all below it, in bounded multis, children first. What
// is gone already, or goes meanwhile, is no error.
func (s *Store) destroy(ctx context.Context, path string) error {
	all, err := s.below(ctx, path)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	for part := range slices.Chunk(all, maxOps/2) {
		p := &plan{}
		for _, node := range part {
			p.delete(node, -1, nil)
		}
		crash.Point("zklive/destroy/before-part")
		_, err := read(ctx, func() ([]zk.MultiResponse, error) { return s.conn.Multi(p.ops...) })
		crash.Point("zklive/destroy/after-part")
		if err != nil && !answered(err) {
			return err
		}
		for i := 0; err != nil && i < len(part); i++ { // something moved: one by one
			_, derr := read(ctx, func() (struct{}, error) { return struct{}{}, s.conn.Delete(part[i], -1) })
			if derr != nil && !errors.Is(derr, zk.ErrNoNode) {
				return derr
			}
		}
	}
	return nil
}

// belowParallel is how many nodes are listed at once.
const belowParallel = 32

// below lists a node and all below it, level by level.
func (s *Store) below(ctx context.Context, path string) ([]string, error) {
	var all []string
	for level := []string{path}; len(level) > 0; {
		found := make([][]string, len(level))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(belowParallel)
		for i, node := range level {
			g.Go(func() error {
				names, _, err := s.children(gctx, node)
				if errors.Is(err, zk.ErrNoNode) {
					return nil
				}
				found[i] = append(found[i], node)
				for _, n := range names {
					found[i] = append(found[i], node+"/"+n)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		level = nil
		for _, f := range found {
			if len(f) > 0 {
				all = append(all, f[0])
				level = append(level, f[1:]...)
			}
		}
	}
	return all, nil
}

// Dump gives every node below path with its data and whether it is ephemeral,
// names relative to the root. It is for tests, verify and support.
func (s *Store) Dump(ctx context.Context, path string) (map[string]Node, error) {
	out := map[string]Node{}
	return out, s.dump(ctx, s.paths.at(path), out)
}

// Node is one node of a dump.
type Node struct {
	Data      string
	Ephemeral bool
}

func (s *Store) dump(ctx context.Context, path string, out map[string]Node) error {
	n, err := s.get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	out[strings.TrimPrefix(path, string(s.paths))] = Node{Data: string(n.data), Ephemeral: n.stat.EphemeralOwner != 0}
	names, _, err := s.children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range names {
		if err := s.dump(ctx, strings.TrimSuffix(path, "/")+"/"+c, out); err != nil {
			return err
		}
	}
	return nil
}
