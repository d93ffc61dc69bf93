package zklive_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestFinishedJobsCostNothing counts what claims and transitions of a job and of a batch
// ask of ZooKeeper and what they get: beside 2,000 finished jobs it is the same requests
// with the same operations, and not more bytes, which a list or a node that grows with
// them would need.
// Shows: P8
func TestFinishedJobsCostNothing(t *testing.T) {
	t.Parallel()
	const batches, jobsOfBatch = 200, 10
	w := &env{root: "/test-" + uuid.NewString()}
	l := newLoser(t, w.root)
	s, err := zklive.Open(t.Context(), zklive.Config{Servers: l.addresses(), Root: w.root, GroupCommit: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	k := storetest.NewKit(t, s)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	// Each step is alone: what it asks for is not mixed with what another one does.
	steps := []struct {
		name string
		do   func(c *eventstore.Claim) *eventstore.Claim
	}{
		{"claim a batch", func(*eventstore.Claim) *eventstore.Claim {
			c, _, err := k.Store.NextBatch(t.Context(), domain.BatchPending, nil)
			must(err)
			return c
		}},
		{"list a batch of one job, make it and let the batch go on", func(c *eventstore.Claim) *eventstore.Claim {
			k.Make(c, k.List(c, 1), 0, 5)
			k.DoBatch(domain.BatchID(c.Aggregate.ID), domain.StartBatch{}, storetest.Under(c, false))
			return nil
		}},
		{"claim a job", func(*eventstore.Claim) *eventstore.Claim {
			c, _, err := k.Store.NextJob(t.Context(), domain.JobPending, nil)
			must(err)
			return c
		}},
		{"move a job on", func(c *eventstore.Claim) *eventstore.Claim {
			k.DoJob(domain.JobID(c.Aggregate.ID), domain.AcceptJob{}, storetest.Under(c, false))
			return nil
		}},
	}
	// What the process reads once, and in the background, comes on top of what a step costs, and
	// how writes are grouped makes a difference: the cheapest of some rounds is without it. Beside
	// finished jobs there are more of them before a step counts as dearer.
	const rounds, more = 12, 120
	type cost struct {
		requests []string
		bytes    int
	}
	dearer := func(beside, alone cost) bool {
		n := len(beside.requests) - len(alone.requests)
		return n > 0 || n == 0 && !slices.Equal(beside.requests, alone.requests) || beside.bytes > alone.bytes+alone.bytes/10
	}
	cheapest := func(enough func(round int, least []cost) bool) []cost {
		least := make([]cost, len(steps))
		for round := 0; !enough(round, least); round++ {
			k.Submit()
			var c *eventstore.Claim
			for i, step := range steps {
				var now cost
				now.bytes = l.carries(func() { now.requests = l.hears(func() { c = step.do(c) }) })
				if n := len(least[i].requests); n == 0 || len(now.requests) < n {
					least[i].requests = slices.Sorted(slices.Values(now.requests))
				}
				if n := least[i].bytes; n == 0 || now.bytes < n {
					least[i].bytes = now.bytes
				}
			}
		}
		return least
	}
	alone := cheapest(func(round int, _ []cost) bool { return round == rounds })
	must(w.open(t, zklive.Config{}).FillFinished(t.Context(), 1_000_000, batches, jobsOfBatch))
	beside := cheapest(func(round int, least []cost) bool {
		for i := range least {
			if dearer(least[i], alone[i]) {
				return round == more
			}
		}
		return round >= rounds
	})
	for i, step := range steps {
		want, got := alone[i], beside[i]
		if want.bytes == 0 || !strings.Contains(strings.Join(want.requests, "\n"), "create ") {
			t.Errorf("%s: nothing was counted: %d bytes, %q", step.name, want.bytes, want.requests)
		}
		if dearer(got, want) {
			t.Errorf("%s: %d bytes beside finished jobs, %d without; requests (-without +with):\n%s", step.name, got.bytes, want.bytes, cmp.Diff(want.requests, got.requests))
		}
		t.Logf("%s: %d requests, %d bytes", step.name, len(got.requests), got.bytes)
	}
}
