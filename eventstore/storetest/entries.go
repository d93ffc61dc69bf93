package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

var entryTests = tests{
	"entry, requested once a key":    entryRequestedOnce,
	"entry, taken and completed":     entryCompleted,
	"entry, taken in order":          entriesInOrder,
	"entry, passed over once":        entryPassedOver,
	"entry of a dead worker":         entryOfADeadWorker,
	"entry, its worker alive":        entryOfALiveWorker,
	"entry, tried again and purged":  entryTriedAgain,
	"entry, while claims are paused": entriesPaused,
	"entry, leased and completed":    entryLeased,
	"entry, request only tried":      entryTried,
	"entry of an overdue lease":      entryOverdue,
	"entry, claimed by one request":  entryClaimedOnce,
	"entry, taken by the rules":      entriesByTheRules,
}

// Request requests an entry.
func (k *Kit) Request(dataset, group string, priority entry.Priority, key string) eventstore.Result[compute.Entry] {
	k.Helper()
	return must[eventstore.Result[compute.Entry]](k)(k.Handler.RequestEntry(k.Context(), compute.Request{
		Work: entry.Work{Dataset: dataset, Group: group, Priority: priority, Key: key}, Request: entry.Request{Submitter: "ana", Inputs: []string{"http://files.test/a"}}}, Operator()))
}

// take takes the next entry.
func (k *Kit) take(wants compute.Wants) eventstore.Result[compute.Entry] {
	k.Helper()
	return must[eventstore.Result[compute.Entry]](k)(k.Handler.TakeEntry(k.Context(), wants, Under(nil, false)))
}

// observe makes the store of a kit know the events of another's.
func (k *Kit) observe(events []domain.Recorded) {
	for _, e := range events {
		k.Store.Observe(e)
	}
}

var done = compute.Complete{Result: entry.Result{SHA256: "00", Size: 2}}

func entryRequestedOnce(t *testing.T, e Env) {
	one, two := NewKit(t, e.Open(t)), NewKit(t, e.Open(t))
	first := one.Request("maps", "2026", 100, "k/é")
	if again := two.Request("maps", "2026", 7, "k/é"); again.State.ID != first.State.ID || len(again.Events) > 0 || again.State.Work.Priority != 100 {
		t.Errorf("another entry of the same key: %+v", again)
	}
	if other := two.Request("maps", "2026", 100, "k"); other.State.ID == first.State.ID {
		t.Errorf("one entry of two keys: %+v", other)
	}
	at, err := two.Store.LoadEntry(t.Context(), first.State.ID)
	if err != nil || fmt.Sprintf("%+v", at.State) != fmt.Sprintf("%+v", first.State) {
		t.Errorf("it is read as\n%+v\nwritten as\n%+v, %v", at.State, first.State, err)
	}
	if events := one.Events(first.State.ID.Aggregate()); len(events) != 1 || events[0].Type != domain.EventEntryRequested {
		t.Errorf("its events: %+v", events)
	}
	_, err = two.Store.LoadEntry(t.Context(), compute.NewID(4711))
	one.WantErr(err, eventstore.ErrNotFound)
	_, err = two.Store.EntryOfKey(t.Context(), "none")
	one.WantErr(err, eventstore.ErrNotFound)
}

// entryTried: a request that is only tried makes no entry and uses up no id.
func entryTried(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	only := Operator()
	only.DryRun = true
	request := compute.Request{Work: entry.Work{Dataset: "maps", Priority: 7, Key: "k"}, Request: entry.Request{Submitter: "ana", Inputs: []string{"http://files.test/a"}}}
	first := k.Request("tides", "", 100, "other").State.ID
	if tried := must[eventstore.Result[compute.Entry]](k)(k.Handler.RequestEntry(t.Context(), request, only)); tried.State.ID != "" || tried.State.State != entry.Pending || tried.State.Work.Priority != 7 {
		t.Errorf("it would be %+v", tried.State)
	}
	_, err := k.Store.EntryOfKey(t.Context(), "k")
	k.WantErr(err, eventstore.ErrNotFound)
	request.Work.Key = ""
	if _, err := k.Handler.RequestEntry(t.Context(), request, only); err == nil {
		t.Error("what would be refused is not, when it is tried")
	}
	made := k.Request("maps", "", 100, "k").State.ID
	if number := func(id compute.ID) (n int) { _, _ = fmt.Sscanf(string(id), "eid%d", &n); return n }; number(made) != number(first)+1 {
		t.Errorf("after a trial the entry %s follows %s", made, first)
	}
	request.Work.Key = "k"
	if again := must[eventstore.Result[compute.Entry]](k)(k.Handler.RequestEntry(t.Context(), request, only)); again.State.ID != made {
		t.Errorf("under the key of %s it would be %+v", made, again.State)
	}
}

