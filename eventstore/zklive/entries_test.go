package zklive_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestNotesOfClaims: the note of a claim that can be sent again stays as long as its lease.
func TestNotesOfClaims(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	id := k.Request("maps", "", 100, "k").State.ID
	const command = eventstore.ClaimCommand + "1"
	if _, err := k.Handler.LeaseEntry(t.Context(), compute.Wants{}, eventstore.Lease{Worker: "them", SHA256: "ab", Timeout: time.Hour, Command: command, Before: -1}, storetest.Under(nil, false)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if _, err := w.store.EndOverdueLeases(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := w.nodes(t, "/compute/commands"); len(left) != 1+want || want == 1 && left["/compute/commands/"+command].Data != "0000000001" {
			t.Errorf("the notes are %v", left)
		}
		if want == 1 {
			if _, err := k.Handler.EndLease(t.Context(), id, "ab", compute.Complete{}, storetest.Under(nil, false)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestEntryNodes: an entry has the documented nodes, and no other.
func TestEntryNodes(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	nodes := func(want string) {
		t.Helper()
		var got []string
		for _, dir := range []string{"/unowned", "/owned", "/done", "/failed", "/compute/entries", "/compute/claims"} {
			for name := range w.nodes(t, dir) {
				if name != dir {
					got = append(got, name)
				}
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("the nodes are %s, want %s", text, want)
		}
	}
	id := k.Request("tide-1", "a:b", 250, "k").State.ID
	nodes("/compute/entries/0000000001 /unowned/entry-250-tide%2D1:a%3Ab-0000000001")
	taken, err := k.Handler.TakeEntry(t.Context(), compute.Wants{}, storetest.Under(nil, false))
	if err != nil {
		t.Fatal(err)
	}
	nodes("/compute/claims/0000000001 /compute/entries/0000000001 /owned/entry-250-tide%2D1:a%3Ab-0000000001")
	if err := w.store.RunEntry(t.Context(), taken.Claim, taken.Loaded); err != nil {
		t.Fatal(err)
	}
	var data map[string]any
	for name, n := range w.nodes(t, "/owned") {
		if name != "/owned" {
			if err := json.Unmarshal([]byte(n.Data), &data); err != nil {
				t.Fatal(err)
			}
		}
	}
	if data["dataset"] != "tide-1" || data["groupid"] != "a:b" || data["state"] != "RUNNING" || data["worker"] != taken.Claim.Worker || data["key"] != "k" || data["attempt"] != 1.0 {
		t.Errorf("its data: %v", data)
	}
	if _, err := k.Handler.EndEntry(t.Context(), taken, compute.Complete{}, storetest.Under(nil, false)); err != nil {
		t.Fatal(err)
	}
	nodes("/compute/entries/0000000001 /done/entry-250-tide%2D1:a%3Ab-0000000001")
	if _, err := k.Handler.Entry(t.Context(), id, compute.Purge{}, storetest.Operator()); err != nil {
		t.Fatal(err)
	}
	nodes("")
	if left := w.nodes(t, "/compute/keys"); len(left) != 1 {
		t.Errorf("the key is left: %v", left)
	}
}

// TestEntriesOfOthers: what other processes write is found, with and without their events.
func TestEntriesOfOthers(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	other := storetest.NewKit(t, w.open(t, zklive.Config{}))
	k := storetest.NewKit(t, w.store)
	take := func(want compute.ID) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		got, err := k.Handler.TakeEntry(ctx, compute.Wants{}, storetest.Under(nil, false))
		if err != nil || got.State.ID != want {
			t.Fatalf("took %s, %v; want %s", got.State.ID, err, want)
		}
	}
	take(other.Request("maps", "", 100, "listed").State.ID)
	heard := other.Request("maps", "", 100, "heard")
	w.store.Observe(heard.Events[0])
	take(heard.State.ID)
	take(other.Request("maps", "", 100, "unheard").State.ID) // listed again
}

// TestEntriesWhileWorkersDie: workers whose sessions end right after a claim and during a
// completion lose no entry, and none is accepted twice.
func TestEntriesWhileWorkersDie(t *testing.T) {
	t.Parallel()
	const entries, processes, workers = 500, 4, 4
	env := openWorld(t, zklive.Config{GroupCommit: true})
	leader := storetest.NewKit(t, env.Open(t))
	var kits []*storetest.Kit
	for range processes {
		kits = append(kits, storetest.NewKit(t, env.Open(t)))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for part := range 10 {
		all.Go(func() {
			for i := range entries / 10 {
				n := part*entries/10 + i
				leader.Request(fmt.Sprint("d", n%7), fmt.Sprint(n%3), 100, fmt.Sprint(n))
			}
		})
	}
	all.Wait()

	var mu sync.Mutex
	accepted := map[compute.ID]int{}
	refused, open := 0, entries
	finished, stop := context.WithCancel(ctx)
	defer stop()
	end := func(k *storetest.Kit, taken eventstore.Result[compute.Entry]) {
		_, err := k.Handler.EndEntry(ctx, taken, compute.Complete{}, storetest.Under(nil, false))
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			if accepted[taken.State.ID]++; accepted[taken.State.ID] == 1 {
				open--
			}
			if open == 0 {
				stop()
			}
		case errors.Is(err, eventstore.ErrFenced), errors.Is(err, eventstore.ErrLocked):
			refused++
		default:
			t.Errorf("end %s: %v", taken.State.ID, err)
		}
	}
	for _, k := range kits[:2] { // these workers die with their claims, and come back late
		for range 2 {
			taken, err := k.Handler.TakeEntry(ctx, compute.Wants{}, storetest.Under(nil, false))
			if err != nil {
				t.Fatal(err)
			}
			all.Go(func() {
				select {
				case <-taken.Claim.Lost:
				case <-ctx.Done():
				}
				end(k, taken)
			})
		}
		all.Go(func() { env.Expire(t, k.Store) })
	}
	for p, k := range kits { // the others take and end entries meanwhile
		for i := range workers {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(p), uint64(i)))
				for finished.Err() == nil {
					taken, err := k.Handler.TakeEntry(finished, compute.Wants{PassLimit: 1, Cached: func(entry.Group) bool { return random.IntN(4) == 0 }}, storetest.Under(nil, false))
					switch {
					case finished.Err() != nil:
						return
					case errors.Is(err, eventstore.ErrUnknown), errors.Is(err, eventstore.ErrFenced):
					case err != nil:
						t.Error(err)
						return
					default:
						end(k, taken)
					}
				}
			})
		}
	}
	all.Go(func() { // returns the entries of workers that are gone
		for finished.Err() == nil {
			ids, err := leader.Store.OrphanEntries(finished)
			if err != nil {
				return
			}
			for _, id := range ids {
				back, err := leader.Handler.Entry(finished, id, compute.Return{Reason: domain.WorkerLost(""), Uncounted: true}, storetest.Under(nil, false))
				if err != nil {
					continue // it has a worker again
				}
				for _, k := range kits {
					for _, e := range back.Events {
						k.Store.Observe(e)
					}
				}
			}
		}
	})
	all.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%d of %d entries are open", open, entries)
	}
	for id, n := range accepted {
		if n != 1 {
			t.Errorf("%s was accepted %d times", id, n)
		}
	}
	ids, err := leader.Store.EntryIDs(t.Context())
	if err != nil || len(ids.Done) != entries || len(accepted) != entries || len(ids.Waiting)+len(ids.Owned)+len(ids.Failed) > 0 {
		t.Errorf("%d accepted; %d done, %d waiting, %d owned, %d failed, %v", len(accepted), len(ids.Done), len(ids.Waiting), len(ids.Owned), len(ids.Failed), err)
	}
	if refused < 4 {
		t.Errorf("%d late workers were refused, want at least 4", refused)
	}
	completed := map[string]int{}
	for _, items := range leader.Outbox() {
		for _, it := range items {
			for _, e := range it.Events {
				if e.Type == domain.EventEntryCompleted {
					completed[e.Aggregate.ID]++
				}
			}
		}
	}
	for id, n := range completed {
		if n != 1 {
			t.Errorf("%s has %d events of its completion", id, n)
		}
	}
	if len(completed) != entries {
		t.Errorf("%d entries have an event of their completion", len(completed))
	}
}

