package consistency

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/memory"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// A fold of a history up to a version is what the live state had then.
func TestHistoriesAreFoldedToAVersion(t *testing.T) {
	t.Parallel()
	kit := storetest.NewKit(t, memory.New(memory.Options{}).Session())
	_, ids := kit.Started(5)
	kit.Walk(ids[0], domain.JobCompleted)
	a := ids[0].Aggregate()
	events := kit.Events(a)
	for version := range int64(len(events)) + 1 {
		j, err := jobs.fold(a, events, version)
		want := version
		if version == 0 {
			want = int64(len(events))
		}
		if is := jobs.key(j); err != nil || is.version != want || is.aggregate != a || is.batch == "" {
			t.Errorf("folded to %d: %+v, %v", version, is, err)
		}
	}
	if _, err := jobs.fold(a, events[1:], 0); err == nil {
		t.Error("a history without its first event was folded")
	}

	f := newFolded()
	for _, r := range events {
		if err := f.apply(r); err != nil {
			t.Fatal(err)
		}
	}
	if j := f.jobs[a]; j.State != domain.JobCompleted || f.made[j.Configuration.BatchID] != 1 {
		t.Errorf("%+v, %v", j, f.made)
	}
	if err := f.apply(domain.Recorded{Event: domain.Event{Aggregate: domain.Aggregate{Kind: "ship", ID: "x"}}}); err == nil {
		t.Error("an event of no kind was folded")
	}
}

// All of a batch is folded in one pass.
func TestBatchesAreSharedByPasses(t *testing.T) {
	t.Parallel()
	for _, parts := range []uint32{1, 3} {
		seen := map[uint32]bool{}
		for i := range int64(100) {
			batch := domain.NewBatchID(i + 1)
			part := partOf(batch, string(batch), parts)
			if part >= parts || partOf(batch, "jid0000000007", parts) != part {
				t.Errorf("%s is in part %d of %d", batch, part, parts)
			}
			seen[part] = true
		}
		if len(seen) != int(parts) {
			t.Errorf("%d of %d parts are used", len(seen), parts)
		}
	}
}
