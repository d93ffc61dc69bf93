package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

var turnTests = tests{
	"turns":               testTurns,
	"turns of newcomers":  testTurnsOfNewcomers,
	"turns by events":     testTurnsByEvents,
	"batch turns":         testBatchTurns,
	"batch half known":    testBatchHalfKnown,
	"hand-over in turn":   testHandOverInTurn,
	"gate":                testGate,
	"gate of batches":     testBatchGate,
	"gate, claim in vain": testGateLeft,
}

// took claims n jobs and returns them.
func (k *Kit) took(n int, state domain.JobState) (ids []domain.JobID) {
	k.Helper()
	for range n {
		_, at := k.next(state)
		ids = append(ids, at.State.ID)
	}
	return ids
}

// testTurns: inside one priority the submitters are served in turn, each in the order of
// its jobs; a more urgent job of any of them comes first.
// Shows: P11
func testTurns(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, many := k.StartedBy("mallory", 5, 5, 5, 5, 5, 5)
	_, some := k.StartedBy("ana", 5, 5)
	_, urgent := k.StartedBy("mallory", 4)
	_, one := k.StartedBy("ben", 5)
	want := []domain.JobID{urgent[0], many[0], some[0], one[0], many[1], some[1], many[2], many[3], many[4], many[5]}
	if got := k.took(len(want), domain.JobPending); !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
}

// testTurnsOfNewcomers: a process that comes new to a queue serves submitters in turn, and
// two processes that share it take each job once.
func testTurnsOfNewcomers(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, many := k.StartedBy("mallory", 5, 5, 5, 5)
	_, some := k.StartedBy("ana", 5, 5)
	first, second := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	if got, want := first.took(3, domain.JobPending), []domain.JobID{many[0], some[0], many[1]}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
	if got := second.took(3, domain.JobPending); !slices.Equal(slices.Sorted(slices.Values(got)), []domain.JobID{many[2], many[3], some[1]}) {
		t.Errorf("the second took %v", got)
	}
}

// testTurnsByEvents: the jobs of which a process learns from the log have their turns too.
func testTurnsByEvents(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	k.StartedBy("cleo", 5)
	c, _ := k.next(domain.JobPending) // the queue is known, and empty
	bad, many := other.StartedBy("mallory", 5, 5, 5)
	good, some := other.StartedBy("ana", 5)
	for _, a := range []domain.Aggregate{many[0].Aggregate(), many[1].Aggregate(), many[2].Aggregate(), some[0].Aggregate(), bad.Aggregate(), good.Aggregate()} {
		for _, e := range other.Events(a) {
			k.Store.Observe(e)
		}
	}
	k.DoJob(domain.JobID(c.Aggregate.ID), domain.AcceptJob{}, Under(c, false))
	got := k.took(4, domain.JobPending)
	if i := slices.Index(got, some[0]); i < 0 || i > 1 {
		t.Errorf("took %v, and %s has its turn at once", got, some[0])
	}
}

// testBatchTurns: a submitter's batches keep their order, and no other waits longer than
// for one of them.
func testBatchTurns(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	m := []domain.BatchID{k.SubmitBy("mallory"), k.SubmitBy("mallory"), k.SubmitBy("mallory")}
	a := k.SubmitBy("ana")
	var got, rest []domain.BatchID
	for range 4 {
		_, at, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, at.State.ID); at.State.ID != a {
			rest = append(rest, at.State.ID)
		}
	}
	if i := slices.Index(got, a); i < 0 || i > 1 || !slices.Equal(rest, m) {
		t.Errorf("took %v", got)
	}
}

// testBatchHalfKnown: a process that has heard of a batch, but not who submitted it, still
// gives it its submitter's turn and not one of its own.
func testBatchHalfKnown(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	first, second := k.Submit(), k.Submit()
	c, _, err := k.Store.ClaimBatch(t.Context(), second)
	if err != nil {
		t.Fatal(err)
	}
	k.List(c, 1)
	if err := k.Store.Release(t.Context(), c, 0); err != nil {
		t.Fatal(err)
	}
	other := NewKit(t, env.Open(t))
	events := k.Events(second.Aggregate())
	other.Store.Observe(events[len(events)-1])
	if _, at, err := other.Store.NextBatch(t.Context(), domain.BatchPending, nil); err != nil || at.State.ID != first {
		t.Errorf("took %s (%v), want %s", at.State.ID, err, first)
	}
}

// testHandOverInTurn: a job is not handed over while another submitter's waits for its
// turn.
func testHandOverInTurn(t *testing.T, env Env) {
	k, _, c, job := inHand(t, env)
	_, others := k.StartedBy("ana", 5)
	k.Walk(others[0], domain.JobDownloading)
	k.refusedHandOver(c, job)
	if got, want := k.took(2, domain.JobDownloading), []domain.JobID{others[0], job}; !slices.Equal(got, want) {
		t.Errorf("took %v, want %v", got, want)
	}
}

