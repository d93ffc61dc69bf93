package relay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/internal/recent"
	"github.com/accession-ingest/accession/internal/crash"
)

const (
	readLimit = 1000 // outbox items read at once
	// After this many items, or this much time, the mark is moved although more items
	// wait.
	sendAfter = 4000
	sendEvery = 100 * time.Millisecond
	// When one read returned this many events, more will follow: the next read waits
	// for gatherTime, because a batch costs the log's server as much as many events do.
	busyRead   = 64
	gatherTime = 10 * time.Millisecond
)

// shard is one shard of the outbox, while this relay is its leader.
//
// It reads from the mark on. Items up to the mark are in the log; items between the
// mark and read are in the log too, or wait because their aggregate is held.
type shard struct {
	relay *Relay
	n     int
	log   *slog.Logger

	started  bool
	marked   eventstore.Offset // the mark as it is stored
	done     eventstore.Offset // everything up to here is in the log
	read     eventstore.Offset // everything up to here was read
	unmarked int               // items between marked and done
	lastRead int               // events of the last read
	sent     time.Time

	known     *recent.Map[domain.Aggregate, eventstore.LastEvent] // the last events in the log
	held      map[domain.Aggregate]int64                          // skipped from this version on, until the next rewind
	doubts    map[domain.Aggregate]*doubt                         // why, outliving rewinds until it is settled
	rewind    bool                                                // rewind before reading on
	retryHeld *backoff.ExponentialBackOff                         // of held aggregates
	retryAt   time.Time                                           // when they are tried again

	pause  *backoff.ExponentialBackOff
	failed bool // the last try failed, and that was logged
}

func newShard(r *Relay, n int, log *slog.Logger) *shard {
	return &shard{relay: r, n: n, log: log, held: map[domain.Aggregate]int64{}, doubts: map[domain.Aggregate]*doubt{},
		known:     recent.New[domain.Aggregate, eventstore.LastEvent](maxKnown),
		retryHeld: doubling(firstRetryHeld, longRetryHeld), pause: doubling(firstPause, longPause)}
}

// run works until the lead is lost, or ctx has ended and nothing is left to read.
func (s *shard) run(ctx, lead context.Context) {
	for lead.Err() == nil {
		n, err := s.round(lead)
		switch {
		case err != nil:
			s.failure(lead, err)
		case n == readLimit:
		case ctx.Err() == nil:
			s.idle(ctx, lead)
		case n == 0 && !s.rewind:
			if err := s.saveMark(lead); err != nil {
				s.failure(lead, err)
				continue
			}
			return
		}
	}
}

// round reads once, publishes, and returns how many items it read.
func (s *shard) round(ctx context.Context) (int, error) {
	if err := s.prepare(ctx); err != nil {
		return 0, err
	}
	items, err := s.relay.Outbox.Read(ctx, s.n, s.read, readLimit)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, item := range items {
		n += len(item.Events)
	}
	events := make([]domain.Recorded, 0, n)
	for _, item := range items {
		events = append(events, item.Events...)
	}
	s.lastRead = len(events)
	if err := s.publishAll(ctx, events); err != nil {
		return 0, err
	}
	for _, item := range items {
		s.advance(item)
	}
	if s.unmarked >= sendAfter || time.Since(s.sent) >= sendEvery {
		if err := s.saveMark(ctx); err != nil {
			return 0, err
		}
	}
	s.success(ctx)
	return len(items), nil
}

// prepare reads the mark at first, and rewinds to it when held aggregates are to be
// tried again.
func (s *shard) prepare(ctx context.Context) error {
	if !s.started {
		mark, err := s.relay.Outbox.Unsent(ctx, s.n)
		if err != nil {
			return err
		}
		s.marked, s.done, s.read, s.started = mark, mark, mark, true
	}
	if s.rewind || len(s.held) > 0 && !time.Now().Before(s.retryAt) {
		clear(s.held)
		s.rewind, s.read = false, s.done
	}
	return nil
}

// advance moves read behind an item, and done with it unless an event up to there is
// held.
func (s *shard) advance(item eventstore.Item) {
	open := s.done != s.read
	for _, e := range item.Events {
		from, held := s.held[e.Aggregate]
		open = open || held && e.Version >= from
	}
	s.read = item.Offset
	if !open {
		s.done = item.Offset
		s.unmarked++
	}
}

// saveMark stores the mark.
func (s *shard) saveMark(ctx context.Context) error {
	if s.unmarked == 0 {
		return nil
	}
	if err := crash.Around("relay/mark/move", func() error { return s.relay.Outbox.Sent(ctx, s.n, s.done) }); err != nil {
		return err
	}
	s.marked, s.unmarked, s.sent = s.done, 0, time.Now()
	return nil
}

