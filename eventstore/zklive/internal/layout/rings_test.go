package layout_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// ringWorld is a deposit queue as a tree, as a ring in memory, and as batches.
type ringWorld struct {
	*rapid.T
	tree    tree
	ring    fair.Ring
	state   eventstore.RingState
	batches map[domain.BatchID]domain.Batch
	running map[string]int
	pool    int
}

func newRingWorld(t *rapid.T) *ringWorld {
	w := &ringWorld{T: t, tree: tree{}.dirs(), state: eventstore.RingState{NextSlot: 1}, batches: map[domain.BatchID]domain.Batch{}, running: map[string]int{}}
	w.tree[root.Ring(fair.QueueMetadata)] = string(layout.Encode(w.state))
	return w
}

// write applies a command's change to the tree and to the batches.
func (w *ringWorld) write(id domain.BatchID, cmd domain.BatchCommand, facts domain.Facts, l *eventstore.Leave, f *layout.RingInputs, pool ...*eventstore.Pool) domain.Batch {
	from := w.batches[id]
	from.ID = id
	dec, err := domain.DecideBatch(from, cmd, facts)
	if err != nil {
		w.Fatal(err)
	}
	to, err := domain.EvolveBatch(from, domain.Recorded{Event: dec.Events[0]})
	if err != nil {
		w.Fatal(err)
	}
	c := eventstore.Change{Batch: &eventstore.Transition[domain.Batch]{From: from, To: to}, Leave: l, Require: domain.Require{}}
	for _, p := range pool {
		c.Pool = p
	}
	if err := w.tree.apply(root.Changes([]eventstore.Change{c}, layout.Inputs{Ring: f})); err != nil {
		w.Fatalf("%T: %v", cmd, err)
	}
	w.batches[id] = to
	return to
}

func (w *ringWorld) join(id domain.BatchID, user string, cmd domain.BatchCommand) {
	slot, joins := w.ring.Slot(user)
	_, returned := w.batches[id]
	f := &layout.RingInputs{Now: w.state, Joins: joins, Returned: returned}
	b := w.write(id, cmd, domain.Facts{Ticket: &domain.Ticket{Queue: fair.QueueMetadata, User: user, Slot: slot}}, nil, f)
	if joins || returned {
		w.state = w.state.After(f.Step(eventstore.DepositOfBatch(b)))
	}
	w.ring.Put(user, fair.Deposit{ID: string(id), Number: id.Number(), Size: b.Submission.Size})
}

func (w *ringWorld) leave(d fair.Decision, grabs bool) {
	l := &eventstore.Leave{Queue: fair.QueueMetadata, Decision: d, Deposit: domain.BatchID(d.Deposit.ID).Aggregate(), Ring: w.state, Running: w.running[d.User]}
	id := domain.BatchID(d.Deposit.ID)
	if grabs {
		l.Claim = &eventstore.Claim{Worker: "w", Aggregate: l.Deposit}
		w.write(id, domain.GrabBatch{Ticket: domain.Ticket{Queue: l.Queue, User: d.User, Slot: d.Slot, Turn: d.After.Turn}, Ring: l.Position(), Rule: string(d.Rule)}, domain.Facts{}, l, nil)
		delete(w.tree, root.Lock(l.Deposit))
		w.running[d.User]++
	} else {
		w.write(id, domain.ParkBatch{Ring: l.Position()}, domain.Facts{}, l, nil)
	}
	w.state = w.state.After(l.Step())
	if err := w.ring.Apply(d); err != nil {
		w.Fatal(err)
	}
}

func (w *ringWorld) atOnce(id domain.BatchID) {
	p := &eventstore.Pool{Pool: fair.Pool{Queue: fair.QueueMetadata, Config: fair.Config{Synchronous: 100, Concurrency: fair.Limit{Default: 1}}, Running: w.pool}}
	w.write(id, domain.SubmitBatch{Submission: domain.Submission{Submitter: "ana"}, Synchronous: true}, domain.Facts{Pool: &p.Pool}, nil, nil, p)
	w.pool++
}

func (w *ringWorld) end(id domain.BatchID) {
	user := w.batches[id].Ticket.User
	if w.batches[id].Ticket.Pooled() {
		w.write(id, domain.HoldBatch{}, domain.Facts{CollectionHold: &domain.Hold{}}, nil, &layout.RingInputs{Running: w.pool})
		w.pool--
		return
	}
	w.write(id, domain.HoldBatch{}, domain.Facts{CollectionHold: &domain.Hold{}}, nil, &layout.RingInputs{Running: w.running[user]})
	w.running[user]--
	w.ring.End(user, string(id))
}

