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
	// The mark is moved after this many items, or this much time, also when more items
	// wait.
	markAfter = 4000
	markEvery = 100 * time.Millisecond
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
	logged   eventstore.Mark   // the next mark to store; it names the latest event of this shard that was seen in the log
	done     eventstore.Offset // everything up to here is in the log
	read     eventstore.Offset // everything up to here was read
	unmarked int               // items between the mark and done
	lastRead int               // events of the last read
	markedAt time.Time         // when the mark was stored

	known     *recent.Map[domain.Aggregate, eventstore.LastEvent] // the last events in the log
	held      map[domain.Aggregate]int64                          // aggregates that are skipped from this version on, until the next rewind
	gaps      map[domain.Aggregate]*suspectedGap                  // kept over rewinds until they are closed
	rewind    bool                                                // read again from the mark in the next round
	retryHeld *backoff.ExponentialBackOff                         // pauses until held aggregates are tried again
	retryAt   time.Time                                           // end of the present one of these pauses

	pause  *backoff.ExponentialBackOff
	failed bool // the last try failed, and that was logged
}

func newShard(r *Relay, n int, log *slog.Logger) *shard {
	return &shard{relay: r, n: n, log: log, held: map[domain.Aggregate]int64{}, gaps: map[domain.Aggregate]*suspectedGap{},
		known:     recent.New[domain.Aggregate, eventstore.LastEvent](crash.Remembered(maxKnown)),
		retryHeld: doubling(firstRetryHeld, longRetryHeld), pause: doubling(firstPause, longPause)}
}