// idle waits for more to do: new items, held aggregates to be tried again, or
// the end of either context.
func (s *shard) idle(ctx, lead context.Context) {
	if s.rewind {
		return
	}
	wait, done := context.WithCancel(lead)
	defer done()
	defer context.AfterFunc(ctx, done)()
	if until := s.deadline(); !until.IsZero() {
		var cancel context.CancelFunc
		wait, cancel = context.WithDeadline(wait, until)
		defer cancel()
	}
	if s.lastRead >= busyRead {
		sleep(wait, gatherTime)
	}
	if err := s.relay.Outbox.Wait(wait, s.n, s.read); err != nil && wait.Err() == nil {
		s.failure(lead, err)
	}
}

// deadline returns until when there is nothing to do but to wait for items, zero = no
// limit.
func (s *shard) deadline() (until time.Time) {
	if len(s.held) > 0 {
		until = s.retryAt
	}
	if moves := s.sent.Add(sendEvery); s.unmarked > 0 && (until.IsZero() || moves.Before(until)) {
		until = moves
	}
	return until
}

// failure logs once that a server cannot be reached, and pauses.
func (s *shard) failure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	if !s.failed {
		s.log.WarnContext(ctx, "relay: cannot continue, events wait in the outbox; trying again", "error", err)
	}
	s.failed = true
	sleep(ctx, s.pause.NextBackOff())
}

func (s *shard) success(ctx context.Context) {
	if s.failed {
		s.log.InfoContext(ctx, "relay: going on")
	}
	s.failed = false
	s.pause.Reset()
}

// doubt is an aggregate whose next event did not fit the log.
type doubt struct {
	alarmed bool
	version int64 // the event that did not fit
}

// doubt handles an event whose predecessor is neither in the log nor before it in this
// pass. Events of an aggregate that two processes wrote may overtake each other, so the
// first time the shard is read again from the mark, and the log is asked again. A gap
// that remains raises an alarm.
func (s *shard) doubt(ctx context.Context, e domain.Recorded, at eventstore.LastEvent) {
	a := e.Aggregate
	if s.doubts[a] != nil {
		s.hold(ctx, e, at.Version, "events before it are neither in the log nor in the outbox")
		return
	}
	s.doubts[a] = &doubt{version: e.Version}
	s.held[a] = e.Version
	s.known.Delete(a)
	s.rewind = true
}

// hold skips the aggregate until it is tried again, and raises its alarm once.
func (s *shard) hold(ctx context.Context, e domain.Recorded, known int64, why string) {
	a := e.Aggregate
	d := s.doubts[a]
	if d == nil {
		d = &doubt{}
		s.doubts[a] = d
	}
	if len(s.held) == 0 || !time.Now().Before(s.retryAt) {
		s.retryAt = time.Now().Add(s.retryHeld.NextBackOff())
	}
	s.held[a] = e.Version
	s.known.Delete(a)
	d.version = e.Version
	if d.alarmed {
		return
	}
	d.alarmed = true
	s.relay.setGap(Gap{Aggregate: a, Shard: s.n, Version: e.Version, Known: known, Why: why, Since: time.Now()})
	s.log.ErrorContext(ctx, "relay: an aggregate's events do not fit the log; it is held, others go on",
		"aggregate", a.String(), "event", e.ID(), "in_log", known, "why", why)
}

// settled ends a doubt once the event that did not fit is in the log.
func (s *shard) settled(ctx context.Context, e domain.Recorded) {
	if len(s.doubts) == 0 {
		return
	}
	d := s.doubts[e.Aggregate]
	if d == nil || e.Version < d.version {
		return
	}
	delete(s.doubts, e.Aggregate)
	if d.alarmed {
		s.relay.closeGap(e.Aggregate)
		s.log.InfoContext(ctx, "relay: a held aggregate goes on", "aggregate", e.Aggregate.String())
	}
	if len(s.doubts) == 0 {
		s.retryHeld.Reset()
	}
}

const (
	appendLimit     = 1000             // events in one atomic batch
	appendTime      = 10 * time.Second // for one try
	maxRefusals     = 5                // conflicts of a single event before publish fails
	maxKnown        = 16384            // aggregates whose last event is remembered
	concurrentReads = 16               // reads of the log at once
)

