package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Selection chooses events of the history; empty fields choose all, and what is
// given must all hold.
type Selection struct {
	From, To     uint64    // places in the log, both included; 0 = no bound
	Since, Until time.Time // by the log's clock: from Since on, before Until
	Batch        domain.BatchID
	Job          domain.JobID    // the job's own and its files'
	File         domain.FileHash // the file's own
	Types        []string        // such as job.failed, or job.* for all of a kind
	Actors       []string        // such as user/maria, or daemon/* for all that begin so
}

// all reports whether nothing is left out but by place or time.
func (s Selection) all() bool {
	return s.Batch == "" && s.Job == "" && s.File == "" && len(s.Types) == 0 && len(s.Actors) == 0
}

// check names everything that is wrong with the selection.
func (s Selection) check() error {
	var faults []error
	if s.To > 0 && s.From > s.To {
		faults = append(faults, fmt.Errorf("from %d to %d there is nothing", s.From, s.To))
	}
	if !s.Since.IsZero() && !s.Until.IsZero() && !s.Since.Before(s.Until) {
		faults = append(faults, fmt.Errorf("since %s until %s there is nothing", s.Since.Format(time.RFC3339), s.Until.Format(time.RFC3339)))
	}
	for _, t := range s.Types {
		if !slices.ContainsFunc(domain.Registry, func(d domain.EventDef) bool { return fits(t, string(d.Type)) }) {
			faults = append(faults, fmt.Errorf("no event type is %q: give one such as job.failed, or all of a kind such as job.*", t))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return &Error{Kind: Invalid, What: "select events", Err: errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")), Hint: "batch.*, job.*, file.* and setting.* choose all of a kind; `accession events tail` shows types as they come"}
	}
	return nil
}

// holds reports whether the event is chosen by what it says itself.
func (s Selection) holds(r domain.Recorded) bool {
	one := func(words []string, word string) bool {
		return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return fits(w, word) })
	}
	return (s.Batch == "" || r.BatchID == s.Batch) && (s.Job == "" || ofJob(r, s.Job)) &&
		(s.File == "" || r.Aggregate == s.File.Aggregate()) && one(s.Types, string(r.Type)) && one(s.Actors, string(r.Actor))
}

// ofJob reports whether the event is the job's own, or one of its files'.
func ofJob(r domain.Recorded, id domain.JobID) bool {
	if r.Aggregate == id.Aggregate() {
		return true
	}
	m, ok := domain.MoveOfFile(r.Data)
	return ok && m.JobID == id
}

// fits compares a word with a pattern, whose last character may be a star.
func fits(pattern, word string) bool {
	if begin, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(word, begin)
	}
	return pattern == word
}

// aggregate names the one whose events hold all that is chosen, if there is one.
func (s Selection) aggregate() *domain.Aggregate {
	if s.File != "" {
		a := s.File.Aggregate()
		return &a
	}
	return nil
}

// of names what is looked for in the index, the narrowest first.
func (s Selection) of() (domain.Aggregate, bool) {
	switch {
	case s.Job != "":
		return s.Job.Aggregate(), true
	case s.Batch != "":
		return s.Batch.Aggregate(), true
	}
	return domain.Aggregate{}, false
}

// within cuts a stretch of the log to the bounds; last 0 = no end.
func (s span) within(first, last uint64) (span, bool) {
	s.from = max(s.from, first, 1)
	if last > 0 && (s.to == 0 || s.to > last) {
		s.to = last
	}
	return s, s.to == 0 || cmp.Compare(s.from, s.to) <= 0
}

// span is a stretch of the log, both ends included; to 0 = no end.
type span struct{ from, to uint64 }

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
	log, err := a.Open.Log(ctx)
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
	db, err := a.Open.DB(ctx)
	if err != nil {
		return
	}
	places, err := query.FindEvents(ctx, db, of, indexGap)
	if err != nil {
		return
	}
	info, err := sel.log.Info(ctx) // after the tables: they never have more
	if err != nil || !places.Of(projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last}) {
		return
	}
	sel.spans = nil
	for _, p := range places.Intervals {
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
