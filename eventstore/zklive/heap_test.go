package zklive_test

import (
	"errors"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// TestJobsWaitForHeap: the jobs of a listing that does not fit the heap as a whole are
// not begun; a listing that was begun goes on; finished jobs take less, and those whose
// batch was removed nothing.
// Shows: P8
func TestJobsWaitForHeap(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	const rows, fits = 20, 23
	empty, err := w.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if empty.Heap != 0 || empty.Jobs != 0 || empty.Batches != 0 {
		t.Fatalf("an empty tree takes %+v", empty)
	}
	s := w.open(t, zklive.Config{HeapLimit: fits * 8 << 10})
	k := storetest.NewKit(t, s)
	h, ctx := handlerOf(s), t.Context()
	listed := func() (domain.BatchID, domain.JobID) {
		id, err := s.ReserveBatchID(ctx)
		if err != nil {
			t.Fatal(err)
		}
		first, err := s.ReserveJobIDs(ctx, rows)
		if err != nil {
			t.Fatal(err)
		}
		k.DoBatch(id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Type: domain.TypeBatchManifest}}, storetest.Operator())
		k.DoBatch(id, domain.ListBatch{Listing: domain.Listing{Rows: rows, FirstJID: first}}, storetest.Operator())
		return id, first
	}
	create := func(id domain.BatchID, first domain.JobID, from, n int) error {
		cmds := make([]domain.CreateJob, n)
		for i := range cmds {
			cmds[i] = domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: id, ProfileName: "maps", Row: from + i}}
		}
		_, err := h.CreateJobs(ctx, first, from, cmds, storetest.Operator())
		return err
	}
	one, first := listed()
	other, next := listed()
	for row := 0; row < rows; row += rows / 2 {
		if err := create(one, first, row, rows/2); err != nil {
			t.Fatalf("rows from %d on: %v", row, err)
		}
		if err := create(other, next, 0, rows/2); !errors.Is(err, eventstore.ErrFull) {
			t.Errorf("beside %d jobs: %v", row+rows/2, err)
		}
	}
	full, err := s.Load(ctx)
	if err != nil || full.Jobs != rows || full.Batches != 2 {
		t.Errorf("%+v, %v", full, err)
	}
	k.Walk(first, domain.JobCompleted)
	k.DoJob(first, domain.CleanJob{}, storetest.Operator())
	// No relay runs: what waits in the outbox takes its own share.
	if less, err := s.Load(ctx); err != nil || less.Jobs != rows || less.Heap-int64(less.Unsent)*4<<10 >= full.Heap-int64(full.Unsent)*4<<10 {
		t.Errorf("with a finished job %+v, before %+v: %v", less, full, err)
	}
}

// TestHeapOfEntries: an entry of the compute queue counts with all of its nodes until it is
// purged.
// Shows: P8
func TestHeapOfEntries(t *testing.T) {
	t.Parallel()
	w := newEnv(t)
	k := storetest.NewKit(t, w.store)
	const entries, ofNode = 6, 580 // bytes, as they were measured
	nodes := func() (n int) {
		for _, dir := range []string{"/unowned", "/owned", "/done", "/failed", "/compute/entries", "/compute/keys", "/compute/claims"} {
			n += len(w.nodes(t, dir)) - 1
		}
		return n
	}
	counts := func(want int) {
		t.Helper()
		load, err := w.store.Load(t.Context())
		heap := load.Heap - int64(load.Unsent)*4<<10
		if err != nil || load.Entries != want || heap != int64(want)*4<<10 || heap < int64(nodes())*ofNode || want > 0 && nodes() < 3*want {
			t.Errorf("%d entries with %d nodes: %+v, %d bytes without the outbox (%v)", want, nodes(), load, heap, err)
		}
	}
	counts(0)
	for i := range entries {
		k.Request("maps", "", 100, string(rune('a'+i)))
	}
	for range entries {
		if _, err := k.Handler.TakeEntry(t.Context(), compute.Wants{}, storetest.Under(nil, false)); err != nil {
			t.Fatal(err)
		}
	}
	if n := nodes(); n != 4*entries {
		t.Errorf("entries that workers have take %d nodes", n)
	}
	counts(entries)
	id := k.Request("maps", "", 100, "ended").State.ID
	counts(entries + 1)
	for _, cmd := range []compute.Command{compute.Fail{Reason: storetest.Broken()}, compute.Purge{}} {
		if _, err := k.Handler.Entry(t.Context(), id, cmd, storetest.Operator()); err != nil {
			t.Fatal(err)
		}
	}
	counts(entries)
}
