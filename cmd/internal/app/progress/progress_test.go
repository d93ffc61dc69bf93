package progress

import (
	"maps"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
)

// TestCountingIsNoRecount: an event costs the same however many jobs there are.
func TestCountingIsNoRecount(t *testing.T) {
	t.Parallel()
	batch := domain.NewBatchID(1)
	w := New(batch)
	moved := func(job int64, to domain.JobState) {
		id := domain.NewJobID(job)
		w.Add(domain.Recorded{BatchID: batch, Event: domain.Event{Aggregate: id.Aggregate(), Data: &domain.JobMoved{JobMove: domain.JobMove{To: to}}}})
	}
	// A recount of 50 000 jobs at each of their events would take minutes.
	const jobs, most = 50_000, 10 * time.Second
	begun := time.Now()
	for i := range int64(jobs) {
		moved(i+1, domain.JobPending)
		moved(i+1, domain.JobCompleted)
		if time.Since(begun) > most {
			t.Fatalf("%d jobs took %s", i+1, most)
		}
	}
	if w.Now.Completed != jobs || len(w.Now.Jobs) != 1 {
		t.Errorf("%+v", w.Now)
	}
}

// TestProgressAlwaysAddsUp counts random histories of a batch.
func TestProgressAlwaysAddsUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "jobs")
		batch := domain.NewBatchID(1)
		w := New(batch)
		w.Add(domain.Recorded{BatchID: batch, Event: domain.Event{Type: domain.EventBatchListed, Aggregate: batch.Aggregate(),
			Data: &domain.BatchListed{BatchMove: domain.BatchMove{From: domain.BatchPending, To: domain.BatchPending}, Listing: domain.Listing{Rows: n}}}})
		for range rapid.IntRange(0, 30).Draw(t, "events") {
			job := domain.NewJobID(int64(rapid.IntRange(1, n).Draw(t, "job")))
			to := rapid.SampledFrom(append([]domain.JobState{domain.JobDeleted}, domain.JobStates...)).Draw(t, "to")
			w.Add(domain.Recorded{BatchID: batch, Event: domain.Event{Aggregate: job.Aggregate(), Data: &domain.JobMoved{JobMove: domain.JobMove{To: to}}}})
			p := w.Now
			if p.Listed != p.Completed+p.Failed+p.Held+p.Deleted+p.InProgress || p.InProgress < 0 {
				t.Fatalf("does not add up: %+v", p)
			}
			recounted := map[domain.JobState]int{}
			for _, s := range w.jobs {
				recounted[s]++
			}
			if !maps.Equal(recounted, p.Jobs) {
				t.Fatalf("counted %v, there are %v", p.Jobs, recounted)
			}
		}
	})
}

// TestAddedVersions counts the jobs that add a version to an object that was there, and
// names the first of them.
func TestAddedVersions(t *testing.T) {
	t.Parallel()
	w := New(domain.NewBatchID(1))
	const jobs = 2*maxVersions + 1
	for n := range int64(jobs) {
		id := domain.NewJobID(n)
		w.Add(domain.Recorded{Event: domain.Event{Aggregate: id.Aggregate(), Data: &domain.JobProcessed{
			JobMove: domain.JobMove{To: domain.JobRecording}, Object: domain.StoredObject{Primary: "ark:/99999/fk4x", Version: int(n%2) + 1}}}})
	}
	if v := w.Now.Versions; w.Now.Added != maxVersions || len(v) != maxVersions || v[0] != (Version{domain.NewJobID(1), "ark:/99999/fk4x", 2}) {
		t.Errorf("%d added: %+v", w.Now.Added, v)
	}
}