// TestEntriesAreRestored: a lost tree has its entries again, and new ones get other numbers. What
// a worker had is an orphan.
func TestEntriesAreRestored(t *testing.T) {
	t.Parallel()
	from := newEnv(t)
	k := storetest.NewKit(t, from.store)
	owned := k.Request("maps", "a", 900, "owned").State.ID
	if taken, err := k.Handler.TakeEntry(t.Context(), compute.Wants{}, storetest.Under(nil, false)); err != nil || taken.State.ID != owned {
		t.Fatal(taken.State, err)
	}
	waits := k.Request("maps", "b", 100, "waits").State.ID
	h := eventstore.History{Epoch: 1, NextBatch: 1, NextJob: 1, NextEntry: waits.Sequence() + 1}
	for _, id := range []compute.ID{owned, waits} {
		at, err := k.Store.LoadEntry(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		h.Entries = append(h.Entries, at.State)
	}
	w := &env{root: "/test-" + uuid.NewString()}
	removedAfter(t, w.root)
	restorer := w.open(t, zklive.Config{Restoring: true})
	for range 2 { // the second replaces what the first has made
		if err := restorer.Restore(t.Context(), h, func(int, int) {}); err != nil {
			t.Fatal(err)
		}
	}
	if err := restorer.Restored(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := storetest.NewKit(t, w.open(t, zklive.Config{}))
	for _, want := range h.Entries {
		if at, err := again.Store.LoadEntry(t.Context(), want.ID); err != nil || fmt.Sprintf("%+v", at.State) != fmt.Sprintf("%+v", want) {
			t.Errorf("%+v, %v; want %+v", at.State, err, want)
		}
	}
	if orphans, err := again.Store.OrphanEntries(t.Context()); err != nil || !slices.Equal(orphans, []compute.ID{owned}) {
		t.Errorf("orphans: %v, %v", orphans, err)
	}
	if same := again.Request("maps", "b", 100, "waits").State.ID; same != waits {
		t.Errorf("the key of %s leads to %s", waits, same)
	}
	if id := again.Request("maps", "", 100, "new").State.ID; id.Sequence() <= waits.Sequence() {
		t.Errorf("the next entry is %s", id)
	}
}