func entryCompleted(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	id := k.Request("maps", "", 100, "k").State.ID
	taken := k.take(compute.Wants{})
	if taken.State.ID != id || taken.State.Worker != taken.Claim.Worker || taken.State.Attempt != 1 || taken.State.State != entry.Staging {
		t.Fatalf("%+v under %+v", taken.State, taken.Claim)
	}
	if err := k.Store.RunEntry(t.Context(), taken.Claim, taken.Loaded); err != nil {
		t.Fatal(err)
	}
	ended, err := k.Handler.EndEntry(t.Context(), taken, done, Under(nil, false))
	if err != nil || ended.State.State != entry.Successful {
		t.Fatalf("%+v, %v", ended.State, err)
	}
	_, err = k.Handler.EndEntry(t.Context(), taken, compute.Fail{Reason: Broken()}, Under(nil, false))
	k.WantErr(err, eventstore.ErrFenced)
	k.WantErr(k.Store.RunEntry(t.Context(), taken.Claim, taken.Loaded), eventstore.ErrFenced)
	ids, err := k.Store.EntryIDs(t.Context())
	if err != nil || len(ids.Done) != 1 || len(ids.Owned)+len(ids.Waiting)+len(ids.Failed) > 0 {
		t.Errorf("%+v, %v", ids, err)
	}
	if n := len(k.Events(id.Aggregate())); n != 3 {
		t.Errorf("it has %d events", n)
	}
	k.never("an entry that is done is taken", func(ctx context.Context) error {
		_, err := k.Handler.TakeEntry(ctx, compute.Wants{}, Under(nil, false))
		return err
	})
}

func entriesInOrder(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	for _, w := range []struct {
		dataset  string
		priority entry.Priority
	}{{"maps", 5}, {"tides", 999}, {"maps", 100}, {"tides", 100}} {
		k.Request(w.dataset, "", w.priority, fmt.Sprint(w.dataset, w.priority))
	}
	if got := k.take(compute.Wants{Datasets: []string{"maps"}}).State.Work; got.Dataset != "maps" || got.Priority != 100 {
		t.Errorf("a worker of maps takes %+v", got)
	}
	var order []entry.Priority
	for range 3 {
		order = append(order, k.take(compute.Wants{}).State.Work.Priority)
	}
	if fmt.Sprint(order) != "[999 100 5]" {
		t.Errorf("taken in the order %v", order)
	}
}

func entryPassedOver(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	old := k.Request("maps", "old", 100, "old").State.ID
	for _, key := range []string{"a", "b"} {
		k.Request("maps", "new", 100, key)
	}
	wants := compute.Wants{PassLimit: 1, Cached: func(g entry.Group) bool { return g.Group == "new" }}
	if first := k.take(wants); first.State.Work.Group != "new" {
		t.Errorf("not the cached one first: %+v", first.State)
	}
	if at, err := k.Store.LoadEntry(t.Context(), old); err != nil || at.State.Passed != 1 || at.State.Version != 1 {
		t.Errorf("%+v, %v", at.State, err)
	}
	if second := k.take(wants); second.State.ID != old {
		t.Errorf("it is passed over twice, for %+v", second.State)
	}
	if third := k.take(wants); third.State.Work.Key != "b" {
		t.Errorf("%+v", third.State)
	}
}

func entryOfADeadWorker(t *testing.T, e Env) {
	late, k := NewKit(t, e.Open(t)), NewKit(t, e.Open(t))
	id := k.Request("maps", "", 100, "k").State.ID
	taken := late.take(compute.Wants{})
	e.Expire(t, late.Store)
	<-taken.Claim.Lost
	ids, err := k.Store.OrphanEntries(t.Context())
	if err != nil || len(ids) != 1 || ids[0] != id {
		t.Fatalf("%+v, %v", ids, err)
	}
	back, err := k.Handler.Entry(t.Context(), id, compute.Return{Reason: domain.WorkerLost(taken.State.Worker)}, Under(nil, false))
	if err != nil || back.State.State != entry.Pending {
		t.Fatalf("%+v, %v", back.State, err)
	}
	again := k.take(compute.Wants{})
	if again.State.ID != id || again.State.Attempt != 2 {
		t.Errorf("%+v", again.State)
	}
	_, err = late.Handler.EndEntry(t.Context(), taken, done, Under(nil, false))
	k.WantErr(err, eventstore.ErrFenced)
	if ended, err := k.Handler.EndEntry(t.Context(), again, done, Under(nil, false)); err != nil || ended.State.State != entry.Successful {
		t.Errorf("%+v, %v", ended.State, err)
	}
}

