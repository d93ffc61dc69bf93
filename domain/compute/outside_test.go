package compute_test

import (
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// TestStepsOfStates: the entry for a state is of use while its job is in that state, at the
// attempt that has requested it; the key of one is that of no other step.
func TestStepsOfStates(t *testing.T) {
	t.Parallel()
	for _, state := range compute.OutsideStates {
		j := domain.Job{ID: domain.NewJobID(42), State: state, RetryCount: 2}
		s := compute.StateStep(j)
		if got, is := compute.StepOf(s.Key()); !is || got != s || !s.Outside() || s.State() != state || s.Title() != string(state) || !compute.Reserved(s.Key()) {
			t.Errorf("%s: %+v, %v", s.Key(), got, is)
		}
		if !s.Waits(j) {
			t.Errorf("%s does not wait", state)
		}
		j.RetryCount++
		if s.Waits(j) {
			t.Errorf("%s waits for an attempt that has ended", state)
		}
		if j.RetryCount, j.State = 2, domain.JobProcessing; s.Waits(j) {
			t.Errorf("%s is waited for in processing", state)
		}
		work := entry.Work{Dataset: compute.StateDataset(state), Key: s.Key()}
		if err := work.Check(); err != nil || !compute.OfState(work.Dataset) {
			t.Errorf("%+v: %v", work, err)
		}
	}
	if s := (compute.Step{Name: string(domain.JobRecording)}); s.Outside() || s.State() != domain.JobProcessing || s.Title() != s.Name {
		t.Errorf("a step that is called recording is in %s", s.State())
	}
	if compute.OfState("scans") {
		t.Error("scans is taken for the dataset of a state")
	}
}

// TestStatesAreAskedFor: who takes work on all datasets gets none of a state of jobs, and who
// asks for a state gets that.
func TestStatesAreAskedFor(t *testing.T) {
	t.Parallel()
	var q compute.Queue
	recording := compute.StateDataset(domain.JobRecording)
	put := func(n int64, dataset string, p entry.Priority) {
		q.Put(compute.Waiting{Name: entry.Name{Priority: p, Group: entry.Group{Dataset: dataset, Group: "g"}, Sequence: n}})
	}
	take := func(want int64, datasets ...string) {
		t.Helper()
		got, is := q.Choose(compute.Wants{Datasets: datasets, PassLimit: compute.PassLimit})
		if got.Take.Sequence != want || is != (want > 0) {
			t.Errorf("%v: %d, %v, want %d", datasets, got.Take.Sequence, is, want)
		}
	}
	put(1, recording, 100)
	take(0)
	take(1, recording)
	put(2, "tides", 100)
	put(3, "tides", 50)
	put(4, recording, 50)
	take(2)
	q.Remove(2)
	take(3)
	take(1, recording)
	q.Remove(1)
	take(4, recording)
	q.Remove(4)
	take(3)
	q.Remove(3)
	take(0)
	if take(0, recording); q.Len() != 0 {
		t.Errorf("%d are left", q.Len())
	}
}