// run works until the lead is lost, or ctx has ended and nothing is left to read.
func (s *shard) run(ctx, lead context.Context) {
	for lead.Err() == nil {
		n, err := s.round(lead)
		switch {
		case err != nil:
			s.failure(lead, err)
		case n == readLimit: // more items wait
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

// round reads once, publishes, and moves the mark if it is time to. It returns how many
// items it read.
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
	events := make([]eventstore.Append, 0, n)
	for _, item := range items {
		for i, e := range item.Events {
			a := eventstore.Append{Event: e}
			if item.JSON != nil { // else the log encodes the data
				a.JSON = item.JSON[i]
			}
			events = append(events, a)
		}
	}
	s.lastRead = len(events)
	for part := range slices.Chunk(events, appendLimit) {
		if err := s.publish(ctx, part); err != nil {
			return 0, err
		}
	}
	for _, item := range items {
		s.advance(item)
	}
	if s.unmarked >= markAfter || time.Since(s.markedAt) >= markEvery {
		if err := s.saveMark(ctx); err != nil {
			return 0, err
		}
	}
	s.success(ctx)
	return len(items), nil
}

// prepare reads the mark in the first round. When held aggregates are to be tried again it
// rewinds, so that the next read begins at the mark.
func (s *shard) prepare(ctx context.Context) error {
	if !s.started {
		mark, err := s.relay.Outbox.Mark(ctx, s.n)
		if err == nil {
			err = s.relay.Outbox.MoveMark(ctx, s.n, mark) // it stays, but this process knows it now, and purges up to it
		}
		if err != nil {
			return err
		}
		s.logged, s.done, s.read, s.started = mark, mark.Offset, mark.Offset, true
	}
	if s.rewind || len(s.held) > 0 && !time.Now().Before(s.retryAt) {
		clear(s.held)
		s.rewind, s.read = false, s.done
	}
	return nil
}

// advance moves read past an item, and done too unless an event up to there waits because
// its aggregate is held.
func (s *shard) advance(item eventstore.Item) {
	waits := s.done != s.read
	for _, e := range item.Events {
		from, held := s.held[e.Aggregate]
		waits = waits || held && e.Version >= from
	}
	s.read = item.Offset
	if !waits {
		s.done = item.Offset
		s.unmarked++
	}
}

// saveMark stores the mark.
func (s *shard) saveMark(ctx context.Context) error {
	if s.unmarked == 0 {
		return nil
	}
	s.logged.Offset = s.done
	if err := crash.Around("relay/mark/move", func() error { return s.relay.Outbox.MoveMark(ctx, s.n, s.logged) }); err != nil {
		return err
	}
	s.unmarked, s.markedAt = 0, time.Now()
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

// deadline returns when the shard has something to do even if no item comes: try held
// aggregates again, or store the mark. Zero = never.
func (s *shard) deadline() (until time.Time) {
	if len(s.held) > 0 {
		until = s.retryAt
	}
	if moves := s.markedAt.Add(markEvery); s.unmarked > 0 && (until.IsZero() || moves.Before(until)) {
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

// success ends the pauses after a failure.
func (s *shard) success(ctx context.Context) {
	if s.failed {
		s.log.InfoContext(ctx, "relay: resumed")
	}
	s.failed = false
	s.pause.Reset()
}

// suspectedGap is an aggregate whose next event in the outbox does not fit the log, because an
// event before it is in neither of them, or for one of the reasons in [Gap].
type suspectedGap struct {
	alarmed bool  // it was looked for again in vain: it is a [Gap] of the relay
	version int64 // of the event that does not fit
}

// suspectGap handles an event whose predecessor is not in the log and was not read before
// it. Two processes may write events of one aggregate into the outbox in the wrong order,
// so the first time only this aggregate is skipped, and the shard is read again from the
// mark. If the predecessor is missing then too, the aggregate is held, with an alarm.
func (s *shard) suspectGap(ctx context.Context, e domain.Recorded, at eventstore.LastEvent) {
	a := e.Aggregate
	if s.gaps[a] != nil {
		s.hold(ctx, e, at.Version, "events before it are neither in the log nor in the outbox")
		return
	}
	s.gaps[a] = &suspectedGap{version: e.Version}
	s.held[a] = e.Version
	s.known.Delete(a)
	s.rewind = true
}

// hold skips the events of an aggregate from e on until they are tried again, and raises the
// alarm once. known is the version of its last event in the log.
func (s *shard) hold(ctx context.Context, e domain.Recorded, known int64, why string) {
	a := e.Aggregate
	gap := s.gaps[a]
	if gap == nil {
		gap = &suspectedGap{}
		s.gaps[a] = gap
	}
	if len(s.held) == 0 || !time.Now().Before(s.retryAt) {
		s.retryAt = time.Now().Add(s.retryHeld.NextBackOff())
	}
	s.held[a] = e.Version
	s.known.Delete(a)
	gap.version = e.Version
	if gap.alarmed {
		return
	}
	gap.alarmed = true
	s.relay.setGap(Gap{Aggregate: a, Shard: s.n, Version: e.Version, Known: known, Why: why, Since: time.Now()})
	s.log.ErrorContext(ctx, "relay: an aggregate's events do not fit the log; it is held, others go on",
		"aggregate", a.String(), "event", e.ID(), "in_log", known, "why", why)
}

// closeGap forgets a suspected gap once the event that did not fit is in the log.
func (s *shard) closeGap(ctx context.Context, e domain.Recorded) {
	if len(s.gaps) == 0 {
		return
	}
	gap := s.gaps[e.Aggregate]
	if gap == nil || e.Version < gap.version {
		return
	}
	delete(s.gaps, e.Aggregate)
	if gap.alarmed {
		s.relay.clearGap(e.Aggregate)
		s.log.InfoContext(ctx, "relay: the held aggregate is released", "aggregate", e.Aggregate.String())
	}
	if len(s.gaps) == 0 {
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

// publish appends the events that the log lacks as one atomic batch. If one event does
// not fit, the server refuses the whole batch and does not say which event it was: then
// the last events of all aggregates are read again, and each half is published alone.
func (s *shard) publish(ctx context.Context, events []eventstore.Append) error {
	for refused := 0; ; refused++ {
		todo, err := s.toAppend(ctx, events)
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
		if err := s.publish(ctx, todo[:len(todo)/2]); err != nil {
			return err
		}
		return s.publish(ctx, todo[len(todo)/2:])
	}
}

// toAppend returns which of the events are to be appended, each with the sequence that it
// must follow.
func (s *shard) toAppend(ctx context.Context, events []eventstore.Append) ([]eventstore.Append, error) {
	if err := s.loadLast(ctx, s.missingLast(events)); err != nil {
		return nil, err
	}
	todo := make([]eventstore.Append, 0, len(events))
	next := make(map[domain.Aggregate]eventstore.LastEvent, len(events)) // as if todo were in the log
	for _, event := range events {
		e := event.Event
		a := e.Aggregate
		if _, held := s.held[a]; held {
			continue
		}
		last, follows := next[a]
		if !follows {
			last, _ = s.known.Get(a)
		}
		switch {
		case e.Version == last.Version && e.CommandID != last.CommandID:
			s.hold(ctx, e, last.Version, "the log holds this event from another command: "+last.CommandID)
		case e.Version <= last.Version:
			s.see(a, last)
			s.closeGap(ctx, e)
		case e.Version == last.Version+1:
			event.ExpectSeq = last.Seq
			todo = append(todo, event)
			next[a] = eventstore.LastEvent{Version: e.Version, Seq: last.Seq, CommandID: e.CommandID}
		default:
			s.suspectGap(ctx, e, last)
		}
	}
	return todo, nil
}

// missingLast returns the aggregates whose last event must be read. For an event with
// version 1 that is not needed: the log is assumed to have no event of the aggregate,
// and refuses the batch if it has one.
func (s *shard) missingLast(events []eventstore.Append) []domain.Aggregate {
	var ask []domain.Aggregate
	seen := make(map[domain.Aggregate]bool, len(events))
	for i := range events {
		e := &events[i].Event
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

// appended keeps what is now the last event of each aggregate. Nothing follows an event that
// ends its aggregate.
func (s *shard) appended(ctx context.Context, todo []eventstore.Append, seqs []uint64) {
	for i, a := range todo {
		e := a.Event
		at := eventstore.LastEvent{Version: e.Version, Seq: seqs[i], CommandID: e.CommandID}
		if e.Type.Last() {
			s.known.Delete(e.Aggregate)
		} else {
			s.known.Set(e.Aggregate, at)
		}
		s.see(e.Aggregate, at)
		s.closeGap(ctx, e)
	}
}

// see notes for the mark the latest event that was seen in the log: a log that ends before
// it, or has another event there, is an older copy, or another log.
func (s *shard) see(a domain.Aggregate, at eventstore.LastEvent) {
	if at.Seq > s.logged.LogSeq {
		s.logged.LogSeq, s.logged.Event = at.Seq, domain.Event{Aggregate: a, Version: at.Version}.ID()
	}
}

func aggregates(todo []eventstore.Append) []domain.Aggregate {
	set := make(map[domain.Aggregate]bool, len(todo))
	for _, t := range todo {
		set[t.Event.Aggregate] = true
	}
	return slices.Collect(maps.Keys(set))
}

// loadLast reads the last events of aggregates from the log.
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