// publishAll appends events to the log, in order, except those of held aggregates.
func (s *shard) publishAll(ctx context.Context, events []domain.Recorded) error {
	for chunk := range slices.Chunk(events, appendLimit) {
		if err := s.publish(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// publish appends the events that the log lacks as one atomic batch. If one event does
// not fit, the server refuses the whole batch and does not say which event it was: then
// the last events of all aggregates are read again, and each half is published alone.
func (s *shard) publish(ctx context.Context, events []domain.Recorded) error {
	for refused := 0; ; refused++ {
		todo, err := s.plan(ctx, events)
		if err != nil || len(todo) == 0 {
			return err
		}
		try, cancel := context.WithTimeout(ctx, appendTime)
		var seqs []uint64
		err = crash.Around("relay/events/append", func() error {
			seqs, err = s.relay.Log.Append(try, todo)
			return err
		})
		cancel()
		switch {
		case err == nil:
			s.appended(ctx, todo, seqs)
			return nil
		case errors.Is(err, eventstore.ErrConflict):
			if refused == maxRefusals {
				return fmt.Errorf("relay %s: refused %d times: %w", todo[0].Event.ID(), refused, err)
			}
			if err := s.loadLast(ctx, aggregates(todo)); err != nil {
				return err
			}
		case errors.Is(err, eventstore.ErrBroken) && len(todo) == 1:
			s.hold(ctx, todo[0].Event, todo[0].Event.Version-1, err.Error())
			return nil
		case !errors.Is(err, eventstore.ErrBroken):
			return err
		}
		if len(todo) == 1 {
			continue
		}
		left := make([]domain.Recorded, len(todo))
		for i, a := range todo {
			left[i] = a.Event
		}
		if err := s.publish(ctx, left[:len(left)/2]); err != nil {
			return err
		}
		return s.publish(ctx, left[len(left)/2:])
	}
}

// plan returns which of the events are to be appended, each with the sequence that it
// must follow.
func (s *shard) plan(ctx context.Context, events []domain.Recorded) ([]eventstore.Append, error) {
	if err := s.loadLast(ctx, s.unknown(events)); err != nil {
		return nil, err
	}
	todo := make([]eventstore.Append, 0, len(events))
	next := make(map[domain.Aggregate]eventstore.LastEvent, len(events)) // as if todo were in the log
	for _, e := range events {
		a := e.Aggregate
		if _, held := s.held[a]; held {
			continue
		}
		at, planned := next[a]
		if !planned {
			at, _ = s.known.Get(a)
		}
		switch {
		case e.Version == at.Version && e.CommandID != at.CommandID:
			s.hold(ctx, e, at.Version, "the log holds this event from another command: "+at.CommandID)
		case e.Version <= at.Version:
			s.settled(ctx, e)
		case e.Version == at.Version+1:
			todo = append(todo, eventstore.Append{Event: e, ExpectSeq: at.Seq})
			next[a] = eventstore.LastEvent{Version: e.Version, Seq: at.Seq, CommandID: e.CommandID}
		default:
			s.doubt(ctx, e, at)
		}
	}
	return todo, nil
}

// unknown returns the aggregates whose last event must be read. For an event with
// version 1 that is not needed: the log is assumed to have no event of the aggregate,
// and refuses the batch if it has one.
func (s *shard) unknown(events []domain.Recorded) []domain.Aggregate {
	var ask []domain.Aggregate
	seen := make(map[domain.Aggregate]bool, len(events))
	for _, e := range events {
		a := e.Aggregate
		if _, held := s.held[a]; seen[a] || held {
			continue
		}
		seen[a] = true
		if _, ok := s.known.Get(a); !ok && e.Version > 1 {
			ask = append(ask, a)
		}
	}
	return ask
}

func (s *shard) appended(ctx context.Context, todo []eventstore.Append, seqs []uint64) {
	for i, a := range todo {
		e := a.Event
		s.known.Set(e.Aggregate, eventstore.LastEvent{Version: e.Version, Seq: seqs[i], CommandID: e.CommandID})
		s.settled(ctx, e)
	}
}

func aggregates(todo []eventstore.Append) []domain.Aggregate {
	set := make(map[domain.Aggregate]bool, len(todo))
	for _, t := range todo {
		set[t.Event.Aggregate] = true
	}
	return slices.Collect(maps.Keys(set))
}

// loadLast asks the log for the last events of aggregates.
func (s *shard) loadLast(ctx context.Context, list []domain.Aggregate) error {
	found := make([]eventstore.LastEvent, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(concurrentReads)
	for i, a := range list {
		g.Go(func() (err error) { found[i], err = s.relay.Log.Last(ctx, a); return err })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i, a := range list {
		s.known.Set(a, found[i])
	}
	return nil
}
