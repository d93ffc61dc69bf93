package app

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// Moment is a sequence in the log, or a time by its clock; the zero value is now.
type Moment struct {
	Seq  uint64
	Time time.Time
}

// IsNow reports whether the moment is now.
func (m Moment) IsNow() bool { return m.Seq == 0 && m.Time.IsZero() }

// AsOf is the event as of which something is shown.
type AsOf = report.AsOf

// asOf finds the last event at a moment.
func asOf(ctx context.Context, log eventstore.Log, info eventstore.LogInfo, m Moment) (at AsOf, err error) {
	defer Explained(&err, "look into the past")
	if at.Seq = m.Seq; at.Seq == 0 {
		behind, err := seqAt(ctx, log, info, m.Time.Add(1))
		if err != nil {
			return at, err
		}
		at.Seq = behind - 1
	}
	if at.Seq < info.First || at.Seq > info.Last {
		return at, errorf(NotFound, "`accession events ls` shows when each event was written", "the log holds the sequences %d to %d", info.First, info.Last)
	}
	stored, err := storedAt(ctx, log, at.Seq)
	at.Stored = stored.UTC()
	return at, err
}

// seqAt returns the sequence of the first event that the log stored at t or later, or
// the one behind its end. It is a binary search, which reads some twenty events.
func seqAt(ctx context.Context, log eventstore.Log, info eventstore.LogInfo, t time.Time) (uint64, error) {
	var failed error
	n := sort.Search(int(info.Last+1-info.First), func(i int) bool {
		stored, err := storedAt(ctx, log, info.First+uint64(i))
		if err != nil {
			failed = err
		}
		return failed != nil || !stored.Before(t)
	})
	return info.First + uint64(n), failed
}

func storedAt(ctx context.Context, log eventstore.Log, seq uint64) (time.Time, error) {
	for r, err := range log.Read(ctx, eventstore.ReadOptions{From: seq, To: seq}) {
		return r.Stored, err
	}
	return time.Time{}, fmt.Errorf("sequence %d of the log is empty: %w", seq, eventstore.ErrBroken)
}

// tablesAt returns the tables for reads by sequence. It is an error if their checkpoint
// is before the moment.
func (a *App) tablesAt(ctx context.Context, m Moment) (db query.DB, at AsOf, err error) {
	defer Explained(&err, "look into the past")
	log, info, err := a.log(ctx)
	if err != nil {
		return nil, at, err
	}
	if at, err = asOf(ctx, log, info, m); err != nil {
		return nil, at, err
	}
	if db, err = a.Open.DB(ctx); err != nil {
		return nil, at, err
	}
	behind, err := query.Lag(ctx, db, at.Seq)
	if err == nil && behind > 0 {
		err = errorf(Unavailable, "`accession status` shows how fast they catch up; try again then", "the tables are %d events behind sequence %d of the log", behind, at.Seq)
	}
	return db, at, err
}

// events is part of the history, in the order of the log.
type events = iter.Seq2[domain.Recorded, error]

// fold folds part of the history up to a moment.
func (a *App) fold(ctx context.Context, past *query.Past, m Moment, read func(log eventstore.Log, to uint64) (events, error)) (*query.Past, AsOf, error) {
	log, info, err := a.log(ctx)
	if err != nil {
		return nil, AsOf{}, err
	}
	at, err := asOf(ctx, log, info, m)
	if err != nil {
		return nil, at, err
	}
	list, err := read(log, at.Seq)
	if err != nil {
		return nil, at, err
	}
	for r, err := range list {
		if err == nil {
			err = past.Apply(r)
		}
		if err != nil {
			return nil, at, err
		}
	}
	return past, at, nil
}

// wholePast folds the whole history, without transitions, of which only what a caller sees is
// counted: the transitions are read from the tables.
func (a *App) wholePast(ctx context.Context, o ReportOptions) (*query.Past, AsOf, error) {
	past := query.NewPastStates()
	past.Limit(o.Sees)
	return a.fold(ctx, past, o.At, func(log eventstore.Log, to uint64) (events, error) {
		return log.Read(ctx, eventstore.ReadOptions{To: to}), nil
	})
}

// batchPast folds everything of a batch: its own events, its jobs' and their files'.
func (a *App) batchPast(ctx context.Context, id domain.BatchID, m Moment) (*query.Past, AsOf, error) {
	return a.fold(ctx, query.NewPast(), m, func(_ eventstore.Log, to uint64) (events, error) {
		sel, err := a.selectEvents(ctx, Selection{Batch: id, To: to}, false)
		if err != nil {
			return nil, err
		}
		return sel.Recorded(ctx, nil), nil
	})
}

// jobPast folds a job, its files, and its batch's own events: the outcome of a failed
// attempt may depend on the batch.
func (a *App) jobPast(ctx context.Context, id domain.JobID, m Moment) (*query.Past, AsOf, error) {
	return a.fold(ctx, query.NewPast(), m, func(log eventstore.Log, to uint64) (events, error) {
		sel, err := a.selectEvents(ctx, Selection{Job: id, To: to}, false)
		if err != nil {
			return nil, err
		}
		return withOther(ctx, log, to, sel.Recorded(ctx, nil), func(last domain.Recorded) domain.Aggregate { return last.BatchID.Aggregate() })
	})
}

// filePast folds a file and its job's own events.
func (a *App) filePast(ctx context.Context, id domain.FileHash, m Moment) (*query.Past, AsOf, error) {
	return a.fold(ctx, query.NewPast(), m, func(log eventstore.Log, to uint64) (events, error) {
		of := id.Aggregate()
		return withOther(ctx, log, to, log.Read(ctx, eventstore.ReadOptions{Aggregate: &of, To: to}), func(last domain.Recorded) domain.Aggregate {
			move, _ := domain.MoveOfFile(last.Data)
			return move.JobID.Aggregate()
		})
	})
}

// withOther merges events with those of another aggregate, which the last of them
// names, in the order of the log.
func withOther(ctx context.Context, log eventstore.Log, to uint64, own events, other func(last domain.Recorded) domain.Aggregate) (events, error) {
	all, err := collect(nil, own)
	if err != nil || len(all) == 0 {
		return report.Each(all), err
	}
	if of := other(all[len(all)-1]); of.ID != "" {
		all, err = collect(all, log.Read(ctx, eventstore.ReadOptions{Aggregate: &of, To: to}))
	}
	slices.SortFunc(all, func(a, b domain.Recorded) int { return cmp.Compare(a.Seq, b.Seq) })
	return report.Each(all), err
}

// collect appends what is read to a list.
func collect[T any](list []T, items iter.Seq2[T, error]) ([]T, error) {
	for item, err := range items {
		if err != nil {
			return list, err
		}
		list = append(list, item)
	}
	return list, nil
}

// notYet replaces an error that says that something did not exist at a moment.
func notYet(at AsOf, err error) error {
	return missing(err, "without --at it is shown as it is now", "the log had nothing of it at sequence %d, %s", at.Seq, at.Stored.Format(time.RFC3339))
}