// barrier is a gate with so many places for each payload, which bars submitters.
type barrier[S domain.Batch | domain.Job] struct {
	*barred
	entered string
	payload func(S) string
}

type barred struct {
	mu      sync.Mutex
	places  int
	taken   map[string]int
	not     string // the submitter who is barred
	changed chan struct{}
	entries int
}

func newBarred(places int, not string) *barred {
	return &barred{places: places, taken: map[string]int{}, not: not, changed: make(chan struct{})}
}

func (b *barred) set(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *barred) Open(submitter string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return submitter != b.not
}

func (b *barred) Free(full string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.taken[full] < b.places
}

func (b *barred) Changed() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

func (b *barrier[S]) Enter(_ context.Context, is S) string {
	b.Leave()
	to := b.payload(is)
	if !b.Free(to) {
		return to
	}
	b.set(func() { b.taken[to]++; b.entries++ })
	b.entered = to
	return ""
}

func (b *barrier[S]) Leave() {
	if b.entered != "" {
		b.set(func() { b.taken[b.entered]-- })
	}
	b.entered = ""
}

// jobGate is a gate for one claim, with places for each row.
func jobGate(b *barred) *barrier[domain.Job] {
	return &barrier[domain.Job]{barred: b, payload: func(j domain.Job) string { return j.Configuration.Submitter }}
}

// testGate: what may not pass waits unclaimed while the rest is claimed, and is claimed in
// its order when it may.
// Shows: P11
func testGate(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	_, bad := k.StartedBy("mallory", 5, 5, 5)
	_, good := k.StartedBy("ana", 5)
	_, out := k.StartedBy("ben", 1)
	b := newBarred(1, "ben")
	next := func() (domain.JobID, *barrier[domain.Job]) {
		t.Helper()
		g := jobGate(b)
		c, at, err := k.Store.NextJob(t.Context(), domain.JobPending, g)
		if err != nil || c == nil {
			t.Fatal(err)
		}
		return at.State.ID, g
	}
	first, gate := next()
	if first != bad[0] {
		t.Errorf("%s is first", first)
	}
	if id, _ := next(); id != good[0] {
		t.Errorf("%s is next, and %s may pass", id, good[0])
	}
	k.never("what may not pass is claimed", func(ctx context.Context) error {
		_, _, err := k.Store.NextJob(ctx, domain.JobPending, jobGate(b))
		return err
	})
	if locked := must[[]domain.Aggregate](k)(k.Store.Locked(t.Context(), bad[1].Aggregate(), bad[2].Aggregate(), out[0].Aggregate())); len(locked) > 0 {
		t.Errorf("%v are locked", locked)
	}
	got := make(chan domain.JobID, 1)
	go func() {
		_, at, _ := k.Store.NextJob(t.Context(), domain.JobPending, jobGate(b))
		got <- at.State.ID
	}()
	gate.Leave() // wakes the one that waits
	if id := <-got; id != bad[1] {
		t.Errorf("%s came through, want %s", id, bad[1])
	}
	go func() {
		_, at, _ := k.Store.NextJob(t.Context(), domain.JobPending, jobGate(b))
		got <- at.State.ID
	}()
	b.set(func() { b.not = "" })
	if id := <-got; id != out[0] {
		t.Errorf("%s came through, want %s", id, out[0])
	}
}

func testBatchGate(t *testing.T, env Env) {
	k := NewKit(t, env.Open(t))
	bad, good := []domain.BatchID{k.SubmitBy("mallory"), k.SubmitBy("mallory")}, k.SubmitBy("ana")
	b := newBarred(1, "ben")
	var got []domain.BatchID
	for range 2 {
		g := &barrier[domain.Batch]{barred: b, payload: func(b domain.Batch) string { return b.Submission.Submitter }}
		_, at, err := k.Store.NextBatch(t.Context(), domain.BatchPending, g)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, at.State.ID)
	}
	slices.Sort(got) // the one of which the index learned first comes first
	if want := []domain.BatchID{bad[0], good}; !slices.Equal(got, want) {
		t.Errorf("next are %v, want %v", got, want)
	}
}

// testGateLeft: a place that was taken for a claim that failed is given back.
func testGateLeft(t *testing.T, env Env) {
	k, other := NewKit(t, env.Open(t)), NewKit(t, env.Open(t))
	_, jobs := k.Started(5, 5)
	if _, _, err := other.Store.ClaimJob(t.Context(), jobs[0]); err != nil {
		t.Fatal(err)
	}
	b := newBarred(1, "")
	if _, at, err := k.Store.NextJob(t.Context(), domain.JobPending, jobGate(b)); err != nil || at.State.ID != jobs[1] {
		t.Errorf("next is %s (%v)", at.State.ID, err)
	}
	if b.taken["depositor"] != 1 {
		t.Errorf("%d places are taken, after %d entries", b.taken["depositor"], b.entries)
	}
}
