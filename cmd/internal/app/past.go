package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Moment is a place in the log, or a time by its clock; the zero value is now.
type Moment struct {
	Seq  uint64
	Time time.Time
}

// IsNow reports whether nothing older is asked for.
func (m Moment) IsNow() bool { return m.Seq == 0 && m.Time.IsZero() }

// Place says as of which event something is shown: everything up to it, nothing
// behind it.
type Place struct {
	Seq    uint64    `json:"seq"`
	Stored time.Time `json:"stored"` // when the log took it
}

// placeAt turns a moment into the last place that it holds.
func placeAt(ctx context.Context, log eventstore.Log, m Moment) (Place, error) {
	info, err := log.Info(ctx)
	if err != nil {
		return Place{}, err
	}
	seq := m.Seq
	if seq == 0 {
		behind, err := placeOf(ctx, log, info, m.Time.Add(1))
		if err != nil {
			return Place{}, err
		}
		seq = behind - 1
	}
	if seq < info.First || seq > info.Last {
		return Place{}, &Error{Kind: NotFound, What: "look into the past", Err: fmt.Errorf("the log holds the places %d to %d", info.First, info.Last),
			Hint: "`accession events ls` shows when each event was written"}
	}
	stored, err := storedAt(ctx, log, seq)
	return Place{seq, stored.UTC()}, err
}

// pastOf folds the events of some aggregates up to a moment.
func (a *App) pastOf(ctx context.Context, m Moment, events func(log eventstore.Log, to uint64) iter.Seq2[domain.Recorded, error]) (*query.Past, Place, error) {
	return a.fold(ctx, query.NewPast(), m, events)
}

// wholePast folds everything, without its changes of state: those are in the tables.
func (a *App) wholePast(ctx context.Context, m Moment) (*query.Past, Place, error) {
	return a.fold(ctx, query.NewPastStates(), m, func(log eventstore.Log, to uint64) iter.Seq2[domain.Recorded, error] {
		return log.Read(ctx, eventstore.ReadOptions{To: to})
	})
}

// tablesAt gives the tables for what is told by its place in the log: they must have
// come as far as the moment.
func (a *App) tablesAt(ctx context.Context, m Moment) (query.DB, Place, error) {
	log, err := a.Open.Log(ctx)
	if err != nil {
		return nil, Place{}, err
	}
	at, err := placeAt(ctx, log, m)
	if err != nil {
		return nil, at, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return nil, at, err
	}
	behind, err := query.Lag(ctx, db, at.Seq)
	if err == nil && behind > 0 {
		err = &Error{Kind: Unavailable, What: "look into the past", Err: fmt.Errorf("the tables are %d events behind place %d of the log", behind, at.Seq),
			Hint: "`accession status` tells how fast they come; ask again then"}
	}
	return db, at, err
}

func (a *App) fold(ctx context.Context, past *query.Past, m Moment, events func(log eventstore.Log, to uint64) iter.Seq2[domain.Recorded, error]) (*query.Past, Place, error) {
	log, err := a.Open.Log(ctx)
	if err != nil {
		return nil, Place{}, err
	}
	at, err := placeAt(ctx, log, m)
	if err != nil {
		return nil, at, err
	}
	for r, err := range events(log, at.Seq) {
		if err == nil {
			err = past.Apply(r)
		}
		if err != nil {
			return nil, at, err
		}
	}
	return past, at, nil
}

// batchPast folds everything of a batch: its own events, its jobs' and their files'.
func (a *App) batchPast(ctx context.Context, id domain.BatchID, m Moment) (*query.Past, Place, error) {
	return a.pastOf(ctx, m, func(_ eventstore.Log, to uint64) iter.Seq2[domain.Recorded, error] {
		sel, err := a.selectEvents(ctx, Selection{Batch: id, To: to}, false)
		if err != nil {
			return failing(err)
		}
		return sel.Recorded(ctx, nil)
	})
}

// jobPast folds a job, its files, and its batch's own events: what became of a
// failed attempt may depend on the batch.
func (a *App) jobPast(ctx context.Context, id domain.JobID, m Moment) (*query.Past, Place, error) {
	return a.pastOf(ctx, m, func(log eventstore.Log, to uint64) iter.Seq2[domain.Recorded, error] {
		sel, err := a.selectEvents(ctx, Selection{Job: id, To: to}, false)
		if err != nil {
			return failing(err)
		}
		return inOrder(func(yield func(iter.Seq2[domain.Recorded, error]) error) error {
			var batch domain.BatchID
			job := sel.Recorded(ctx, nil)
			if err := yield(func(y func(domain.Recorded, error) bool) {
				for r, err := range job {
					if batch = r.BatchID; !y(r, err) {
						return
					}
				}
			}); err != nil || batch == "" {
				return err
			}
			of := batch.Aggregate()
			return yield(log.Read(ctx, eventstore.ReadOptions{Aggregate: &of, To: to}))
		})
	})
}

// filePast folds a file and its job's own events.
func (a *App) filePast(ctx context.Context, id domain.FileHash, m Moment) (*query.Past, Place, error) {
	return a.pastOf(ctx, m, func(log eventstore.Log, to uint64) iter.Seq2[domain.Recorded, error] {
		return inOrder(func(yield func(iter.Seq2[domain.Recorded, error]) error) error {
			of, job := id.Aggregate(), domain.JobID("")
			file := log.Read(ctx, eventstore.ReadOptions{Aggregate: &of, To: to})
			if err := yield(func(y func(domain.Recorded, error) bool) {
				for r, err := range file {
					if move, ok := domain.MoveOfFile(r.Data); ok {
						job = move.JobID
					}
					if !y(r, err) {
						return
					}
				}
			}); err != nil || job == "" {
				return err
			}
			own := job.Aggregate()
			return yield(log.Read(ctx, eventstore.ReadOptions{Aggregate: &own, To: to}))
		})
	})
}

// inOrder collects what several reads give, and gives it in the order of the log.
func inOrder(reads func(yield func(iter.Seq2[domain.Recorded, error]) error) error) iter.Seq2[domain.Recorded, error] {
	var all []domain.Recorded
	err := reads(func(events iter.Seq2[domain.Recorded, error]) error {
		for r, err := range events {
			if err != nil {
				return err
			}
			all = append(all, r)
		}
		return nil
	})
	if err != nil {
		return failing(err)
	}
	slices.SortFunc(all, func(a, b domain.Recorded) int { return cmp.Compare(a.Seq, b.Seq) })
	return func(yield func(domain.Recorded, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func failing(err error) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) { yield(domain.Recorded{}, err) }
}

// notYet says that something was not there then.
func notYet(what string, at Place, err error) error {
	if !errors.Is(err, query.ErrNotFound) {
		return explain("show "+what, err)
	}
	return &Error{Kind: NotFound, What: "show " + what, Err: fmt.Errorf("the log knew nothing of it at place %d, %s", at.Seq, at.Stored.Format(time.RFC3339)),
		Hint: "without --at it is shown as it is now"}
}
