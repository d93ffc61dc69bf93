package daemon

import (
	"context"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// fullLive has no room for the first writes about a job.
type fullLive struct {
	eventstore.Live
	left  int
	tries int
	on    func() // called when there is no room
}

func (l *fullLive) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	if changes[0].Job != nil && l.left > 0 {
		l.left--
		l.tries++
		if l.on != nil {
			l.on()
		}
		return nil, &eventstore.FullError{What: "decisions", Have: 2, Max: 1}
	}
	return l.Live.Commit(ctx, changes...)
}

// A result for which the outbox has no room is kept until it has, and the work
// behind it is not done again.
// Shows: P18
func TestAResultWaitsForRoom(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	live := &fullLive{Live: w.h.Live, left: 2}
	w.h.Live = live
	steps := 0
	w.turnOf(stepOf(domain.DaemonJobDownloading, func(context.Context, *JobTask) Outcome {
		steps++
		return nextJob(domain.DownloadJob{Files: 1, Bytes: 1, Priority: domain.PriorityDefault})
	}))
	if j := w.job(id); j.State != domain.JobProcessing || steps != 1 || live.tries != 2 {
		t.Errorf("%s after %d steps and %d tries", j.State, steps, live.tries)
	}
}

// While it waits, a lost claim ends it.
func TestAResultDoesNotOutlastItsClaim(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	w.h.Live = &fullLive{Live: w.h.Live, left: 1, on: func() { w.mem.Expire(w.store) }}
	before := w.job(id)
	w.turnOf(stepOf(domain.DaemonJobDownloading, func(context.Context, *JobTask) Outcome {
		return nextJob(domain.DownloadJob{Files: 1, Bytes: 1, Priority: domain.PriorityDefault})
	}))
	if after := w.job(id); after.Version != before.Version {
		t.Errorf("it was written: %+v", after)
	}
}
