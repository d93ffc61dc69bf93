package memory

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Log is an immutable history in a slice. It is safe for concurrent use.
type Log struct {
	clock   Clock
	created time.Time

	mu      sync.Mutex
	events  []domain.Recorded
	last    map[domain.Aggregate]eventstore.LastEvent
	of      map[domain.Aggregate][]uint64 // seqs
	changed chan struct{}
}

var _ eventstore.Log = (*Log)(nil)

// NewLog returns an empty log; clock nil = the system's.
func NewLog(clock Clock) *Log {
	if clock == nil {
		clock = systemClock{}
	}
	return &Log{clock: clock, created: clock.Now(), last: map[domain.Aggregate]eventstore.LastEvent{},
		of: map[domain.Aggregate][]uint64{}, changed: make(chan struct{})}
}

// Append implements eventstore.Log.
func (l *Log) Append(ctx context.Context, events []eventstore.Append) ([]uint64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[domain.Aggregate]bool{}
	for _, e := range events {
		a := e.Event.Aggregate
		if !seen[a] && l.last[a].Seq != e.ExpectSeq {
			return nil, failed("append to", a, eventstore.ErrConflict, "its last event is not where it was expected")
		}
		seen[a] = true
	}
	seqs := make([]uint64, len(events))
	for i, e := range events {
		r := e.Event
		r.Seq, r.Stored = uint64(len(l.events)+1), l.clock.Now()
		if !e.Stored.IsZero() {
			r.Stored = e.Stored
		}
		l.events = append(l.events, r)
		l.last[r.Aggregate] = eventstore.LastEvent{Version: r.Version, Seq: r.Seq, CommandID: r.CommandID}
		l.of[r.Aggregate] = append(l.of[r.Aggregate], r.Seq)
		seqs[i] = r.Seq
	}
	close(l.changed)
	l.changed = make(chan struct{})
	return seqs, nil
}

// Last implements eventstore.Log.
func (l *Log) Last(ctx context.Context, a domain.Aggregate) (eventstore.LastEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[a], ctx.Err()
}

// Read implements eventstore.Log.
func (l *Log) Read(ctx context.Context, o eventstore.ReadOptions) iter.Seq2[domain.Recorded, error] {
	return func(yield func(domain.Recorded, error) bool) {
		if o.Aggregate != nil && !o.Follow {
			l.readOne(ctx, o, yield)
			return
		}
		to := o.To
		if to == 0 && !o.Follow {
			l.mu.Lock()
			to = uint64(len(l.events))
			l.mu.Unlock()
		}
		for seq := max(o.From, 1); to == 0 || seq <= to; seq++ {
			r, ok := l.at(ctx, seq, o.Follow)
			if !ok {
				if err := ctx.Err(); err != nil {
					yield(domain.Recorded{}, err)
				}
				return
			}
			if (o.Aggregate == nil || r.Aggregate == *o.Aggregate) && !yield(r, nil) {
				return
			}
		}
	}
}

// readOne returns what there is of one aggregate.
func (l *Log) readOne(ctx context.Context, o eventstore.ReadOptions, yield func(domain.Recorded, error) bool) {
	l.mu.Lock()
	seqs := slices.Clone(l.of[*o.Aggregate])
	l.mu.Unlock()
	for _, seq := range seqs {
		if seq < o.From || o.To != 0 && seq > o.To {
			continue
		}
		r, ok := l.at(ctx, seq, false)
		if !ok {
			yield(domain.Recorded{}, ctx.Err())
			return
		}
		if !yield(r, nil) {
			return
		}
	}
}

// at returns the event of a sequence; with wait it waits until there is one.
func (l *Log) at(ctx context.Context, seq uint64, wait bool) (domain.Recorded, bool) {
	for ctx.Err() == nil {
		l.mu.Lock()
		there, changed := seq <= uint64(len(l.events)), l.changed
		var r domain.Recorded
		if there {
			r = l.events[seq-1]
		}
		l.mu.Unlock()
		if there || !wait {
			return r, there
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return domain.Recorded{}, false
}

// Info implements eventstore.Log.
func (l *Log) Info(ctx context.Context) (eventstore.LogInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eventstore.LogInfo{First: 1, Last: uint64(len(l.events)), Created: l.created, Name: "memory", Now: l.clock.Now()}, ctx.Err()
}
