package compute

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Stranded finds entries; [StrandedOf] is one.
type Stranded interface {
	// Stranded lists entries that have not ended, and whose jobs may not wait for them any more, as
	// [query.StrandedEntries] does.
	Stranded(ctx context.Context, after compute.ID, limit int) ([]query.EntryRow, error)
}

// StrandedOf are the tables in PostgreSQL.
type StrandedOf struct{ DB query.DB }

// Stranded implements Stranded.
func (t StrandedOf) Stranded(ctx context.Context, after compute.ID, limit int) ([]query.EntryRow, error) {
	return query.StrandedEntries(ctx, t.DB, after, limit)
}

// strandedPage is how many entries are looked at at once.
const strandedPage = 500

// Strand ends the entries for which no job waits any more: it has failed, was requeued since or
// is deleted. The job in the live state decides. A worker that has one under a lease loses it; one
// with a session looks after its job itself, and ends it.
func (l *Leader) Strand(ctx context.Context) error {
	for after := compute.ID(""); ; {
		rows, err := l.Tables.Stranded(ctx, after, strandedPage)
		if err != nil {
			return err
		}
		for _, row := range rows {
			after = compute.ID(row.ID)
			if step, is := compute.StepOf(row.Key); is {
				if err := l.strand(ctx, after, step); err != nil {
					return err
				}
			}
		}
		if len(rows) < strandedPage {
			return nil
		}
	}
}

// strand ends an entry unless its job waits for it.
func (l *Leader) strand(ctx context.Context, id compute.ID, step compute.Step) error {
	at, err := l.Handler.Live.Job(ctx, step.Job)
	switch {
	case err == nil && step.Waits(at.State), errors.Is(err, eventstore.ErrBroken):
		return nil
	case err != nil && !errors.Is(err, eventstore.ErrNotFound):
		return err
	}
	now, err := l.Handler.Entries.LoadEntry(ctx, id)
	if err != nil || now.State.State.Ended() {
		return but(err, eventstore.ErrNotFound, eventstore.ErrBroken)
	}
	var lease eventstore.Lease
	if now.State.Owned() {
		if lease, err = l.Handler.Leases.LoadLease(ctx, id); err != nil {
			return but(err, eventstore.ErrNotFound, eventstore.ErrBroken)
		}
	}
	err = crash.Around("compute/entry/strand", func() error {
		if lease.SHA256 != "" {
			_, err := l.Handler.EndLease(ctx, id, lease.SHA256, compute.JobMoved(step.Job), meta())
			return err
		}
		_, err := l.Handler.Entry(ctx, id, compute.JobMoved(step.Job), meta())
		return err
	})
	if err == nil {
		l.Log.Info("no job waits for an entry any more", "entry", id, "job", step.Job, "worker", now.State.Worker)
	}
	return but(err, eventstore.ErrNotFound, eventstore.ErrBroken, eventstore.ErrLocked, eventstore.ErrFenced)
}
