package storetest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var outboxTests = tests{
	"order":           testOutboxOrder,
	"same shard":      testSameShard,
	"many writers":    testManyWriters,
	"whole events":    testWholeEvents,
	"relayed":         testRelayed,
	"mark":            testMark,
	"wait":            testWait,
	"lead":            testLead,
	"lead lost":       testLeadLost,
	"lead by context": testLeadContext,
	"lead given up":   testLeadGivenUp,
}

// testOutboxOrder: within a shard the items stand in the order of their commits,
// with the commit's number, and reading in small steps gives the same.
func testOutboxOrder(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	var zxids []int64
	_, jobs := k.Started(5, 5)
	for _, j := range jobs {
		for i, by := range []*Kit{k, other, k} {
			r := by.DoJob(j, domain.ReprioritiseJob{Priority: i}, Operator())
			zxids = append(zxids, r.Events[0].Zxid)
		}
	}
	if !slices.IsSorted(zxids) {
		t.Errorf("commit numbers %v", zxids)
	}
	found := 0
	for shard := range k.Store.Shards() {
		var pos eventstore.Offset
		var zxid int64
		versions := map[domain.Aggregate]int64{}
		for {
			items := must[[]eventstore.Item](k)(k.Store.Read(t.Context(), shard, pos, 2))
			if len(items) > 2 {
				t.Fatalf("%d items, asked for 2", len(items))
			}
			if len(items) == 0 {
				break
			}
			for _, it := range items {
				if !pos.Before(it.Offset) {
					t.Errorf("position %v after %v", it.Offset, pos)
				}
				pos = it.Offset
				for _, e := range it.Events {
					if e.Zxid < zxid || e.Epoch < 1 || e.Version != versions[e.Aggregate]+1 {
						t.Errorf("%s: commit %d after %d, epoch %d, after version %d", e.ID(), e.Zxid, zxid, e.Epoch, versions[e.Aggregate])
					}
					zxid, versions[e.Aggregate] = e.Zxid, e.Version
					if slices.Contains(zxids, e.Zxid) {
						found++
					}
				}
			}
		}
	}
	if found != len(zxids) {
		t.Errorf("%d of %d commits are in the outbox under their number", found, len(zxids))
	}
}

// testSameShard: the events of a batch and its jobs are in one shard, and
// batches are spread.
func testSameShard(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	if n := k.Store.Shards(); n != env.Traits.Shards {
		t.Fatalf("%d shards, want %d", n, env.Traits.Shards)
	}
	for range 8 {
		k.Started(5)
	}
	of := map[domain.BatchID]int{}
	used := map[int]bool{}
	for shard, items := range k.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				if at, known := of[e.BatchID]; known && at != shard || e.BatchID == "" {
					t.Errorf("%s of %q is in shard %d, others in %d", e.ID(), e.BatchID, shard, at)
				}
				of[e.BatchID], used[shard] = shard, true
			}
		}
	}
	if len(of) != 8 || env.Traits.Shards > 1 && len(used) < 2 {
		t.Errorf("%d batches are in %d shards", len(of), len(used))
	}
}

// testManyWriters: what many write at once stands in the outbox once, in order.
// Shows: P3
func testManyWriters(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	kits := []*Kit{k, NewKit(t, env.Open(t)), k}
	_, jobs := k.Started(slices.Repeat([]int{5}, 9)...)
	var all sync.WaitGroup
	for i, by := range kits {
		all.Go(func() {
			for _, j := range jobs[3*i : 3*i+3] {
				live(t, by, j)
			}
		})
	}
	all.Wait()
	k.folds()
	for _, j := range jobs {
		if n := len(k.Events(j.Aggregate())); n != 8 {
			t.Errorf("%s has %d events, want 8", j, n)
		}
	}
}

