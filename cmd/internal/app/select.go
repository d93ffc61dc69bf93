package app

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// checkSelection reports everything that is wrong with a selection.
func checkSelection(s Selection) error {
	if err := s.Check(); err != nil {
		return &Error{Kind: Invalid, What: "select events", Err: err, Hint: "batch.*, job.*, file.* and setting.* select all of a kind; `accession events tail` shows the types of new events"}
	}
	return nil
}

// within cuts an interval of the log to the bounds; last 0 = no end.
func (s span) within(first, last uint64) (span, bool) {
	s.from = max(s.from, first, 1)
	if last > 0 && (s.to == 0 || s.to > last) {
		s.to = last
	}
	return s, s.to == 0 || s.from <= s.to
}

// span is an interval of the log, both ends included; to 0 = no end.
type span struct{ from, to uint64 }

// indexGap is how many sequences may lie between two events that are read as one
// interval: beginning another read costs the log about as much as reading this many
// events.
const indexGap = 5000

// Selected is a part of the history, which can be read any number of times.
//
// It is read from the log, so that it does not depend on the progress of the projector.
// The events of one file have their own subject. For a batch or a job the history in
// PostgreSQL is the index that says which intervals of the log to read; what is newer
// than the tables, and everything when PostgreSQL does not answer or its tables are of
// another log, is read and filtered here, and so are types and actors. Sequences and
// times are bounds of what is read.
type Selected struct {
	// Sequences is how many sequences of the log will be read, 0 = few, or no end.
	Sequences uint64

	log       eventstore.Log
	s         Selection
	aggregate *domain.Aggregate // the file's, nil = spans are read
	spans     []span
	follow    bool
}

// Select prepares a selection of events for reading.
func (a *App) Select(ctx context.Context, s Selection) (sel *Selected, err error) {
	defer Explained(&err, "read events")
	return a.selectEvents(ctx, s, false)
}

func (a *App) selectEvents(ctx context.Context, s Selection, follow bool) (*Selected, error) {
	if err := checkSelection(s); err != nil {
		return nil, err
	}
	log, info, err := a.log(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.known(ctx, log, s); err != nil {
		return nil, err
	}
	whole, err := bounds(ctx, log, info, s, follow)
	if err != nil {
		return nil, err
	}
	sel := &Selected{log: log, s: s, follow: follow && s.To == 0 && s.Until.IsZero()}
	sel.add(whole, span{from: 1})
	switch {
	case s.File != "":
		of := s.File.Aggregate()
		sel.aggregate = &of
		return sel, nil
	case s.Job != "":
		a.index(ctx, sel, s.Job.Aggregate(), whole)
	case s.Batch != "":
		a.index(ctx, sel, s.Batch.Aggregate(), whole)
	}
	if !sel.follow {
		for _, sp := range sel.spans {
			sel.Sequences += sp.to - sp.from + 1
		}
	}
	return sel, nil
}

// index selects only those intervals that hold the events of an aggregate. Without
// PostgreSQL there is no index, nor with tables of another log, and everything is
// read.
func (a *App) index(ctx context.Context, sel *Selected, of domain.Aggregate, whole span) {
	db, err := a.Open.DB(ctx)
	if err != nil {
		return
	}
	index, err := query.FindEvents(ctx, db, of, indexGap)
	if err != nil {
		return
	}
	info, err := sel.log.Info(ctx) // after the tables: they never have more
	if err != nil || !index.Of(projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last}) {
		return
	}
	sel.spans = nil
	for _, p := range index.Intervals {
		sel.add(whole, span{p.First, p.Last})
	}
	sel.add(whole, span{from: index.UpTo + 1})
}

// add selects a part of the whole.
func (s *Selected) add(whole, part span) {
	if part, ok := whole.within(part.from, part.to); ok {
		s.spans = append(s.spans, part)
	}
}

// bounds turns sequences and times into sequences: a span without events when the log
// ends before them.
func bounds(ctx context.Context, log eventstore.Log, info eventstore.LogInfo, s Selection, follow bool) (b span, err error) {
	b = span{from: max(s.From, info.First), to: s.To}
	if !follow && (b.to == 0 || b.to > info.Last) {
		b.to = info.Last
	}
	if !s.Since.IsZero() {
		first, err := seqAt(ctx, log, info, s.Since)
		if err != nil {
			return b, err
		}
		b.from = max(b.from, first)
	}
	if !s.Until.IsZero() {
		first, err := seqAt(ctx, log, info, s.Until)
		if err != nil {
			return b, err
		}
		if b.to == 0 || b.to > first-1 {
			b.to = first - 1
		}
	}
	if b.to == 0 && (!follow || !s.Until.IsZero()) {
		b.from, b.to = 2, 1 // nothing: 0 would mean no end
	}
	return b, nil
}

// Recorded reads the events in order, and ends after the first error. looked is
// called, now and then, with how many sequences of the log have been read; nil = no
// calls.
func (s *Selected) Recorded(ctx context.Context, looked func(n uint64)) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		var before uint64
		for i, sp := range s.spans {
			o := eventstore.ReadOptions{From: sp.from, To: sp.to, Aggregate: s.aggregate, Follow: s.follow && i == len(s.spans)-1}
			for r, err := range s.log.Read(ctx, o) {
				if err != nil {
					yield(r, err)
					return
				}
				if looked != nil && s.Sequences > 0 {
					looked(before + r.Seq - sp.from + 1)
				}
				if s.s.Holds(r) && !yield(r, nil) {
					return
				}
			}
			before += sp.to - sp.from + 1
		}
	}
}

// Events is like Recorded, but yields events in the form for people and programs.
func (s *Selected) Events(ctx context.Context, looked func(n uint64)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for r, err := range s.Recorded(ctx, looked) {
			if err != nil {
				if ctx.Err() == nil {
					yield(Event{}, explain("read events", err))
				}
				return
			}
			if !yield(event.Of(r), nil) {
				return
			}
		}
	}
}

// known refuses a batch, job or file that does not exist.
func (a *App) known(ctx context.Context, log eventstore.Log, s Selection) error {
	for _, of := range []domain.Aggregate{s.Batch.Aggregate(), s.Job.Aggregate(), s.File.Aggregate()} {
		if of.ID == "" {
			continue
		}
		last, err := log.Last(ctx, of)
		if err == nil && last.Version == 0 {
			err = eventstore.ErrNotFound
		}
		if errors.Is(err, eventstore.ErrNotFound) && of.Kind == domain.KindBatch {
			err = a.accepted(ctx, s.Batch) // its first event may still be in the outbox
		}
		if err != nil {
			return missing(err, fmt.Sprintf("`accession %s ls` lists them", of.Kind), "there is no %s %s", of.Kind, of.ID)
		}
	}
	return nil
}

// accepted returns an error unless the batch is in the live state.
func (a *App) accepted(ctx context.Context, id domain.BatchID) error {
	live, err := a.Open.Live(ctx)
	if err == nil {
		_, err = live.Batch(ctx, id)
	}
	return err
}