func entryOfALiveWorker(t *testing.T, e Env) {
	worker, k := NewKit(t, e.Open(t)), NewKit(t, e.Open(t))
	id := worker.Request("maps", "", 100, "k").State.ID
	taken := worker.take(compute.Wants{})
	if ids, err := k.Store.OrphanEntries(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("orphans: %v, %v", ids, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err := k.Handler.Entry(ctx, id, compute.Return{Reason: domain.WorkerLost("w")}, Under(nil, false))
	k.WantErr(err, eventstore.ErrLocked)
	given, err := worker.Handler.EndEntry(t.Context(), taken, compute.Return{Reason: Broken(), Uncounted: true}, Under(nil, false))
	if err != nil || given.State.State != entry.Pending || given.State.Attempt != 0 {
		t.Fatalf("%+v, %v", given.State, err)
	}
	k.observe(given.Events)
	if again := k.take(compute.Wants{}); again.State.ID != id || again.State.Attempt != 1 {
		t.Errorf("%+v", again.State)
	}
}

func entryTriedAgain(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	id := k.Request("maps", "", 100, "k").State.ID
	if _, err := k.Handler.EndEntry(t.Context(), k.take(compute.Wants{}), compute.Fail{Reason: Broken()}, Under(nil, false)); err != nil {
		t.Fatal(err)
	}
	k.never("an entry that has failed is taken", func(ctx context.Context) error {
		_, err := k.Handler.TakeEntry(ctx, compute.Wants{}, Under(nil, false))
		return err
	})
	if again := k.Request("maps", "", 100, "k"); again.State.State != entry.Failed || again.State.Reason == nil {
		t.Errorf("%+v", again.State)
	}
	if _, err := k.Handler.Entry(t.Context(), id, compute.Retry{}, Operator()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Handler.EndEntry(t.Context(), k.take(compute.Wants{}), done, Under(nil, false)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Handler.Entry(t.Context(), id, compute.Purge{}, Operator()); err != nil {
		t.Fatal(err)
	}
	_, err := k.Store.LoadEntry(t.Context(), id)
	k.WantErr(err, eventstore.ErrNotFound)
	if again := k.Request("maps", "", 100, "k"); again.State.ID == id {
		t.Errorf("the key of an entry that is gone leads to it: %+v", again.State)
	}
}

func entriesPaused(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	k.Request("maps", "", 100, "k")
	k.Hold(domain.HoldQueue, domain.QueueIngest, "ana")
	k.never("an entry is taken while claims are paused", func(ctx context.Context) error {
		_, err := k.Handler.TakeEntry(ctx, compute.Wants{}, Under(nil, false))
		return err
	})
	k.Hold(domain.HoldQueue, domain.QueueIngest, "")
	k.take(compute.Wants{})
}

func (k *Kit) lease(l eventstore.Lease) eventstore.Result[compute.Entry] {
	k.Helper()
	return must[eventstore.Result[compute.Entry]](k)(k.Handler.LeaseEntry(k.Context(), compute.Wants{}, l, Under(nil, false)))
}

// entryLeased: a lease outlives the process that made it, and any process renews and ends it;
// only its own token does.
func entryLeased(t *testing.T, e Env) {
	first, k := NewKit(t, e.Open(t)), NewKit(t, e.Open(t))
	id := k.Request("maps", "", 100, "k").State.ID
	taken := first.lease(eventstore.Lease{Worker: "them", SHA256: "ab", Timeout: time.Hour, Salt: "salt"})
	if taken.State.ID != id || taken.State.Worker != "them" || taken.Claim != nil {
		t.Fatalf("%+v", taken)
	}
	e.Expire(t, first.Store)
	if ids, err := k.Handler.Leases.EndOverdueLeases(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("overdue: %v, %v", ids, err)
	}
	if ids, err := k.Store.OrphanEntries(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("orphans: %v, %v", ids, err)
	}
	before, err := k.Handler.Leases.LoadLease(t.Context(), id)
	if err != nil || before.Worker != "them" || before.Timeout != time.Hour {
		t.Fatalf("%+v, %v", before, err)
	}
	for _, said := range []string{"2 of 7", ""} { // what was said last stays
		if at, _, err := k.Handler.RenewLease(t.Context(), id, "ab", said); err != nil || at.State.ID != id {
			t.Errorf("%+v, %v", at, err)
		}
		if l, err := k.Handler.Leases.LoadLease(t.Context(), id); err != nil || l.Progress != "2 of 7" || l.SHA256 != before.SHA256 || l.Timeout != before.Timeout || l.Salt != "salt" {
			t.Errorf("%+v, %v", l, err)
		}
	}
	k.WantErr(k.Handler.Leases.RenewLease(t.Context(), id, before), eventstore.ErrConflict)
	_, _, err = k.Handler.RenewLease(t.Context(), id, "cd", "all")
	k.WantErr(err, eventstore.ErrFenced)
	_, err = k.Handler.EndLease(t.Context(), id, "cd", done, Under(nil, false))
	k.WantErr(err, eventstore.ErrFenced)
	_, err = k.Handler.Entry(t.Context(), id, compute.Return{Reason: Broken()}, Under(nil, false))
	k.WantErr(err, eventstore.ErrLocked)
	ended, err := k.Handler.EndLease(t.Context(), id, "ab", done, Under(nil, false))
	if err != nil || ended.State.State != entry.Successful {
		t.Fatalf("%+v, %v", ended.State, err)
	}
	_, err = k.Handler.EndLease(t.Context(), id, "ab", done, Under(nil, false))
	k.WantErr(err, eventstore.ErrFenced)
}

// entryClaimedOnce: a claim that is sent again finds the lease that it has taken, as long as that
// lasts; of several at once one takes work.
func entryClaimedOnce(t *testing.T, e Env) {
	k, other := NewKit(t, e.Open(t)), NewKit(t, e.Open(t))
	const command = eventstore.ClaimCommand + "1"
	for n := range 3 {
		k.Request("maps", "", 100, fmt.Sprint(n))
	}
	claim := func(k *Kit, before int64) (compute.Entry, error) {
		taken, err := k.Handler.LeaseEntry(k.Context(), compute.Wants{}, eventstore.Lease{Worker: "them", SHA256: "ab", Timeout: time.Hour, Command: command, Before: before}, Under(nil, false))
		return taken.State, err
	}
	var took atomic.Int32
	var g sync.WaitGroup
	for n := range 10 {
		g.Go(func() {
			k := []*Kit{k, other}[n%2]
			_, none, err := k.Handler.Leases.LeaseOfCommand(k.Context(), command)
			if errors.Is(err, eventstore.ErrNotFound) {
				_, err = claim(k, none.Before)
			}
			switch {
			case err == nil:
				took.Add(1)
			case !errors.Is(err, eventstore.ErrRepeated):
				t.Error(err)
			}
		})
	}
	g.Wait()
	first, l, err := other.Handler.Leases.LeaseOfCommand(t.Context(), command)
	if err != nil || l.Worker != "them" || l.Command != command {
		t.Fatalf("%+v, %v", l, err)
	}
	if ids, err := k.Store.EntryIDs(t.Context()); err != nil || len(ids.Owned) != 1 || ids.Owned[0] != first || took.Load() < 1 {
		t.Fatalf("taken are %v of %d requests (%v)", ids.Owned, took.Load(), err)
	}
	if _, _, err := k.Handler.RenewLease(t.Context(), first, "ab", "half"); err != nil {
		t.Fatal(err)
	}
	for _, ends := range []bool{false, true} {
		if ended, err := k.Handler.Leases.EndOverdueLeases(t.Context()); err != nil || len(ended) > 0 {
			t.Errorf("%v, %v", ended, err)
		}
		if again, _, err := k.Handler.Leases.LeaseOfCommand(t.Context(), command); err != nil || again != first {
			t.Errorf("%s (%v), want %s", again, err, first)
		}
		if ends {
			if _, err := k.Handler.EndLease(t.Context(), first, "ab", done, Under(nil, false)); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, ended, err := other.Handler.Leases.LeaseOfCommand(t.Context(), command)
	k.WantErr(err, eventstore.ErrNotFound)
	if second, err := claim(k, ended.Before); err != nil || second.ID == first {
		t.Errorf("after the end: %+v (%v)", second, err)
	}
	_, err = claim(other, ended.Before)
	k.WantErr(err, eventstore.ErrRepeated)
}

// entryOverdue: what was not renewed in time is an orphan, and its worker is refused.
func entryOverdue(t *testing.T, e Env) {
	k := NewKit(t, e.Open(t))
	id := k.Request("maps", "", 100, "k").State.ID
	k.lease(eventstore.Lease{Worker: "them", SHA256: "ab", Timeout: time.Nanosecond})
	for {
		ids, err := k.Handler.Leases.EndOverdueLeases(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) == 1 && ids[0] == id {
			break
		}
	}
	if ids, err := k.Store.OrphanEntries(t.Context()); err != nil || len(ids) != 1 {
		t.Fatalf("%v, %v", ids, err)
	}
	_, err := k.Handler.EndLease(t.Context(), id, "ab", done, Under(nil, false))
	k.WantErr(err, eventstore.ErrFenced)
	back, err := k.Handler.Entry(t.Context(), id, compute.Return{Reason: domain.WorkerLost("them")}, Under(nil, false))
	if err != nil || back.State.State != entry.Pending {
		t.Fatalf("%+v, %v", back.State, err)
	}
	if again := k.take(compute.Wants{}); again.State.ID != id {
		t.Errorf("%+v", again.State)
	}
}
