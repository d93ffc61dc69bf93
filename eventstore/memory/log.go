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
		if o.To == 0 && !o.Follow {
			l.mu.Lock()
			o.To = uint64(len(l.events))
			l.mu.Unlock()
		}
		for seq := max(o.From, 1); ; seq++ {
			r, err := l.next(ctx, o, seq)
			if err != nil {
				yield(r, err)
			}
			if r.Seq == 0 || !yield(r, nil) {
				return
			}
			seq = r.Seq
		}
	}
}

// next returns the first event from a sequence on, zero when there is none up to the
// last sequence that is wanted. It waits for it when it follows the log.
func (l *Log) next(ctx context.Context, o eventstore.ReadOptions, from uint64) (domain.Recorded, error) {
	for ctx.Err() == nil {
		l.mu.Lock()
		seq, last, changed := l.first(o.Aggregate, from), uint64(len(l.events)), l.changed
		var r domain.Recorded
		if seq > 0 && (o.To == 0 || seq <= o.To) {
			r = l.events[seq-1]
		}
		l.mu.Unlock()
		if r.Seq > 0 || !o.Follow || o.To > 0 && last >= o.To {
			return r, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	return domain.Recorded{}, ctx.Err()
}

// first returns the sequence of the first event of an aggregate, nil = of any, from a
// sequence on, 0 = there is none. The mutex is held.
func (l *Log) first(of *domain.Aggregate, from uint64) uint64 {
	if of == nil {
		if from > uint64(len(l.events)) {
			return 0
		}
		return from
	}
	seqs := l.of[*of]
	i, _ := slices.BinarySearch(seqs, from)
	if i == len(seqs) {
		return 0
	}
	return seqs[i]
}

// Info implements eventstore.Log.
func (l *Log) Info(ctx context.Context) (eventstore.LogInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return eventstore.LogInfo{First: 1, Last: uint64(len(l.events)), Created: l.created, Name: "memory", Now: l.clock.Now()}, ctx.Err()
}
