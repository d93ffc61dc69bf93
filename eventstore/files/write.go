package files

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

const (
	// MaxEvents is how many events go into one write.
	MaxEvents       = 1000
	concurrentReads = 16 // reads of the log at once
	maxTries        = 20 // of one aggregate, before its conflicts count as an error
)

// kind is how aggregates of one kind, which have no live state, are decided and folded.
type kind[S, C any] struct {
	zero    func(domain.Aggregate) S
	decide  func(S, C) (rows []string, events []domain.Event, err error)
	evolve  func(S, domain.Recorded) (S, error)
	version func(S) int64
	// first reports whether a command makes its aggregate: where there is one, it is a
	// duplicate.
	first func(C) bool
	// batch returns the batch of the events that a command leads to.
	batch func(S, C) domain.BatchID
	// done reports whether an aggregate is hardly asked for again.
	done func(S) bool
}

// writer writes the events of one kind of aggregate.
type writer[S, C any] struct {
	kind[S, C]
	log        eventstore.Log
	clock      func() time.Time
	newID      func() string
	epoch      int64
	cache      *cache[S]
	duplicates *atomic.Int64
}

// request is a command about one aggregate.
type request[C any] struct {
	of      domain.Aggregate
	command C
}

// outcome is that of one request.
type outcome[S any] struct {
	state     S
	seq       uint64   // of its last event
	rows      []string // one for each event; nil when an earlier try had written them
	events    []domain.Recorded
	duplicate bool
	err       error
}

// work is one request of a call, until it has its outcome.
type work[S, C any] struct {
	request[C]
	result       *outcome[S]
	at           known[S]
	known        bool // at may be decided upon
	loaded       bool // at comes from the log
	mayBeWritten bool // an earlier write of it has an unknown outcome
	tries        int
	rows         []string
	events       []domain.Recorded
	json         [][]byte // their data
	after        S
}

// call is one call of all.
type call[S, C any] struct {
	writer[S, C]
	meta eventstore.Meta
	// retry: the caller gave the command id, so that an earlier call may have
	// written.
	retry bool
}

// all decides and appends commands about different aggregates, up to [MaxEvents] events in
// one write. The outcomes are in the order of the requests.
func (w writer[S, C]) all(ctx context.Context, requests []request[C], o eventstore.Meta) ([]outcome[S], error) {
	c := call[S, C]{writer: w, meta: o, retry: o.CommandID != ""}
	if !c.retry {
		c.meta.CommandID = w.newID()
	}
	c.meta.CommandID = codec.SanitiseText(c.meta.CommandID)
	results := make([]outcome[S], len(requests))
	pending := make([]*work[S, C], 0, len(requests))
	seen := make(map[domain.Aggregate]bool, len(requests))
	for i, r := range requests {
		first := w.first(r.command)
		switch {
		case !seen[r.of]:
			seen[r.of] = true
			// Most discovered files are new: append before reading.
			pending = append(pending, &work[S, C]{request: r, result: &results[i], at: known[S]{state: w.zero(r.of)}, known: first})
		case first:
			c.duplicate(&results[i])
		default:
			results[i].err = fmt.Errorf("%s is named twice in one call: send one request after the other: %w", r.of, eventstore.ErrBroken)
		}
	}
	for len(pending) > 0 {
		again, err := c.round(ctx, pending)
		if err != nil {
			for _, w := range again {
				w.result.err = err
			}
			return results, err
		}
		pending = again
	}
	return results, nil
}

// round decides and appends each item of work once, and returns those to repeat; with
// an error, those without a result.
func (c *call[S, C]) round(ctx context.Context, all []*work[S, C]) (again []*work[S, C], err error) {
	if err := c.loadStates(ctx, all); err != nil {
		return all, err
	}
	ready := all[:0:0]
	for _, w := range all {
		switch done, err := c.decide(w); {
		case err != nil:
			w.result.err = err
		case done:
		case w.events == nil: // refused on an outdated state: read it
			again = append(again, w)
		default:
			ready = append(ready, w)
		}
	}
	for len(ready) > 0 {
		chunk := ready[:batchSize(ready)]
		ready = ready[len(chunk):]
		repeat, err := c.append(ctx, chunk)
		again = append(again, repeat...)
		if err != nil {
			return append(again, ready...), err
		}
	}
	return again, nil
}

