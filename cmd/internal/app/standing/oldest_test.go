package standing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// fakeLive has some batches and jobs, those that cannot be read and those that are locked.
type fakeLive struct {
	batches map[domain.BatchID]domain.Batch
	jobs    map[domain.JobID]domain.Job
	broken  map[string]bool
	locked  []domain.Aggregate
	away    error
}

func (l *fakeLive) fault(id string, found bool) error {
	switch {
	case l.away != nil:
		return l.away
	case l.broken[id]:
		return &eventstore.Error{Op: "load", Err: eventstore.ErrBroken}
	case !found:
		return eventstore.ErrNotFound
	}
	return nil
}

func (l *fakeLive) Batch(_ context.Context, id domain.BatchID) (at eventstore.Loaded[domain.Batch], err error) {
	b, found := l.batches[id]
	at.State = b
	return at, l.fault(string(id), found)
}

func (l *fakeLive) Job(_ context.Context, id domain.JobID) (at eventstore.Loaded[domain.Job], err error) {
	j, found := l.jobs[id]
	at.State = j
	return at, l.fault(string(id), found)
}

func (l *fakeLive) Locked(context.Context, ...domain.Aggregate) ([]domain.Aggregate, error) {
	return l.locked, nil
}

// TestLook: of each state the one that waits longest in the live state; what has moved on,
// is gone or is locked does not wait, and what cannot be read is named.
func TestLook(t *testing.T) {
	t.Parallel()
	since := func(d time.Duration) time.Time { return noon.Add(-d) }
	job := func(n int64, s domain.JobState, d time.Duration) query.Standing[domain.JobID, domain.JobState] {
		return query.Standing[domain.JobID, domain.JobState]{ID: domain.NewJobID(n), State: s, Since: since(d)}
	}
	c := Candidates{
		batches: []query.Standing[domain.BatchID, domain.BatchState]{{ID: domain.NewBatchID(1), State: domain.BatchPending, Since: since(time.Hour)}, {ID: domain.NewBatchID(2), State: domain.BatchPending, Since: since(2 * time.Hour)}},
		jobs: []query.Standing[domain.JobID, domain.JobState]{job(1, domain.JobNotify, 9*time.Hour), job(2, domain.JobNotify, 8*time.Hour), job(3, domain.JobNotify, 7*time.Hour),
			job(4, domain.JobNotify, 6*time.Hour), job(5, domain.JobNotify, 5*time.Hour), job(6, domain.JobNotify, 4*time.Hour)},
	}
	in := func(s domain.JobState) domain.Job { return domain.Job{State: s} }
	live := &fakeLive{
		batches: map[domain.BatchID]domain.Batch{domain.NewBatchID(1): {State: domain.BatchPending}, domain.NewBatchID(2): {State: domain.BatchPending, Reason: &domain.Reason{Message: "no room"}}},
		jobs: map[domain.JobID]domain.Job{domain.NewJobID(1): in(domain.JobCompleted), domain.NewJobID(3): in(domain.JobNotify), domain.NewJobID(5): in(domain.JobNotify),
			domain.NewJobID(6): in(domain.JobNotify)},
		broken: map[string]bool{"jid0000000004": true}, locked: []domain.Aggregate{domain.NewJobID(3).Aggregate()},
	}
	oldest, unreadable, err := c.Look(t.Context(), live, noon)
	if err != nil {
		t.Fatal(err)
	}
	want := []Oldest{{Kind: domain.KindBatch, Status: "pending", State: "pending", ID: "bid0000000002", Since: ago(2 * time.Hour), Seconds: 7200, Why: "no room"},
		{Kind: domain.KindJob, Status: "notify", State: "notify", ID: "jid0000000005", Since: ago(5 * time.Hour), Seconds: 18000}}
	if diff := cmp.Diff(want, oldest); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Unreadable{{Kind: domain.KindJob, ID: "jid0000000004"}}, unreadable, cmpopts.IgnoreFields(Unreadable{}, "Error")); diff != "" {
		t.Error(diff)
	}
	live.away = errors.New("away")
	if _, _, err := c.Look(t.Context(), live, noon); err == nil {
		t.Error("a server that does not answer is no error")
	}
}