// in lists the batches of which something is true, sorted.
func (w *ringWorld) in(is func(domain.Batch) bool) (ids []domain.BatchID) {
	for id, b := range w.batches {
		if is(b) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// queues returns the part of a tree below /queues.
func (w tree) queues() tree {
	out := maps.Clone(w)
	maps.DeleteFunc(out, func(path, _ string) bool { return !strings.HasPrefix(path, string(root)+"/queues/") })
	return out
}

// TestTicketsLeadToExpectedNodes: whatever happens in a deposit queue, its nodes are those
// that the batches and the last decision ask for. A grab has at most 16 operations.
func TestTicketsLeadToExpectedNodes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newRingWorld(t)
		config := fair.Config{Allocation: fair.Limit{Default: rapid.IntRange(1, 3).Draw(t, "allocation")}, Concurrency: fair.Limit{Default: 3}}
		for n := range rapid.IntRange(1, 40).Draw(t, "steps") {
			waiting, running, held := w.in(domain.Batch.Waits), w.in(domain.Batch.Runs), w.in(func(b domain.Batch) bool { return b.State == domain.BatchHeld })
			switch what := rapid.SampledFrom([]string{"submit", "submit", "at once", "grab", "grab", "park", "end", "end", "release"}).Draw(t, "what"); {
			case what == "submit":
				user := rapid.SampledFrom([]string{"ana", "ben", "é/%"}).Draw(t, "user")
				w.join(domain.NewBatchID(int64(n+100)), user, domain.SubmitBatch{Submission: domain.Submission{Submitter: user, Size: int64(n)}})
			case what == "at once":
				w.atOnce(domain.NewBatchID(int64(n + 100)))
			case what == "grab":
				if d := w.ring.Grab(config, fair.Processor{}); d.Rule != fair.RuleNone {
					w.leave(d, true)
				}
			case what == "park" && len(waiting) > 0:
				id := rapid.SampledFrom(waiting).Draw(t, "parked")
				w.leave(w.ring.Park(w.batches[id].Ticket.User, string(id)), false)
			case what == "end" && len(running) > 0:
				w.end(rapid.SampledFrom(running).Draw(t, "ended"))
			case what == "release" && len(held) > 0:
				id := rapid.SampledFrom(held).Draw(t, "released")
				w.join(id, w.batches[id].Submission.Submitter, domain.ReleaseBatch{})
			}
			all := slices.Collect(maps.Values(w.batches))
			var deposits []eventstore.Deposit
			for _, b := range all {
				deposits = append(deposits, eventstore.DepositOfBatch(b))
			}
			want := treeOf(root.RingNodes(fair.QueueMetadata, deposits, w.state))
			for _, b := range deposits {
				if path := root.TicketNode(b); path != "" {
					want[path] = ""
				}
			}
			if d := cmp.Diff(want.dirs().queues(), w.tree.queues()); d != "" {
				t.Fatalf("(-want +got):\n%s", d)
			}
		}
	})
}

// TestOperationsOfAGrab: a grab is one multi of at most 16 operations.
func TestOperationsOfAGrab(t *testing.T) {
	t.Parallel()
	from := domain.Batch{ID: bid, Version: 1, State: domain.BatchPending, Submission: domain.Submission{Size: 12}, Ticket: &domain.Ticket{Queue: "metadata", User: "ana", Slot: 3}}
	for name, c := range map[string]struct {
		emptied bool
		running int
		want    string
	}{
		"first of many": {false, 0, `
			check /workers/w
			check /locks @4
			check /queues/metadata/config @5
			create /queues/metadata/running/ana
			delete /queues/metadata/users/0000000003-ana/B-12
			set /batches/B/status @7
			create /queues/metadata/running/ana/B
			set /queues/metadata/ring @6
			lock /batches/B/lock`},
		"the last, beside another": {true, 1, `
			check /workers/w
			check /locks @4
			check /queues/metadata/config @5
			set /queues/metadata/running/ana @8
			delete /queues/metadata/users/0000000003-ana/B-12
			set /batches/B/status @7
			create /queues/metadata/running/ana/B
			delete /queues/metadata/users/0000000003-ana
			delete /queues/metadata/names/ana
			set /queues/metadata/ring @6
			lock /batches/B/lock`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := fair.Decision{Rule: fair.RuleRoundRobin, User: "ana", Slot: 3, Deposit: fair.Deposit{ID: string(bid)}, Emptied: c.emptied, After: fair.Position{Turn: 1}}
			l := &eventstore.Leave{Queue: "metadata", Processor: "default", Decision: d, Deposit: bid.Aggregate(), RingToken: 6, Settings: 5, Running: c.running, RunningToken: 8,
				HoldsVersion: holds, Claim: &eventstore.Claim{Worker: "w", Aggregate: bid.Aggregate()}}
			change, _ := batchChange(t, from, domain.GrabBatch{Ticket: domain.Ticket{Queue: "metadata", User: "ana", Slot: 3, Turn: 1}, Ring: domain.RingPosition{Turn: 1}}, domain.Facts{})
			change.Leave = l
			ops := root.Changes([]eventstore.Change{change}, layout.Inputs{})
			if got, want := short(ops), lines(c.want); got != want || len(ops) > 16 {
				t.Errorf("%d operations:\n%s\nwant:\n%s", len(ops), got, want)
			}
		})
	}
}

