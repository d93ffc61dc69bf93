package relay

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

const (
	appendLimit     = 1000             // events in one atomic batch
	appendTime      = 10 * time.Second // for one try; then the pause between tries begins
	maxRefusals     = 5                // of one event alone before it counts as a failure
	maxKnown        = 16384            // aggregates whose last event is remembered
	concurrentReads = 16               // questions to the log at once
)

// publishAll brings events into the log, in order, but for those of held
// aggregates.
func (s *shard) publishAll(ctx context.Context, events []domain.Recorded) error {
	for chunk := range slices.Chunk(events, appendLimit) {
		if err := s.publish(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

// publish appends what is missing of the events in one atomic batch. One event
// that does not fit refuses the whole batch without being named: then the last events
// of all aggregates are read again, and each half goes alone.
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

// plan says which of the events are to be appended, and after what.
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

// unknown lists the aggregates whose last event must be read. That of a first
// event need not: nothing before it is the right guess, and a wrong one is
// refused.
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
