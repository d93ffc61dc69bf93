package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/internal/crash"
)

// Conn is a connection to ZooKeeper. Its calls end when their context ends; those of
// the client library take no context. Unless documented otherwise, reads and writes are
// repeated until the server answers. It is safe for concurrent use.
type Conn struct {
	root layout.Root
	conn *zk.Conn

	mu   sync.Mutex // of spawn
	ctx  context.Context
	stop context.CancelFunc
	done sync.WaitGroup
	sent pending // by TryMulti
}

// Context ends when the connection is closed.
func (c *Conn) Context() context.Context { return c.ctx }

// Spawn starts a goroutine that the end of the connection waits for; none is started
// after that.
func (c *Conn) Spawn(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() == nil {
		c.done.Go(f)
	}
}

// Answered reports whether err is a reply of the server, which means that the operation
// was refused.
func Answered(err error) bool {
	return slices.ContainsFunc([]error{zk.ErrNoNode, zk.ErrBadVersion, zk.ErrNodeExists, zk.ErrNotEmpty, zk.ErrNoAuth,
		zk.ErrInvalidACL, zk.ErrNoChildrenForEphemerals, zk.ErrBadArguments}, func(answer error) bool { return errors.Is(err, answer) })
}

// Retry repeats f, with pauses of 10 ms that grow to a second, until it succeeds, the
// server answers it, its error is [Final], the connection is closed or ctx ends.
func Retry[T any](ctx context.Context, f func() (T, error)) (T, error) {
	v, err := f()
	if err != nil {
		return retry(ctx, v, err, f)
	}
	return v, nil
}

// retry goes on after a first call of f that returned v and err.
func retry[T any](ctx context.Context, v T, err error, f func() (T, error)) (T, error) {
	first := true
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.Multiplier, pause.MaxInterval = 10*time.Millisecond, 2, time.Second
	return backoff.Retry(ctx, func() (T, error) {
		if !first {
			v, err = f()
		}
		first = false
		if err != nil && (Answered(err) || errors.Is(err, zk.ErrClosing)) {
			err = Final(err)
		}
		return v, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0))
}

// Final makes an error one that [Retry] returns.
func Final(err error) error { return backoff.Permanent(err) }