// batchSize returns how many items of work fit into one write.
func batchSize[S, C any](all []*work[S, C]) int {
	events := 0
	for i, w := range all {
		if events += len(w.events); events > MaxEvents {
			return i
		}
	}
	return len(all)
}

// loadStates loads the states that are not known.
func (c *call[S, C]) loadStates(ctx context.Context, all []*work[S, C]) error {
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for _, w := range all {
		if w.known {
			continue
		}
		if w.tries == 0 && !w.mayBeWritten && !c.retry {
			if at, ok := c.cache.get(w.of); ok {
				w.at, w.known = at, true
				continue
			}
		}
		g.Go(func() (err error) {
			w.at, err = c.load(gctx, w.of, c.meta.CommandID)
			w.known, w.loaded = true, true
			return err
		})
	}
	return g.Wait()
}

// decide makes the events of one request. done reports that it has its outcome; without
// events and not done, the state must be read first.
func (c *call[S, C]) decide(w *work[S, C]) (done bool, err error) {
	w.events = nil
	if len(w.at.ofCommand) > 0 {
		*w.result = outcome[S]{state: w.at.state, seq: w.at.seq, events: w.at.ofCommand}
		return true, nil
	}
	rows, events, err := c.kind.decide(w.at.state, w.command)
	if outdated := c.meta.Outdated(c.kind.version(w.at.state)); outdated != nil {
		err = outdated
	}
	if err != nil {
		first := c.first(w.command)
		switch {
		case first && w.at.seq > 0:
			c.duplicate(w.result)
			return true, nil
		case !w.loaded && !first:
			w.known = false
			w.tries++
			return false, nil
		}
		w.result.state, w.result.seq = w.at.state, w.at.seq
		return true, err
	}
	if w.events, w.json, err = c.meta.Stamp(domain.At(c.clock()), events, c.batch(w.at.state, w.command)); err != nil {
		return true, err
	}
	w.rows, w.after = rows, w.at.state
	for i := range w.events {
		w.events[i].Epoch = max(c.epoch, 1)
		if w.after, err = c.evolve(w.after, w.events[i]); err != nil {
			return true, err
		}
	}
	return false, nil
}

// append writes a chunk, and returns the items to repeat; with an error, those without
// a result.
func (c *call[S, C]) append(ctx context.Context, chunk []*work[S, C]) (again []*work[S, C], err error) {
	var events []eventstore.Append
	for _, w := range chunk {
		for i, e := range w.events {
			events = append(events, eventstore.Append{Event: e, JSON: w.json[i], ExpectSeq: w.at.seq})
		}
	}
	seqs, err := c.log.Append(ctx, events)
	switch {
	case err == nil:
		for _, w := range chunk {
			c.written(w, seqs[:len(w.events)])
			seqs = seqs[len(w.events):]
		}
		return nil, nil
	case ctx.Err() != nil:
		return chunk, err
	case errors.Is(err, eventstore.ErrConflict), errors.Is(err, eventstore.ErrUnknown):
		return c.refused(ctx, chunk, err)
	case errors.Is(err, eventstore.ErrBroken) && len(chunk) > 1: // too much at once, or one of them is bad
		return c.split(ctx, chunk)
	case errors.Is(err, eventstore.ErrBroken):
		chunk[0].result.err = err
		return nil, nil
	default:
		return chunk, err
	}
}

func (c *call[S, C]) written(w *work[S, C], seqs []uint64) {
	for i := range w.events {
		w.events[i].Seq = seqs[i]
	}
	last := seqs[len(seqs)-1]
	*w.result = outcome[S]{state: w.after, seq: last, rows: w.rows, events: w.events}
	c.cache.put(w.of, known[S]{state: w.after, seq: last}, c.done(w.after))
}

