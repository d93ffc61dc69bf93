// Package history folds what the log and the outbox have of jobs that are not in the live
// state.
package history

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Source is where the events of jobs are.
type Source struct {
	Log    eventstore.Log
	Outbox interface { // the part of eventstore.Outbox that is read
		Shards() int
		Mark(ctx context.Context, shard int) (eventstore.Mark, error)
		Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error)
	}
}

// Missing lists the jobs that a batch listed and that are in neither list.
func Missing(l *domain.Listing, lists ...[]domain.JobID) (ids []domain.JobID) {
	if l == nil {
		return nil
	}
	there := map[domain.JobID]bool{}
	for _, id := range slices.Concat(lists...) {
		there[id] = true
	}
	for row := range l.Rows {
		if id := l.FirstJID.Plus(row); !there[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// Of returns jobs that are not in the live state, in the order given, as their
// events have them. A deletion has an event, so a job that is missing without one was
// lost; the zero State says that it has no event. The tables are not asked: they may be
// behind.
//
// No job is deleted while the report of its batch is made, so all events are committed.
// They only move from the outbox to the log: an event that is neither in the outbox
// nor, read after it, in the log does not exist. The outbox is read only if the log
// does not explain all jobs.
func (s Source) Of(ctx context.Context, ids []domain.JobID) ([]domain.Job, error) {
	jobs := make([]domain.Job, len(ids))
	unsent := make(map[domain.Aggregate][]domain.Recorded, len(ids))
	for i, id := range ids {
		jobs[i].ID, unsent[id.Aggregate()] = id, nil
	}
	if err := s.fromLog(ctx, jobs); err != nil || !slices.ContainsFunc(jobs, notDeleted) {
		return jobs, err
	}
	if err := s.fromOutbox(ctx, unsent); err != nil {
		return jobs, err
	}
	if err := s.fromLog(ctx, jobs); err != nil {
		return jobs, err
	}
	for i := range jobs {
		for _, r := range unsent[jobs[i].ID.Aggregate()] {
			next(&jobs[i], r)
		}
	}
	return jobs, nil
}

func notDeleted(j domain.Job) bool { return j.State != domain.JobDeleted }

// next applies an event to a job that may have it already. An event that does not fit
// is ignored.
func next(j *domain.Job, r domain.Recorded) {
	if after, err := domain.EvolveJob(*j, r); err == nil {
		*j = after
	}
}

// fromLog folds what the log has of those jobs that are not known to be deleted.
func (s Source) fromLog(ctx context.Context, jobs []domain.Job) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i := range jobs {
		if !notDeleted(jobs[i]) {
			continue
		}
		of := jobs[i].ID.Aggregate()
		g.Go(func() error {
			for r, err := range s.Log.Read(gctx, eventstore.ReadOptions{Aggregate: &of}) {
				switch {
				case errors.Is(err, eventstore.ErrBroken):
					return nil // so does one that cannot be read
				case err != nil:
					return fmt.Errorf("read what became of %s: %w", of, err)
				}
				next(&jobs[i], r)
			}
			return nil
		})
	}
	return g.Wait()
}

// parallel is how many jobs are read at once.
const parallel = 32

// outboxPage is how many items of the outbox are read at once.
const outboxPage = 500

// fromOutbox finds the events of the named jobs that are not in the log yet.
func (s Source) fromOutbox(ctx context.Context, of map[domain.Aggregate][]domain.Recorded) error {
	for shard := range s.Outbox.Shards() {
		mark, err := s.Outbox.Mark(ctx, shard)
		after := mark.Offset
		for err == nil {
			var items []eventstore.Item
			if items, err = s.Outbox.Read(ctx, shard, after, outboxPage); err != nil {
				break
			}
			if len(items) == 0 {
				// A page may be empty because all of it was sent and removed meanwhile.
				mark, markErr := s.Outbox.Mark(ctx, shard)
				if err = markErr; err != nil || !after.Before(mark.Offset) {
					break
				}
				after = mark.Offset
				continue
			}
			after = items[len(items)-1].Offset
			for _, it := range items {
				for _, r := range it.Events {
					if list, asked := of[r.Aggregate]; asked {
						of[r.Aggregate] = append(list, r)
					}
				}
			}
		}
		if err != nil {
			return fmt.Errorf("read what became of jobs from the outbox: %w", err)
		}
	}
	return nil
}
