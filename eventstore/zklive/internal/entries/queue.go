// Package entries follows the compute queue in the tree, and chooses which entry a worker
// takes.
package entries

import (
	"context"
	"errors"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

const (
	// pollEvery is how often a worker that waits looks whether the queue has changed.
	pollEvery = time.Second
	// listEvery is the least time between two listings of the entries that wait, unless they are
	// few and a worker has nothing to take.
	listEvery = 5 * time.Second
	few       = 1000
)

// Holds returns the holds, once no pause stops claims in a queue.
type Holds func(ctx context.Context, queue string) (eventstore.Holds, error)

// Entries implements eventstore.Entries but for the ids of new entries.
type Entries struct {
	session *session.Session
	root    layout.Root
	holds   Holds
	log     *slog.Logger

	mu      sync.Mutex
	queue   compute.Queue
	taking  map[int64]bool // a write of this process is under way
	changed chan struct{}  // closed when something may be there to take

	listed   time.Time // when the entries that wait were listed, zero = never
	looked   time.Time // when it was looked whether they have changed
	children int32     // changes of the directory until then
	pzxid    int64     // the last of them
	known    map[change]bool
}

// change is a change of the directory of the entries that wait, which this process knows of:
// an entry that has come or gone.
type change struct{ zxid, sequence int64 }

// New returns the entries of a tree.
func New(s *session.Session, root layout.Root, holds Holds, log *slog.Logger) *Entries {
	return &Entries{session: s, root: root, holds: holds, log: log, taking: map[int64]bool{}, changed: make(chan struct{}), known: map[change]bool{}}
}

// LoadEntry implements eventstore.Entries.
func (x *Entries) LoadEntry(ctx context.Context, id compute.ID) (at eventstore.Loaded[compute.Entry], err error) {
	var status layout.EntryStatus
	stat, err := x.session.GetJSON(ctx, x.root.EntryStatus(id), &status)
	if err == nil {
		at.Token = eventstore.Token(stat.Version)
		if at.State, err = status.Entry(); err != nil || at.State.ID != id {
			err = errors.Join(eventstore.ErrBroken, err)
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = eventstore.ErrNotFound
	}
	if err != nil {
		return at, &eventstore.Error{Op: "load", Aggregate: id.Aggregate(), Err: err}
	}
	return at, nil
}

// EntryOfKey implements eventstore.Entries.
func (x *Entries) EntryOfKey(ctx context.Context, key string) (compute.ID, error) {
	n, err := x.session.Get(ctx, x.root.EntryKey(key))
	var id compute.ID
	if err == nil {
		if id, err = compute.ParseID("eid" + string(n.Data)); err != nil {
			err = errors.Join(eventstore.ErrBroken, err)
		}
	}
	if errors.Is(err, zk.ErrNoNode) {
		err = eventstore.ErrNotFound
	}
	if err != nil {
		return "", &eventstore.Error{Op: "find the entry of a key", Err: err}
	}
	return id, nil
}

// RunEntry implements eventstore.Entries.
func (x *Entries) RunEntry(ctx context.Context, c *eventstore.Claim, at eventstore.Loaded[compute.Entry]) error {
	_, err := x.session.Multi(ctx, "zklive/entry/run", x.root.RunEntry(c, at))
	if session.Answered(err) {
		err = eventstore.ErrFenced
	}
	if err != nil {
		return &eventstore.Error{Op: "run", Aggregate: c.Aggregate, Err: err}
	}
	return nil
}

// EntryIDs implements eventstore.Entries.
func (x *Entries) EntryIDs(ctx context.Context) (ids eventstore.EntryIDs, err error) {
	for _, dir := range []struct {
		state entry.State
		to    *[]compute.ID
	}{{entry.Pending, &ids.Waiting}, {entry.Staging, &ids.Owned}, {entry.Successful, &ids.Done}, {entry.Failed, &ids.Failed}} {
		if *dir.to, err = x.in(ctx, dir.state); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// in lists the entries in a state.
func (x *Entries) in(ctx context.Context, s entry.State) (ids []compute.ID, err error) {
	names, err := x.session.List(ctx, x.root.EntryDir(s))
	if err != nil {
		return nil, &eventstore.Error{Op: "list entries", Err: err}
	}
	for _, name := range names {
		if n, err := entry.ParseName(name); err == nil {
			ids = append(ids, compute.NewID(n.Sequence))
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// OrphanEntries implements eventstore.Entries. Those that are owned are listed before the
// claims: one that is taken meanwhile is no orphan.
func (x *Entries) OrphanEntries(ctx context.Context) ([]compute.ID, error) {
	owned, err := x.in(ctx, entry.Staging)
	if err != nil || len(owned) == 0 {
		return nil, err
	}
	claims, err := x.session.List(ctx, x.root.EntryClaims())
	if err != nil {
		return nil, &eventstore.Error{Op: "list claims of entries", Err: err}
	}
	claimed := map[string]bool{}
	for _, name := range claims {
		claimed[name] = true
	}
	return slices.DeleteFunc(owned, func(id compute.ID) bool { return claimed[path.Base(x.root.Lock(id.Aggregate()))] }), nil
}

// TakeEntry implements eventstore.Entries.
func (x *Entries) TakeEntry(ctx context.Context, wants compute.Wants, write func(eventstore.Take) error) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: 2 * time.Millisecond, RandomizationFactor: 1, Multiplier: 1.5, MaxInterval: 100 * time.Millisecond}
	pauses.Reset()
	every := listEvery
	for {
		changed := x.changes()
		holds, err := x.holds(ctx, domain.QueueIngest)
		if err != nil {
			return err
		}
		if err := x.follow(ctx, every); err != nil {
			return err
		}
		choice, ok := x.choose(wants)
		if every = listEvery; !ok {
			every = pollEvery
			if err := x.wait(ctx, changed, pollEvery); err != nil {
				return err
			}
			continue
		}
		err = x.take(ctx, choice, wants.PassLimit, holds.Version, write)
		if !errors.Is(err, eventstore.ErrConflict) || errors.Is(err, eventstore.ErrFenced) || ctx.Err() != nil {
			return err
		}
		if err := x.wait(ctx, nil, pauses.NextBackOff()); err != nil {
			return err
		}
	}
}

// wait returns when there may be something to take.
func (x *Entries) wait(ctx context.Context, changed <-chan struct{}, most time.Duration) error {
	select {
	case <-changed:
	case <-time.After(most):
	case <-ctx.Done():
		return ctx.Err()
	case <-x.session.Context().Done():
		return eventstore.ErrFenced
	}
	return nil
}

// choose chooses an entry, which no other worker of this process takes meanwhile.
func (x *Entries) choose(wants compute.Wants) (compute.Choice, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	c, ok := x.queue.Choose(wants)
	if ok {
		x.queue.Remove(c.Take.Sequence)
		x.taking[c.Take.Sequence] = true
	}
	return c, ok
}

// take reads what was chosen, and calls write with it.
func (x *Entries) take(ctx context.Context, c compute.Choice, limit int, holds int64, write func(eventstore.Take) error) error {
	t := eventstore.Take{HoldsVersion: holds}
	var err error
	var gone bool
	if t.Entry, gone, err = x.waiting(ctx, c.Take); err == nil {
		for _, p := range c.Passed {
			var at eventstore.Loaded[compute.Entry]
			if at, _, err = x.waiting(ctx, p); err == nil && at.State.Passed >= limit {
				err = &eventstore.Error{Op: "pass over", Aggregate: at.State.ID.Aggregate(), Err: eventstore.ErrConflict}
			}
			if err != nil {
				break
			}
			t.Passed = append(t.Passed, at)
		}
	}
	if err == nil {
		var w *session.Worker
		if w, err = x.session.Worker(ctx); err == nil {
			id := t.Entry.State.ID.Aggregate()
			t.Claim = &eventstore.Claim{ID: uuid.NewString(), Worker: w.ID, Aggregate: id, Attempts: t.Entry.State.Attempt + 1, Lost: w.Lost, Silent: x.session.Silent()}
			err = write(t)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.taking, c.Take.Sequence)
	if err != nil && !gone {
		x.queue.Put(c.Take) // if it waits no longer, the next who reads it finds out
	}
	return err
}

// waiting reads an entry that waits, as far as this process knows. If it does not, it is
// gone, and the error is ErrConflict.
func (x *Entries) waiting(ctx context.Context, w compute.Waiting) (at eventstore.Loaded[compute.Entry], gone bool, err error) {
	at, err = x.LoadEntry(ctx, compute.NewID(w.Sequence))
	gone = errors.Is(err, eventstore.ErrNotFound) || err == nil && at.State.State != entry.Pending
	if errors.Is(err, eventstore.ErrBroken) {
		x.log.Error("an entry of the compute queue cannot be read: run `accession verify` for details", "entry", compute.NewID(w.Sequence), "error", err)
		gone = true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case gone:
		x.queue.Remove(w.Sequence)
		return at, true, &eventstore.Error{Op: "take", Aggregate: compute.NewID(w.Sequence).Aggregate(), Err: eventstore.ErrConflict}
	case err == nil && x.queue.Has(w.Sequence):
		x.queue.Put(compute.Waiting{Name: at.State.Name(), Passed: at.State.Passed})
	}
	return at, false, err
}

// follow lists the entries that wait if others have changed them without this process
// knowing of it. It looks whether they have at most every so often, and lists many at most every
// listEvery.
func (x *Entries) follow(ctx context.Context, every time.Duration) error {
	x.mu.Lock()
	never, due := x.listed.IsZero(), time.Since(x.listed) >= listEvery
	if !never && time.Since(x.looked) < every {
		x.mu.Unlock()
		return nil
	}
	x.looked = time.Now()
	x.mu.Unlock()
	stat, err := x.session.Exists(ctx, x.root.EntryDir(entry.Pending))
	if err != nil || stat == nil {
		return err
	}
	if !never && (x.explained(stat) || !due && stat.NumChildren > few) {
		return nil
	}
	return x.list(ctx)
}

// explained reports whether this process knows of all changes of the directory until now.
func (x *Entries) explained(stat *zk.Stat) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if int(stat.Cversion-x.children) != len(x.known) {
		return false
	}
	for c := range x.known {
		if c.zxid > stat.Pzxid {
			return false // it was written after that was read
		}
	}
	x.listed, x.children, x.pzxid = time.Now(), stat.Cversion, stat.Pzxid
	clear(x.known)
	return true
}

// list lists the entries that wait.
func (x *Entries) list(ctx context.Context) error {
	v, err := x.session.Children(ctx, x.root.EntryDir(entry.Pending))
	if err != nil {
		return &eventstore.Error{Op: "list the compute queue", Err: err}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	there := make(map[int64]bool, len(v.Names))
	for _, name := range v.Names {
		n, err := entry.ParseName(name)
		if err != nil {
			continue // verify finds it
		}
		there[n.Sequence] = true
		if !x.queue.Has(n.Sequence) && !x.taking[n.Sequence] {
			x.queue.Put(compute.Waiting{Name: n})
		}
	}
	for _, sequence := range x.queue.Sequences() {
		if !there[sequence] {
			x.queue.Remove(sequence)
		}
	}
	x.listed, x.children, x.pzxid = time.Now(), v.Stat.Cversion, v.Stat.Pzxid
	for c := range x.known {
		if c.zxid <= x.pzxid {
			delete(x.known, c)
		}
	}
	return nil
}

// changes returns a channel that is closed when something may be there to take.
func (x *Entries) changes() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// Committed takes a change that this process has written. zxid is that of its write, 0 = not
// known.
func (x *Entries) Committed(c eventstore.Change, zxid int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.moved(c.Entry.To.Name(), c.Entry.From.State, c.Entry.To.State, c.Entry.To.Passed, zxid)
}

// Observe takes an event that was read from the log.
func (x *Entries) Observe(r domain.Recorded) {
	m, ok := r.Data.(*domain.EntryMove)
	if !ok {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	name := entry.Name{Priority: m.Priority, Group: m.Of(), Sequence: compute.ID(r.Aggregate.ID).Sequence()}
	x.moved(name, m.From, m.To, 0, r.Zxid)
}

// moved takes a change of an entry's state.
func (x *Entries) moved(n entry.Name, from, to entry.State, passed int, zxid int64) {
	comes, goes := to == entry.Pending, from == entry.Pending
	if comes != goes {
		if x.listed.IsZero() || zxid > 0 && (zxid <= x.pzxid || x.known[change{zxid, n.Sequence}]) {
			return // it is known
		}
		if zxid > 0 {
			x.known[change{zxid, n.Sequence}] = true
		}
	}
	switch {
	case !comes:
		x.queue.Remove(n.Sequence)
	case !x.taking[n.Sequence]:
		x.queue.Put(compute.Waiting{Name: n, Passed: passed})
		close(x.changed)
		x.changed = make(chan struct{})
	}
}
