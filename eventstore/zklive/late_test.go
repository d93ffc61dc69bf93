package zklive_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestLateWriteOfALostSession sends a write while the server cannot be reached. By
// the time that it can, the session has expired, another process has the job, and
// the writer, who has heard of nothing, is in a new session.
// Shows: P5 C13
func TestLateWriteOfALostSession(t *testing.T) {
	t.Parallel()
	w := &env{root: "/test-" + uuid.NewString()}
	removedAfter(t, w.root)
	other := w.open(t, zklive.Config{Shards: 1})
	kit := storetest.NewKit(t, other)
	_, jobs := kit.Started(5)
	l := newLine(t)
	s, err := zklive.Open(t.Context(), zklive.Config{Servers: []string{l.address()}, Root: w.root, SessionTimeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c, at, err := s.ClaimJob(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Holds(t.Context()); err != nil { // known, so that the write comes next
		t.Fatal(err)
	}
	written := make(chan error, 1)
	expireDuring(t, l, w.root+"/workers/"+c.Worker, func() {
		go func() {
			_, err := handlerOf(s).Job(t.Context(), jobs[0], domain.AcceptJob{}, eventstore.Meta{Actor: "test", Claim: c, Known: &at})
			written <- err
		}()
	}, func() {
		if _, _, err := other.ClaimJob(t.Context(), jobs[0]); err != nil {
			t.Fatal(err)
		}
	})
	if err := <-written; !errors.Is(err, eventstore.ErrFenced) {
		t.Errorf("the late write: %v", err)
	}
	if held, err := other.Locked(t.Context(), jobs[0].Aggregate()); err != nil || len(held) != 1 {
		t.Errorf("the lock of the other is gone (%v)", err)
	}
	if now := kit.Job(jobs[0]).State; now.Version != at.State.Version {
		t.Errorf("it is %s at version %d", now.State, now.Version)
	}
}

// TestClosedBucketTakesNothing: a process that does not know that a bucket was
// closed writes into the one that follows.
// Shows: P3
func TestClosedBucketTakesNothing(t *testing.T) {
	t.Parallel()
	w := &env{root: "/test-" + uuid.NewString()}
	removedAfter(t, w.root)
	late := w.open(t, zklive.Config{Shards: 1})
	turning := w.open(t, zklive.Config{Shards: 1, BucketSize: 2})
	kit, by := storetest.NewKit(t, turning), storetest.NewKit(t, late)
	id := kit.Submit()
	for range 3 {
		kit.DoBatch(id, domain.NoteDelivery{Channel: "mail"}, storetest.Operator())
	}
	by.DoBatch(id, domain.NoteDelivery{Channel: "mail"}, storetest.Operator())
	kit.DoBatch(id, domain.NoteDelivery{Channel: "mail"}, storetest.Operator())
	items := kit.Outbox()[0]
	if len(items) != 6 {
		t.Fatalf("%d items, want 6", len(items))
	}
	for i, it := range items {
		if want := int64(i + 1); it.Events[0].Version != want || it.Offset.Bucket < (want+1)/2 {
			t.Errorf("item %d has version %d, in bucket %d", i, it.Events[0].Version, it.Offset.Bucket)
		}
	}
}
