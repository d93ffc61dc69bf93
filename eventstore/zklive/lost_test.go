//go:build !race

// The ZooKeeper client has a data race of its own when it connects again to a
// session that has watches (it reads its last zxid while answers set it). These
// tests make it do so; `make test` runs them without the race detector.

package zklive_test

import (
	"context"
	"errors"
	"path"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// lostWorld is a store behind a line that loses what it is told to, and another
// that looks at the tree by itself.
type lostWorld struct {
	*line
	store, other *zklive.Store
	kit          *storetest.Kit
}

func newLostWorld(t *testing.T, cfg zklive.Config) *lostWorld {
	t.Helper()
	w := &env{root: "/test-" + uuid.NewString()}
	l := newLine(t)
	removedAfter(t, w.root)
	other := w.open(t, zklive.Config{Shards: 1, Grace: cfg.Grace})
	cfg.Servers, cfg.Root, cfg.SessionTimeout = []string{l.address()}, w.root, 20*time.Second
	s, err := zklive.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &lostWorld{line: l, store: s, other: other, kit: storetest.NewKit(t, other)}
}

// TestReleaseOutlastsAnOutage gives a claim back while ZooKeeper cannot be
// reached, and nobody waits for it: the lock must not stay for ever.
func TestReleaseOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, positions["fast"])
	_, jobs := w.kit.Started(5)
	c, _, err := w.store.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	w.cut()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.store.Release(ctx, c, 0); err == nil {
		t.Error("released without ZooKeeper")
	}
	w.mend()
	other, _, err := w.other.NextJob(t.Context(), domain.JobPending, nil)
	if err != nil || other.Aggregate != c.Aggregate {
		t.Fatal(other, err)
	}
	for w.store.Holding(c.Aggregate) { // nor may the claim, here
		if _, err := w.other.Job(t.Context(), jobs[0]); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostClaimLeavesTheLockOfAnother sends a claim that never arrives. Another
// process takes the job meanwhile; its lock must outlive what the first does to
// find out.
// Shows: P5 C2
func TestLostClaimLeavesTheLockOfAnother(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, positions["fast"])
	_, jobs := w.kit.Started(5)
	if _, err := w.store.Holds(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.lose(false, aClaim)
	claimed := make(chan error, 1)
	go func() { _, _, err := w.store.ClaimJob(t.Context(), jobs[0]); claimed <- err }()
	<-w.lost
	if _, _, err := w.other.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	w.mend()
	if err := <-claimed; err == nil {
		t.Fatal("claimed what another holds")
	}
	for w.store.Holding(jobs[0].Aggregate()) {
		if _, err := w.other.Job(t.Context(), jobs[0]); err != nil {
			t.Fatal(err)
		}
	}
	if held, err := w.other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 1 {
		t.Errorf("the lock of the other is gone (%v)", err)
	}
}

// aWrite is longer than the reads that a store sends at once before it, in bytes.
const aWrite = 650

// TestLostAnswerLongAgo loses the answer to a write whose event has gone to the log
// since, and from the outbox. The job itself tells who has written it.
// Shows: C2
func TestLostAnswerLongAgo(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, zklive.Config{Grace: time.Millisecond})
	_, jobs := w.kit.Started(5)
	if _, err := w.store.Holds(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, _ := w.events(t)
	w.lose(true, aWrite)
	type outcome struct {
		r   eventstore.Result[domain.Job]
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := handlerOf(w.store).Job(t.Context(), jobs[0], domain.AcceptJob{}, eventstore.Meta{Actor: "test"})
		done <- outcome{r, err}
	}()
	w.awaitEvents(t, before+1)
	_, last := w.events(t)
	if err := w.other.MoveMark(t.Context(), 0, eventstore.Mark{Offset: last}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n > 0; {
		n, _ = w.events(t)
	}
	w.mend()
	// Decided again, it would be done already, and without events.
	if out := <-done; out.err != nil || len(out.r.Events) != 1 {
		t.Errorf("the outcome was not found out: %v, %d events", out.err, len(out.r.Events))
	}
}

// TestDoubtfulCommitLeavesTheLockOfAnother loses the answer to a commit that has ended
// a claim, and gives up. Another process takes the job meanwhile; giving the claim
// back must leave its lock alone.
// Shows: P5 C2
func TestDoubtfulCommitLeavesTheLockOfAnother(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, positions["fast"])
	_, jobs := w.kit.Started(5)
	if _, err := w.store.Holds(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, at, err := w.store.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	before, _ := w.events(t)
	w.lose(true, aWrite)
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := handlerOf(w.store).Job(ctx, jobs[0], domain.AcceptJob{}, eventstore.Meta{Actor: "test", Claim: c, Known: &at})
		done <- err
	}()
	w.awaitEvents(t, before+1)
	giveUp()
	if err := <-done; !errors.Is(err, eventstore.ErrUnknown) {
		t.Fatalf("the commit: %v", err)
	}
	if _, _, err := w.other.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	w.mend()
	if _, err := w.store.Job(t.Context(), jobs[0]); err != nil { // it is connected: the release is sent at once
		t.Fatal(err)
	}
	if err := w.store.Release(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	for w.store.Holding(jobs[0].Aggregate()) {
		if _, err := w.other.Job(t.Context(), jobs[0]); err != nil {
			t.Fatal(err)
		}
	}
	if held, err := w.other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 1 {
		t.Errorf("the lock of the other is gone (%v)", err)
	}
}

// aRelease is longer than a read, in bytes.
const aRelease = 250

// TestLostCallerOfALateWrite: the caller of a grab gives up while its write, refused since
// its bucket was closed, is about to be made again. The batch is claimed nonetheless.
// Shows: P5 C2
func TestLostCallerOfALateWrite(t *testing.T) {
	t.Parallel()
	w := &env{root: "/test-" + uuid.NewString()}
	l := newLoser(t, w.root)
	removedAfter(t, w.root)
	turning := w.open(t, zklive.Config{Shards: 1, BucketSize: 2})
	s, err := zklive.Open(t.Context(), zklive.Config{Servers: l.addresses(), Root: w.root, SessionTimeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := storetest.NewRingKit(t, turning)
	names := k.Deposits("ana1 ana2 ana3")
	kept, handOn := l.keeps("/queues/metadata/ring")
	defer handOn()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	grabbing := storetest.NewRingKit(t, s).Handler
	grabbed := make(chan error, 1)
	go func() {
		_, err := grabbing.Grab(ctx, fair.QueueMetadata, "default", eventstore.Meta{Actor: "test"})
		grabbed <- err
	}()
	<-kept
	cancel()
	if err := <-grabbed; err == nil {
		t.Fatal("grabbed without an answer")
	}
	for range 100 { // what reads the lock too early does so meanwhile
		if _, err := s.Batches(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	handOn()
	ctx, cancel = context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	c, _, err := s.NextBatch(ctx, domain.BatchPending, nil)
	if err != nil {
		t.Fatalf("the lock of the grab stays: %v", err)
	}
	if names[domain.BatchID(c.Aggregate.ID)] != "ana1" {
		t.Errorf("%s was grabbed", c.Aggregate)
	}
}

// TestLostCallersOfLateTakes: who stops waiting for a permit, a lead or a promise while the
// request is on its way does not keep what it takes then.
// Shows: P5 P11
func TestLostCallersOfLateTakes(t *testing.T) {
	t.Parallel()
	for dir, take := range map[string]func(context.Context, *zklive.Store) error{
		"/hosts": func(ctx context.Context, s *zklive.Store) error {
			_, err := s.TakePermit(ctx, eventstore.PermitOf{Name: "example.org:443"}, 1)
			return err
		},
		"/leaders": func(ctx context.Context, s *zklive.Store) error {
			_, _, err := s.Lead(ctx, 0)
			return err
		},
		"/space": func(ctx context.Context, s *zklive.Store) error {
			_, err := s.PromiseFile(ctx, eventstore.FilePromise{File: domain.HashFile("maps", "a.nc"), Bytes: 1, Profile: "test"})
			return err
		},
	} {
		t.Run(path.Base(dir), func(t *testing.T) {
			t.Parallel()
			w := &env{root: "/test-" + uuid.NewString()}
			l := newLoser(t, w.root)
			removedAfter(t, w.root)
			w.open(t, zklive.Config{Shards: 1})
			s, err := zklive.Open(t.Context(), zklive.Config{Servers: l.addresses(), Root: w.root, SessionTimeout: 20 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			kept, handOn := l.delays(" " + dir + "/")
			defer handOn()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			taken := make(chan error, 1)
			go func() { taken <- take(ctx, s) }()
			<-kept
			cancel()
			if err := <-taken; err == nil {
				t.Fatal("it was taken without an answer")
			}
			for range 100 { // what looks too early does so meanwhile
				if _, err := s.Batches(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			handOn()
			if _, err := s.Batches(t.Context()); err != nil { // behind it
				t.Fatal(err)
			}
			for end := time.Now().Add(10 * time.Second); len(w.nodes(t, dir)) > 1; {
				if time.Now().After(end) {
					t.Fatalf("it stays: %v", w.nodes(t, dir))
				}
			}
		})
	}
}

// TestLostReleaseLeavesTheLockOfAnother loses the answer to a release. Another process
// takes the job meanwhile; what the first does to find out must leave its lock alone.
// Shows: P5 C2
func TestLostReleaseLeavesTheLockOfAnother(t *testing.T) {
	t.Parallel()
	w := newLostWorld(t, positions["fast"])
	_, jobs := w.kit.Started(5)
	c, _, err := w.store.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	w.lose(true, aRelease)
	released := make(chan error, 1)
	go func() { released <- w.store.Release(t.Context(), c, 0) }()
	for locked := true; locked; {
		held, err := w.other.Locked(t.Context(), jobs[0].Aggregate())
		if err != nil {
			t.Fatal(err)
		}
		locked = len(held) > 0
	}
	if _, _, err := w.other.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	w.mend()
	if err := <-released; err != nil {
		t.Fatal(err)
	}
	if held, err := w.other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 1 {
		t.Errorf("the lock of the other is gone (%v)", err)
	}
}

// events counts the events in the outbox, and tells where the last of them is.
func (w *lostWorld) events(t *testing.T) (n int, last eventstore.Offset) {
	t.Helper()
	items, err := w.other.Read(t.Context(), 0, eventstore.Offset{}, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range items {
		n, last = n+len(it.Events), it.Offset
	}
	return n, last
}

func (w *lostWorld) awaitEvents(t *testing.T, want int) {
	t.Helper()
	for {
		n, last := w.events(t)
		if n >= want {
			return
		}
		if err := w.other.Wait(t.Context(), 0, last); err != nil {
			t.Fatal(err)
		}
	}
}