// TestOperationsOfASynchronousDeposit: it proves settings, holds and the number that runs, and
// counts itself, with its batch; its end counts it out.
func TestOperationsOfASynchronousDeposit(t *testing.T) {
	t.Parallel()
	for running, want := range map[int]string{
		0: `
			check /locks @4
			check /queues/metadata/config @5
			create /queues/metadata/pools/synchronous
			create /batches/B
			create /batches/B/submission
			create /batches/B/status
			create /queues/metadata/pools/synchronous/B`,
		2: `
			check /locks @4
			check /queues/metadata/config @5
			set /queues/metadata/pools/synchronous @8
			create /batches/B
			create /batches/B/submission
			create /batches/B/status
			create /queues/metadata/pools/synchronous/B`,
	} {
		pool := &eventstore.Pool{Pool: fair.Pool{Queue: "metadata", Config: fair.DefaultConfig(), Running: running}, Settings: 5, RunningToken: 8}
		change, _ := batchChange(t, domain.Batch{ID: bid}, domain.SubmitBatch{Submission: domain.Submission{Submitter: "ana"}, Synchronous: true}, domain.Facts{Pool: &pool.Pool})
		change.Pool = pool
		if got, want := short(root.Changes([]eventstore.Change{change}, layout.Inputs{})), lines(want); got != want {
			t.Errorf("beside %d:\n%s\nwant:\n%s", running, got, want)
		}
	}
	from := domain.Batch{ID: bid, Version: 1, State: domain.BatchPending, Ticket: &domain.Ticket{Queue: "metadata", User: "ana", Synchronous: true}}
	for running, want := range map[int]string{
		1: `
			check /locks @4
			delete /queues/metadata/pools/synchronous/B
			set /batches/B/status @7
			delete /queues/metadata/pools/synchronous @8`,
		2: `
			check /locks @4
			delete /queues/metadata/pools/synchronous/B
			set /batches/B/status @7
			set /queues/metadata/pools/synchronous @8`,
	} {
		change, _ := batchChange(t, from, domain.HoldBatch{}, domain.Facts{CollectionHold: &domain.Hold{}})
		if got, want := short(root.Changes([]eventstore.Change{change}, layout.Inputs{Ring: &layout.RingInputs{Running: running, RunningToken: 8}})), lines(want); got != want {
			t.Errorf("the end beside %d:\n%s\nwant:\n%s", running-1, got, want)
		}
	}
}

// TestNamesOfTickets: what names hold can be read back.
func TestNamesOfTickets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		user, slot, size := rapid.String().Draw(t, "user"), rapid.Int64Range(1, 1<<40).Draw(t, "slot"), rapid.Int64Range(0, 1<<50).Draw(t, "size")
		base := func(path string) string { return path[strings.LastIndex(path, "/")+1:] }
		if s, u, ok := layout.ParseRingUser(base(root.RingUser("metadata", user, slot))); !ok || u != user || s != slot {
			t.Errorf("%q in slot %d reads as %q in slot %d (%v)", user, slot, u, s, ok)
		}
		if d, ok := layout.ParseRingEntry(base(root.RingEntry("metadata", user, slot, string(bid), size))); !ok || d != (fair.Deposit{ID: string(bid), Number: bid.Number(), Size: size}) {
			t.Errorf("an entry of %d bytes reads as %s (%v)", size, fmt.Sprint(d), ok)
		}
	})
}