// Within runs one call, which takes no context, until it returns or ctx ends.
func Within[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	ch := make(chan answer, 1)
	go func() { v, err := f(); ch <- answer{v, err} }()
	select {
	case a := <-ch:
		return a.v, a.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}

// ask repeats a call until the server answers it or ctx ends.
func ask[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return Retry(ctx, func() (T, error) { return Within(ctx, f) })
}

// View is the result of reading a node.
type View struct {
	Data  []byte
	Names []string // of its children
	Stat  *zk.Stat // nil = it does not exist, for Exists and WatchExists
	Watch <-chan zk.Event
}

// Get returns a node's data and stat.
func (c *Conn) Get(ctx context.Context, path string) (View, error) {
	return ask(ctx, func() (v View, err error) { v.Data, v.Stat, err = c.conn.Get(path); return v, err })
}

// Find is like Get for a node that need not exist: nil = it does not, or there is an error.
func (c *Conn) Find(ctx context.Context, path string) (*View, error) {
	n, err := c.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	return &n, nil
}

// Children returns a node's children and its own stat.
func (c *Conn) Children(ctx context.Context, path string) (View, error) {
	return ask(ctx, func() (v View, err error) { v.Names, v.Stat, err = c.conn.Children(path); return v, err })
}

// WatchData returns a node's data with a watch.
func (c *Conn) WatchData(ctx context.Context, path string) (View, error) {
	return ask(ctx, func() (v View, err error) { v.Data, v.Stat, v.Watch, err = c.conn.GetW(path); return v, err })
}

// WatchChildren returns a node's children with a watch.
func (c *Conn) WatchChildren(ctx context.Context, path string) (View, error) {
	return ask(ctx, func() (v View, err error) { v.Names, v.Stat, v.Watch, err = c.conn.ChildrenW(path); return v, err })
}

// WatchExists returns a node's stat, nil if it does not exist, with a watch.
func (c *Conn) WatchExists(ctx context.Context, path string) (View, error) {
	return ask(ctx, func() (v View, err error) {
		var there bool
		if there, v.Stat, v.Watch, err = c.conn.ExistsW(path); !there {
			v.Stat = nil
		}
		return v, err
	})
}

// Exists returns a node's stat, nil without an error when it is not there.
func (c *Conn) Exists(ctx context.Context, path string) (*zk.Stat, error) {
	return ask(ctx, func() (*zk.Stat, error) {
		there, stat, err := c.conn.Exists(path)
		if err != nil || !there {
			return nil, err
		}
		return stat, nil
	})
}

// List returns the names of a node's children, none when it is not there.
func (c *Conn) List(ctx context.Context, path string) ([]string, error) {
	v, err := c.Children(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	return v.Names, err
}

// Count returns how many children a node has, 0 when it is not there.
func (c *Conn) Count(ctx context.Context, path string) (int, error) {
	stat, err := c.Exists(ctx, path)
	if err != nil || stat == nil {
		return 0, err
	}
	return int(stat.NumChildren), nil
}

// GetJSON reads a node into v. Damaged data is eventstore.ErrBroken.
func (c *Conn) GetJSON(ctx context.Context, path string, v any) (*zk.Stat, error) {
	n, err := c.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(n.Data, v); err != nil {
		return nil, &eventstore.Error{Op: "read " + path, Err: errors.Join(eventstore.ErrBroken, err),
			Hint: "the node's data is damaged"}
	}
	return n.Stat, nil
}

// Sync makes the reads that follow see what any process wrote before.
func (c *Conn) Sync(ctx context.Context) error {
	_, err := ask(ctx, func() (string, error) { return c.conn.Sync(cmp.Or(string(c.root), "/")) })
	return err
}

// HeldBy reports whether a lock, a permit or the node of a lead holds a worker's id, once every
// TryMulti that began before has its outcome.
func (c *Conn) HeldBy(ctx context.Context, path, worker string) (bool, error) {
	err := c.sent.Flush(ctx)
	if err == nil {
		err = c.Sync(ctx)
	}
	if err != nil {
		return false, err
	}
	var h layout.Holder
	_, err = c.GetJSON(ctx, path, &h)
	if errors.Is(err, zk.ErrNoNode) {
		return false, nil
	}
	return h.Holder == worker, err
}

// Multi applies operations together. Name is that of the crash points around it.
func (c *Conn) Multi(ctx context.Context, name string, ops layout.Ops) ([]zk.MultiResponse, error) {
	return Retry(ctx, func() ([]zk.MultiResponse, error) { return c.TryMulti(ctx, name, ops) })
}

// TryMulti is like Multi, but sends the request once: without an answer the outcome is
// unknown. When ctx ends the request may not even have left; HeldBy waits for it.
func (c *Conn) TryMulti(ctx context.Context, name string, ops layout.Ops) ([]zk.MultiResponse, error) {
	r := &Request{}
	c.sent.begin(r)
	return Within(ctx, func() ([]zk.MultiResponse, error) {
		defer c.sent.end(r)
		return c.multi(name, ops, nil)
	})
}

// multi sends the operations, and more of them, as one request.
func (c *Conn) multi(name string, ops, more layout.Ops) (answers []zk.MultiResponse, err error) {
	requests := make([]any, 0, len(ops)+len(more))
	for _, list := range [...]layout.Ops{ops, more} {
		for i := range list {
			requests = append(requests, request(&list[i]))
		}
	}
	err = crash.Around(name, func() (err error) { answers, err = c.conn.Multi(requests...); return err })
	return answers, err
}

var acl = zk.WorldACL(zk.PermAll)

// flags are the flags of the kinds of creates.
var flags = [...]int32{layout.CreateEphemeral: zk.FlagEphemeral, layout.CreateSequential: zk.FlagSequence}

// request returns an operation in the form of the client library.
func request(op *layout.Op) any {
	switch op.Kind {
	case layout.Check:
		return &zk.CheckVersionRequest{Path: op.Path, Version: op.Version}
	case layout.Set:
		return &zk.SetDataRequest{Path: op.Path, Data: op.Data, Version: op.Version}
	case layout.Delete:
		return &zk.DeleteRequest{Path: op.Path, Version: op.Version}
	default:
		return &zk.CreateRequest{Path: op.Path, Data: op.Data, Acl: acl, Flags: flags[op.Kind]}
	}
}

// Set writes a node's data.
func (c *Conn) Set(ctx context.Context, name, path string, data []byte, version int32) (*zk.Stat, error) {
	return ask(ctx, func() (stat *zk.Stat, err error) {
		err = crash.Around(name, func() (err error) { stat, err = c.conn.Set(path, data, version); return err })
		return stat, err
	})
}

// Remove deletes a node.
func (c *Conn) Remove(ctx context.Context, name, path string) error {
	_, err := ask(ctx, func() (struct{}, error) {
		return struct{}{}, crash.Around(name, func() error { return c.conn.Delete(path, layout.Any) })
	})
	return err
}

// Ensure makes a node unless it is there.
func (c *Conn) Ensure(ctx context.Context, path string, data []byte) error {
	stat, err := c.Exists(ctx, path)
	if err != nil || stat != nil {
		return err
	}
	_, err = ask(ctx, func() (struct{}, error) {
		return struct{}{}, crash.Around("zklive/tree/make-node", func() error { _, err := c.conn.Create(path, data, 0, acl); return err })
	})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

// Add adds n to the number in a node and returns the number before. If an outcome is
// unknown it adds again. It refuses a sum beyond the limit.
func (c *Conn) Add(ctx context.Context, name, path string, n, limit int64) (int64, error) {
	for {
		var now int64
		stat, err := c.GetJSON(ctx, path, &now)
		if err == nil && now+n > limit {
			err = fmt.Errorf("%s is used up: %w", path, eventstore.ErrBroken)
		}
		if err == nil {
			_, err = c.Set(ctx, name, path, layout.Encode(now+n), stat.Version)
		}
		if !errors.Is(err, zk.ErrBadVersion) {
			return now, err
		}
	}
}

// deleteAtOnce is how many nodes one multi deletes.
const deleteAtOnce = maxOps / 2

// DeleteAll removes nodes in this order, many in each multi. A node that does not exist
// is no error.
func (c *Conn) DeleteAll(ctx context.Context, name string, paths []string) error {
	for part := range slices.Chunk(paths, deleteAtOnce) {
		_, err := c.Multi(ctx, name, layout.RemoveNodes(part))
		if err == nil {
			continue
		}
		if !Answered(err) {
			return err
		}
		for _, path := range part { // a node was changed meanwhile: delete one by one
			_, err := ask(ctx, func() (struct{}, error) { return struct{}{}, c.conn.Delete(path, layout.Any) })
			if err != nil && !errors.Is(err, zk.ErrNoNode) {
				return err
			}
		}
	}
	return nil
}

// treeParallel is how many nodes are listed at once.
const treeParallel = 32

// Tree returns a node and all nodes below it, parents first; none if it does not exist.
func (c *Conn) Tree(ctx context.Context, path string) ([]string, error) {
	var all []string
	for level := []string{path}; len(level) > 0; {
		found, below := make([][]string, len(level)), make([][]string, len(level))
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(treeParallel)
		for i, node := range level {
			g.Go(func() error {
				v, err := c.Children(gctx, node)
				if errors.Is(err, zk.ErrNoNode) {
					return nil
				}
				found[i] = []string{node}
				for _, n := range v.Names {
					below[i] = append(below[i], node+"/"+n)
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
		all, level = slices.Concat(all, slices.Concat(found...)), slices.Concat(below...)
	}
	return all, nil
}

// Destroy removes a node and all below it, children first. A node that does not exist
// is no error.
func (c *Conn) Destroy(ctx context.Context, path string) error {
	all, err := c.Tree(ctx, path)
	if err != nil {
		return err
	}
	slices.Reverse(all)
	return c.DeleteAll(ctx, "zklive/destroy/part", all)
}
