package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// missing lists the jobs that a batch listed and that are in neither list.
func missing(l *domain.Listing, lists ...[]domain.JobID) (ids []domain.JobID) {
	if l == nil {
		return nil
	}
	there := setOf(slices.Concat(lists...))
	for row := range l.Rows {
		if id := l.FirstJID.Plus(row); !there[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

func setOf(ids []domain.JobID) map[domain.JobID]bool {
	set := make(map[domain.JobID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// historyOf returns jobs that are not in the live state, in the order given, as their
// events have them. A deletion has an event, so a job that is missing without one was
// lost; the zero State says that it has no event. The tables are not asked: they may be
// behind.
//
// No job is deleted while the report of its batch is made, so all events are committed.
// They only move from the outbox to the log: an event that is neither in the outbox
// nor, read after it, in the log does not exist. The outbox is read only if the log
// does not explain all jobs.
func (s *steps) historyOf(ctx context.Context, ids []domain.JobID) ([]domain.Job, error) {
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
func (s *steps) fromLog(ctx context.Context, jobs []domain.Job) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(reportParallel)
	for i := range jobs {
		if !notDeleted(jobs[i]) {
			continue
		}
		of := jobs[i].ID.Aggregate()
		g.Go(func() error {
			for r, err := range s.cfg.Files.Log.Read(gctx, eventstore.ReadOptions{Aggregate: &of}) {
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

// outboxPage is how many items of the outbox are read at once.
const outboxPage = 500

// fromOutbox finds the events of the named jobs that are not in the log yet.
func (s *steps) fromOutbox(ctx context.Context, of map[domain.Aggregate][]domain.Recorded) error {
	for shard := range s.cfg.Outbox.Shards() {
		after, err := s.cfg.Outbox.Unsent(ctx, shard)
		for err == nil {
			var items []eventstore.Item
			if items, err = s.cfg.Outbox.Read(ctx, shard, after, outboxPage); err != nil {
				break
			}
			if len(items) == 0 {
				// A page may be empty because all of it was sent and removed meanwhile.
				mark, markErr := s.cfg.Outbox.Unsent(ctx, shard)
				if err = markErr; err != nil || !after.Before(mark) {
					break
				}
				after = mark
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
