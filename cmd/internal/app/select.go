package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// indexGap is how many places may lie between two events that are read as one
// stretch: to begin anew costs the log about as much as to read so many.
const indexGap = 5000

// Selected is a part of the history, ready to be read as often as one likes.
//
// Always the log is read, so that nothing depends on how far the tables are. The
// events of one file are a subject of their own there. For a batch or a job the
// history in PostgreSQL is the index that tells which stretches of the log to read;
// what is newer than the tables, and everything when PostgreSQL does not answer or
// its tables are of another log, is read and sorted out here, and so are types and
// actors. Places and times are bounds of what is read.
type Selected struct {
	// Places is how many places of the log will be looked at, 0 = few, or no end.
	Places uint64

	log       eventstore.Log
	s         Selection
	aggregate *domain.Aggregate
	spans     []span
	follow    bool
}

// Select finds out what has to be read.
func (a *App) Select(ctx context.Context, s Selection) (*Selected, error) {
	sel, err := a.selectEvents(ctx, s, false)
	return sel, explain("read events", err)
}

func (a *App) selectEvents(ctx context.Context, s Selection, follow bool) (*Selected, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	log, err := a.World.Log(ctx)
	if err != nil {
		return nil, err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.knownAll(ctx, log, s); err != nil {
		return nil, err
	}
	whole, err := bounds(ctx, log, info, s, follow)
	if err != nil {
		return nil, err
	}
	sel := &Selected{log: log, s: s, aggregate: s.aggregate(), follow: follow && s.To == 0 && s.Until.IsZero()}
	sel.add(whole, span{from: 1})
	if of, ok := s.of(); ok && sel.aggregate == nil {
		a.index(ctx, sel, of, whole)
	}
	if !sel.follow && sel.aggregate == nil {
		for _, sp := range sel.spans {
			sel.Places += sp.to - sp.from + 1
		}
	}
	return sel, nil
}

// index has only those stretches read that hold what is looked for. Without
// PostgreSQL there is no index, nor with tables of another log, and everything is
// read.
func (a *App) index(ctx context.Context, sel *Selected, of domain.Aggregate, whole span) {
	db, err := a.World.DB(ctx)
	if err != nil {
		return
	}
	places, err := projections.Places(ctx, db, of, indexGap)
	if err != nil {
		return
	}
	info, err := sel.log.Info(ctx) // after the tables: they never have more
	if err != nil || !places.Of(projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last}) {
		return
	}
	sel.spans = nil
	for _, p := range places.Stretches {
		sel.add(whole, span{p.First, p.Last})
	}
	sel.add(whole, span{from: places.UpTo + 1})
}

// add has a part of the whole read.
func (s *Selected) add(whole, part span) {
	if part, ok := whole.within(part.from, part.to); ok {
		s.spans = append(s.spans, part)
	}
}

// bounds turns places and times into places. A log that ends before them gives a
// span without places.
func bounds(ctx context.Context, log eventstore.Log, info eventstore.LogInfo, s Selection, follow bool) (span, error) {
	b := span{from: max(s.From, info.First), to: s.To}
	if !follow && (b.to == 0 || b.to > info.Last) {
		b.to = info.Last
	}
	if !s.Since.IsZero() {
		first, err := placeOf(ctx, log, info, s.Since)
		if err != nil {
			return b, err
		}
		b.from = max(b.from, first)
	}
	if !s.Until.IsZero() {
		first, err := placeOf(ctx, log, info, s.Until)
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

// placeOf gives the place of the first event that the log took at t or later, or
// the one behind its end. It asks for some twenty single events.
func placeOf(ctx context.Context, log eventstore.Log, info eventstore.LogInfo, t time.Time) (uint64, error) {
	low, high := info.First, info.Last+1
	for low < high {
		mid := low + (high-low)/2
		stored, err := storedAt(ctx, log, mid)
		if err != nil {
			return 0, err
		}
		if stored.Before(t) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, nil
}

func storedAt(ctx context.Context, log eventstore.Log, seq uint64) (time.Time, error) {
	for r, err := range log.Read(ctx, eventstore.ReadOptions{From: seq, To: seq}) {
		return r.Stored, err
	}
	return time.Time{}, fmt.Errorf("place %d of the log is empty: %w", seq, eventstore.ErrBroken)
}

// Recorded reads the events in order, and ends after the first error. looked is
// told, now and then, how many places of the log have been looked at; nil = nobody
// wants to know.
func (s *Selected) Recorded(ctx context.Context, looked func(places uint64)) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		var before uint64
		for i, sp := range s.spans {
			o := eventstore.ReadOptions{From: sp.from, To: sp.to, Aggregate: s.aggregate, Follow: s.follow && i == len(s.spans)-1}
			for r, err := range s.log.Read(ctx, o) {
				if err != nil {
					yield(r, err)
					return
				}
				if looked != nil && s.Places > 0 {
					looked(before + r.Seq - sp.from + 1)
				}
				if s.s.holds(r) && !yield(r, nil) {
					return
				}
			}
			before += sp.to - sp.from + 1
		}
	}
}

// Events is Recorded for people and programs.
func (s *Selected) Events(ctx context.Context, looked func(places uint64)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for r, err := range s.Recorded(ctx, looked) {
			if err != nil {
				if ctx.Err() == nil {
					yield(Event{}, explain("read events", err))
				}
				return
			}
			if !yield(eventOf(r), nil) {
				return
			}
		}
	}
}

// knownAll refuses a batch, job or file of which nothing is known.
func (a *App) knownAll(ctx context.Context, log eventstore.Log, s Selection) error {
	if err := a.known(ctx, log, s.Batch); err != nil {
		return err
	}
	for _, of := range []struct {
		aggregate domain.Aggregate
		hint      string
	}{
		{s.Job.Aggregate(), "`accession job ls` lists them"},
		{s.File.Aggregate(), "`accession file ls` lists them"},
	} {
		if of.aggregate.ID == "" {
			continue
		}
		last, err := log.Last(ctx, of.aggregate)
		if err != nil {
			return err
		}
		if last.Version == 0 {
			return &Error{Kind: NotFound, What: "read events", Err: errors.New("the log knows no " + of.aggregate.String()), Hint: of.hint}
		}
	}
	return nil
}
