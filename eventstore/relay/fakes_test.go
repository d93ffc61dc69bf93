package relay_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

var errOut = errors.New("out of reach")

// faults says how often something goes wrong, in percent, and what is refused
// for good. The zero value: never.
type faults struct {
	rnd                    *rand.Rand
	fail, lost, spurious   int
	outbox, lead           int
	refuse                 func(domain.Recorded) error
	down                   bool // the log answers nothing
	stale                  int  // answers about places that come from a replica that knows nothing yet
	appends, batches, most int  // counted
}

func (f *faults) happens(percent int) bool { return percent > 0 && f.rnd.IntN(100) < percent }

// scriptLog is a log in a slice that fails as told.
type scriptLog struct {
	mu     sync.Mutex
	events []domain.Recorded
	last   map[domain.Aggregate]eventstore.LastEvent
	faults faults
}

func newScriptLog(f faults) *scriptLog {
	return &scriptLog{last: map[domain.Aggregate]eventstore.LastEvent{}, faults: f}
}

func (l *scriptLog) Append(_ context.Context, list []eventstore.Append) ([]uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &l.faults
	switch {
	case f.down, f.happens(f.fail):
		return nil, errors.Join(eventstore.ErrUnknown, errOut)
	case f.happens(f.spurious):
		return nil, eventstore.ErrConflict
	}
	seen := map[domain.Aggregate]bool{}
	for _, a := range list {
		if f.refuse != nil {
			if err := f.refuse(a.Event); err != nil {
				return nil, err
			}
		}
		if !seen[a.Event.Aggregate] && l.last[a.Event.Aggregate].Seq != a.ExpectSeq {
			return nil, eventstore.ErrConflict
		}
		seen[a.Event.Aggregate] = true
	}
	var seqs []uint64
	for _, a := range list {
		seqs = append(seqs, l.put(a.Event))
	}
	f.appends, f.batches, f.most = f.appends+len(list), f.batches+1, max(f.most, len(list))
	if f.happens(f.lost) {
		return nil, eventstore.ErrUnknown
	}
	return seqs, nil
}

func (l *scriptLog) put(e domain.Recorded) uint64 {
	e.Seq = uint64(len(l.events) + 1)
	l.events = append(l.events, e)
	l.last[e.Aggregate] = eventstore.LastEvent{Version: e.Version, Seq: e.Seq, CommandID: e.CommandID}
	return e.Seq
}

// insert puts an event there past the relay, as a restore would.
func (l *scriptLog) insert(e domain.Recorded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(e)
}

func (l *scriptLog) setDown(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults.down = down
}

func (l *scriptLog) setStale(answers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults.stale = answers
}

func (l *scriptLog) ids() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := []string{}
	for _, e := range l.events {
		ids = append(ids, e.ID())
	}
	return ids
}

func (l *scriptLog) Last(_ context.Context, a domain.Aggregate) (eventstore.LastEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.faults.down || l.faults.happens(l.faults.fail) {
		return eventstore.LastEvent{}, errOut
	}
	if l.faults.stale > 0 {
		l.faults.stale--
		return eventstore.LastEvent{}, nil
	}
	return l.last[a], nil
}

func (l *scriptLog) Read(context.Context, eventstore.ReadOptions) iter.Seq2[domain.Recorded, error] {
	panic("a relay does not read")
}

func (l *scriptLog) Info(context.Context) (eventstore.LogInfo, error) {
	panic("a relay does not ask")
}

// scriptOutbox is an outbox in slices. It lets several relays lead a shard at
// once: the worst that a lost lead can lead to.
type scriptOutbox struct {
	mu      sync.Mutex
	items   [][]eventstore.Item
	mark    []eventstore.Mark
	told    int           // how often the mark was moved, or told to be where it was
	changed chan struct{} // closed at every change
	faults  faults
}

func newScriptOutbox(shards int, f faults) *scriptOutbox {
	return &scriptOutbox{items: make([][]eventstore.Item, shards), mark: make([]eventstore.Mark, shards),
		changed: make(chan struct{}), faults: f}
}

func (o *scriptOutbox) add(shard int, events ...domain.Recorded) {
	o.addAfter(func() {}, shard, events...)
}

// addAfter does something first, and no relay looks before the events are there.
func (o *scriptOutbox) addAfter(do func(), shard int, events ...domain.Recorded) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
	o.items[shard] = append(o.items[shard], eventstore.Item{Offset: eventstore.Offset{Seq: int64(len(o.items[shard]) + 1)}, Events: events})
	o.tell()
}

func (o *scriptOutbox) tell() {
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *scriptOutbox) broken() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.faults.happens(o.faults.outbox)
}

func (o *scriptOutbox) Shards() int { return len(o.items) }

func (o *scriptOutbox) Lead(ctx context.Context, _ int) (context.Context, func(), error) {
	if o.broken() {
		return nil, nil, errOut
	}
	lead, resign := context.WithCancel(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.faults.happens(o.faults.lead) {
		time.AfterFunc(time.Duration(o.faults.rnd.IntN(300))*time.Millisecond, resign)
	}
	return lead, resign, ctx.Err()
}

func (o *scriptOutbox) Mark(_ context.Context, shard int) (eventstore.Mark, error) {
	if o.broken() {
		return eventstore.Mark{}, errOut
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mark[shard], nil
}

func (o *scriptOutbox) Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error) {
	if o.broken() {
		return nil, errOut
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	left := o.items[shard][after.Seq:]
	return slices.Clone(left[:min(limit, len(left))]), ctx.Err()
}

func (o *scriptOutbox) Wait(ctx context.Context, shard int, after eventstore.Offset) error {
	for {
		o.mu.Lock()
		more, changed := int64(len(o.items[shard])) > after.Seq, o.changed
		o.mu.Unlock()
		if more {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *scriptOutbox) MoveMark(ctx context.Context, shard int, upTo eventstore.Mark) error {
	if o.broken() {
		return errOut
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told++
	if o.mark[shard].Before(upTo.Offset) {
		o.mark[shard] = upTo
	}
	o.tell()
	return ctx.Err()
}

func (o *scriptOutbox) Depth(context.Context) (d eventstore.OutboxDepth, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n, items := range o.items {
		d.Unsent += len(items) - int(o.mark[n].Seq)
	}
	return d, nil
}

// reached waits until the marks stand where they are wanted.
func (o *scriptOutbox) reached(ctx context.Context, want ...int64) bool {
	for {
		o.mu.Lock()
		got, changed := []int64{}, o.changed
		for _, m := range o.mark {
			got = append(got, m.Seq)
		}
		o.mu.Unlock()
		if slices.Equal(got, want) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// event makes number v of job n, written by a command of its own.
func event(n, v int64) domain.Recorded {
	a := domain.NewJobID(n).Aggregate()
	e := domain.Event{Type: domain.EventJobWaiting, Aggregate: a, Version: v, Data: &domain.JobWaiting{}}
	return domain.Recorded{Event: e, CommandID: "command of " + e.ID()}
}

func events(n, from, to int64) []domain.Recorded {
	var list []domain.Recorded
	for v := from; v <= to; v++ {
		list = append(list, event(n, v))
	}
	return list
}