// testWholeEvents: an event comes out of the outbox as it was committed.
func testWholeEvents(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, jobs := k.Started(5)
	r := k.DoJob(jobs[0], domain.FailJob{Reason: Broken()}, eventstore.Meta{Actor: domain.UserActor("ana"), CommandID: "c-1",
		CausationID: "job/jid0000000001/1", TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
	events := k.Events(jobs[0].Aggregate())
	want, got := r.Events[0], events[len(events)-1]
	if want.Zxid == 0 || got.Epoch < 1 {
		t.Errorf("commit %d, epoch %d", want.Zxid, got.Epoch)
	}
	got.Epoch = 0
	if text(got) != text(want) {
		t.Errorf("committed %s\nread      %s", text(want), text(got))
	}
}

// testMark: what is marked as sent is not unsent any more.
func testMark(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	ctx := t.Context()
	depth := func() eventstore.OutboxDepth { return must[eventstore.OutboxDepth](k)(k.Store.Depth(ctx)) }
	if d := depth(); d != (eventstore.OutboxDepth{}) {
		t.Errorf("a new outbox has %+v", d)
	}
	id := k.Submit()
	for range 4 {
		k.DoBatch(id, domain.NoteDelivery{Channel: "mail"}, Operator())
	}
	if d := depth(); d.Unsent != 5 || d.Oldest < 0 {
		t.Errorf("after 5 commits: %+v", d)
	}
	shard := slices.IndexFunc(k.Outbox(), func(items []eventstore.Item) bool { return len(items) > 0 })
	mark := must[eventstore.Mark](k)(k.Store.Mark(ctx, shard))
	items := must[[]eventstore.Item](k)(k.Store.Read(ctx, shard, mark.Offset, 100))
	if len(items) != 5 {
		t.Fatalf("%d items after the first mark, want 5", len(items))
	}
	third := eventstore.Mark{Offset: items[2].Offset, LogSeq: 7, Event: "batch/bid0000000001/3"}
	if err := k.Store.MoveMark(ctx, shard, third); err != nil {
		t.Fatal(err)
	}
	for _, by := range []*Kit{k, other} {
		mark = must[eventstore.Mark](by)(by.Store.Mark(ctx, shard))
		if mark != third {
			t.Errorf("the mark is %v, want %v", mark, third)
		}
		if left := must[[]eventstore.Item](by)(by.Store.Read(ctx, shard, mark.Offset, 100)); text(left) != text(items[3:]) {
			t.Errorf("after the mark: %s", text(left))
		}
	}
	if d := depth(); d.Unsent != 2 {
		t.Errorf("after 3 of 5 were sent: %+v", d)
	}
	if env.Traits.KeepsSent {
		if all := must[[]eventstore.Item](k)(k.Store.Read(ctx, shard, eventstore.Offset{}, 100)); text(all) != text(items) {
			t.Errorf("with what was sent: %s", text(all))
		}
	}
	if err := k.Store.MoveMark(ctx, shard, eventstore.Mark{Offset: items[4].Offset}); err != nil {
		t.Fatal(err)
	}
	if err := other.Store.MoveMark(ctx, shard, eventstore.Mark{Offset: items[0].Offset}); err != nil { // late, by who does not lead any more
		t.Fatal(err)
	}
	if d := depth(); d != (eventstore.OutboxDepth{}) {
		t.Errorf("after all were sent: %+v", d)
	}
	k.DoBatch(id, domain.NoteDelivery{Channel: "mail"}, Operator())
	if more := must[[]eventstore.Item](k)(k.Store.Read(ctx, shard, items[4].Offset, 100)); len(more) != 1 || more[0].Events[0].Version != 6 {
		t.Errorf("what came after: %s", text(more))
	}
}

// testWait: a reader that waits learns of another session's commit.
func testWait(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	id := k.Submit()
	shard := slices.IndexFunc(k.Outbox(), func(items []eventstore.Item) bool { return len(items) > 0 })
	if err := k.Store.Wait(t.Context(), shard, eventstore.Offset{}); err != nil {
		t.Fatal(err) // there is something already
	}
	items := must[[]eventstore.Item](k)(k.Store.Read(t.Context(), shard, eventstore.Offset{}, 10))
	last := items[len(items)-1].Offset
	k.never("there is nothing, and yet the wait ends", func(ctx context.Context) error { return k.Store.Wait(ctx, shard, last) })
	woken := make(chan error, 1)
	go func() {
		for {
			err := k.Store.Wait(t.Context(), shard, last)
			items, rerr := k.Store.Read(t.Context(), shard, last, 10)
			if err = errors.Join(err, rerr); err != nil || len(items) > 0 {
				woken <- err
				return
			}
		}
	}()
	other.DoBatch(id, domain.NoteDelivery{Channel: "mail"}, Operator())
	if err := <-woken; err != nil {
		t.Error(err)
	}
}

// lead leads a shard or ends the test.
func (k *Kit) lead(shard int) (context.Context, func()) {
	k.Helper()
	lead, resign, err := k.Store.Lead(k.Context(), shard)
	if err != nil {
		k.Fatal(err)
	}
	return lead, resign
}

// testLead: a shard has one leader, each shard its own, and the next waits.
func testLead(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	first, resign := k.lead(0)
	if env.Traits.Shards > 1 {
		_, resign := other.lead(1)
		defer resign()
	}
	for _, by := range []*Kit{k, other} {
		k.never("a shard has two leaders", func(ctx context.Context) error {
			_, _, err := by.Store.Lead(ctx, 0)
			return err
		})
	}
	if first.Err() != nil {
		t.Error("the lead ended by itself")
	}
	next := make(chan func(), 1)
	go func() {
		lead, resign, err := other.Store.Lead(t.Context(), 0)
		if err != nil || lead.Err() != nil {
			t.Error("no lead after the first resigned:", err)
		}
		next <- resign
	}()
	resign()
	<-first.Done()
	resignNext := <-next
	resign() // again: not the other's lead
	k.never("resigning twice ends another's lead", func(ctx context.Context) error {
		_, _, err := k.Store.Lead(ctx, 0)
		return err
	})
	if resignNext != nil {
		resignNext()
	}
}

func testLeadLost(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	lead, resign := k.lead(0)
	env.Expire(t, k.Store)
	<-lead.Done()
	second, resignSecond := other.lead(0)
	defer resignSecond()
	resign()
	if second.Err() != nil {
		t.Error("the lost leader ended its successor's lead")
	}
	k.never("a shard has two leaders", func(ctx context.Context) error {
		_, _, err := k.Store.Lead(ctx, 0)
		return err
	})
}

func testLeadContext(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	ctx, cancel := context.WithCancel(t.Context())
	lead, resign, err := k.Store.Lead(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-lead.Done()
	resign()
	_, resign = k.lead(0) // free again
	resign()
}

// testLeadGivenUp: who gives up while the lead is being taken does not keep it.
func testLeadGivenUp(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	for n := range 10 {
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan struct{})
		go func() {
			defer close(given)
			if _, resign, err := k.Store.Lead(ctx, 0); err == nil {
				resign()
			}
		}()
		time.AfterFunc(time.Duration(n)*200*time.Microsecond, cancel)
		<-given
		soon, done := context.WithTimeout(t.Context(), 20*time.Second)
		_, resign, err := other.Store.Lead(soon, 0)
		done()
		if err != nil {
			t.Fatalf("nobody leads, and nobody can: %v", err)
		}
		resign()
	}
}
