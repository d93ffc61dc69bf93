package relay

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// doubt remembers an aggregate that could not go on.
type doubt struct {
	alarmed bool
	version int64 // the event that did not fit
}

// doubt meets an event whose predecessor is neither in the log nor before it in
// this pass. Events handed over by two processes may overtake each other: the
// first time the shard is read again from the mark, with a fresh look at the log.
// A gap that stays is an alarm.
func (s *shard) doubt(ctx context.Context, e domain.Recorded, at eventstore.LastEvent) {
	a := e.Aggregate
	if s.doubts[a] != nil {
		s.hold(ctx, e, at.Version, "events before it are neither in the log nor in the outbox")
		return
	}
	s.doubts[a] = &doubt{version: e.Version}
	s.held[a] = e.Version
	s.known.Delete(a)
	s.again = true
}

// hold passes the aggregate over until it is tried again, and alarms once.
func (s *shard) hold(ctx context.Context, e domain.Recorded, known int64, why string) {
	a := e.Aggregate
	d := s.doubts[a]
	if d == nil {
		d = &doubt{}
		s.doubts[a] = d
	}
	if len(s.held) == 0 || !time.Now().Before(s.due) {
		s.due = time.Now().Add(s.recall.NextBackOff())
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
		s.recall.Reset()
	}
}