// refused finds out which aggregates of a write that was refused or has an unknown outcome
// have changed: these are loaded again, the others are only repeated.
func (c *call[S, C]) refused(ctx context.Context, chunk []*work[S, C], why error) (again []*work[S, C], err error) {
	lasts := make([]eventstore.LastEvent, len(chunk))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for i, w := range chunk {
		g.Go(func() (err error) { lasts[i], err = c.log.Last(gctx, w.of); return err })
	}
	if err := g.Wait(); err != nil {
		return chunk, err
	}
	var unchanged []*work[S, C]
	for i, w := range chunk {
		w.mayBeWritten = w.mayBeWritten || errors.Is(why, eventstore.ErrUnknown)
		switch {
		case lasts[i].Seq == w.at.seq:
			unchanged = append(unchanged, w)
		case c.first(w.command) && !w.mayBeWritten && !c.retry && lasts[i].CommandID != c.meta.CommandID:
			c.duplicate(w.result)
		default:
			again = c.reload(again, w, why)
		}
	}
	if len(unchanged) < len(chunk) {
		return append(again, unchanged...), nil
	}
	// None has changed: the read was too early, or the write was not stored.
	if len(chunk) > 1 {
		return c.split(ctx, chunk)
	}
	return c.reload(again, chunk[0], why), nil
}

// reload makes an aggregate to be loaded from the log and decided again, up to maxTries
// times.
func (c *call[S, C]) reload(again []*work[S, C], w *work[S, C], why error) []*work[S, C] {
	if w.tries++; w.tries > maxTries {
		w.result.err = fmt.Errorf("decide %s: refused %d times by other writers: %w", w.of, w.tries, why)
		return again
	}
	w.known = false
	return append(again, w)
}

// split writes a chunk in two halves, to isolate the item that fails.
func (c *call[S, C]) split(ctx context.Context, chunk []*work[S, C]) (again []*work[S, C], err error) {
	half := len(chunk) / 2
	again, err = c.append(ctx, chunk[:half])
	rest := chunk[half:]
	if err == nil {
		rest, err = c.append(ctx, rest)
	}
	return slices.Concat(again, rest), err
}

func (c *call[S, C]) duplicate(r *outcome[S]) {
	r.duplicate = true
	c.duplicates.Add(1)
}

// known is an aggregate's state and the sequence of its last event, 0 = it has none.
type known[S any] struct {
	state     S
	seq       uint64
	ofCommand []domain.Recorded // events of the command that was asked for
}

// load folds an aggregate's events and caches the result.
func (w writer[S, C]) load(ctx context.Context, a domain.Aggregate, commandID string) (known[S], error) {
	at := known[S]{state: w.zero(a)}
	for r, err := range w.log.Read(ctx, eventstore.ReadOptions{Aggregate: &a}) {
		if err != nil {
			return known[S]{}, err
		}
		if at.state, err = w.evolve(at.state, r); err != nil {
			return known[S]{}, &eventstore.Error{Op: "load", Aggregate: a, Err: errors.Join(eventstore.ErrBroken, err), Hint: fmt.Sprintf("see sequence %d of the log", r.Seq)}
		}
		at.seq = r.Seq
		if commandID != "" && r.CommandID == commandID {
			at.ofCommand = append(at.ofCommand, r)
		}
	}
	if at.seq > 0 {
		w.cache.put(a, at, w.done(at.state))
	}
	return at, nil
}

// states returns the states of those of the aggregates that exist, as those that get
// returns, or else from the log.
func (w writer[S, C]) states(ctx context.Context, all []domain.Aggregate, get func(domain.Aggregate) (known[S], bool)) ([]known[S], error) {
	found := make([]known[S], len(all))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for i, a := range all {
		if at, ok := get(a); ok {
			found[i] = at
			continue
		}
		g.Go(func() (err error) { found[i], err = w.load(gctx, a, ""); return err })
	}
	return found, g.Wait()
}

// logTime returns the time of a log, by which timeouts, delays and windows are decided.
func logTime(ctx context.Context, l eventstore.Log) (domain.Time, error) {
	info, err := l.Info(ctx)
	if err != nil {
		return domain.Time{}, err
	}
	if info.Now.IsZero() {
		return domain.Time{}, &eventstore.Error{Op: "ask the log for its time", Err: eventstore.ErrBroken, Hint: "its server does not report it: upgrade the server"}
	}
	return domain.At(info.Now), nil
}
