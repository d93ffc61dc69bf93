package memory

import (
	"context"
	"hash/fnv"
	"sort"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// shard is one part of the outbox. Sent items are kept.
type shard struct {
	items  []item
	mark   eventstore.Offset
	leader *leader
}

// item holds its events as bytes, so that what a reader gets is what a real
// outbox would have kept of them.
type item struct {
	zxid int64
	data []byte
	at   time.Time
}

type leader struct {
	worker string
	cancel context.CancelFunc
}

// items encodes the events of one commit, together by shard.
func (w *Server) items(changes []eventstore.Change) (map[int][]byte, error) {
	events := map[int][]domain.Recorded{}
	for _, c := range changes {
		n := w.shardOf(c)
		events[n] = append(events[n], c.Events...)
	}
	encoded := make(map[int][]byte, len(events))
	for n, list := range events {
		data, err := codec.MarshalOutbox(list)
		if err != nil {
			return nil, err
		}
		encoded[n] = data
	}
	return encoded, nil
}

// shardOf keeps a batch and its jobs together, and a setting by itself.
func (w *Server) shardOf(c eventstore.Change) int {
	key := c.Aggregate().ID
	if c.Job != nil {
		key = string(c.Job.To.Configuration.BatchID)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(len(w.shards)))
}

func (w *Server) put(encoded map[int][]byte) {
	for n, data := range encoded {
		w.shards[n].items = append(w.shards[n].items, item{w.zxid, data, w.clock.Now()})
	}
}

// Shards implements eventstore.Outbox.
func (s *Store) Shards() int { return len(s.w.shards) }

// Lead implements eventstore.Outbox.
func (s *Store) Lead(ctx context.Context, shard int) (context.Context, func(), error) {
	return s.lead(ctx, &s.w.shards[shard].leader)
}

// lead waits for a lead, which one worker has at a time.
func (s *Store) lead(ctx context.Context, slot **leader) (context.Context, func(), error) {
	w := s.w
	lead, cancel := context.WithCancel(ctx)
	me := &leader{cancel: cancel}
	if err := w.wait(ctx, func() bool {
		if *slot != nil {
			return false
		}
		me.worker = s.worker
		*slot = me
		return true
	}); err != nil {
		cancel()
		return nil, nil, err
	}
	return lead, func() {
		cancel()
		w.mu.Lock()
		defer w.mu.Unlock()
		if *slot == me {
			*slot = nil
			w.signal()
		}
	}, nil
}

// Unsent implements eventstore.Outbox.
func (s *Store) Unsent(ctx context.Context, shard int) (eventstore.Offset, error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	return s.w.shards[shard].mark, ctx.Err()
}

// position of the i-th item of a shard. All are in one bucket.
func position(i int) eventstore.Offset { return eventstore.Offset{Bucket: 1, Seq: int64(i)} }

// after returns the index of the first item after a position.
func (sh *shard) after(p eventstore.Offset) int {
	return sort.Search(len(sh.items), func(i int) bool { return p.Before(position(i)) })
}

// Read implements eventstore.Outbox.
func (s *Store) Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	sh := &s.w.shards[shard]
	var out []eventstore.Item
	for i := sh.after(after); i < len(sh.items) && len(out) < limit; i++ {
		events, err := codec.UnmarshalOutbox(sh.items[i].data)
		if err != nil {
			return nil, err
		}
		for k := range events {
			events[k].Zxid, events[k].Epoch = sh.items[i].zxid, 1
		}
		out = append(out, eventstore.Item{Offset: position(i), Events: events})
	}
	return out, nil
}

// Wait implements eventstore.Outbox.
func (s *Store) Wait(ctx context.Context, shard int, after eventstore.Offset) error {
	sh := &s.w.shards[shard]
	return s.w.wait(ctx, func() bool { return sh.after(after) < len(sh.items) })
}

// Sent implements eventstore.Outbox.
func (s *Store) Sent(ctx context.Context, shard int, upTo eventstore.Offset) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	if sh := &s.w.shards[shard]; sh.mark.Before(upTo) {
		sh.mark = upTo
	}
	return nil
}

// Depth implements eventstore.Outbox.
func (s *Store) Depth(ctx context.Context) (d eventstore.OutboxDepth, err error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	for i := range s.w.shards {
		sh := &s.w.shards[i]
		first := sh.after(sh.mark)
		d.Unsent += len(sh.items) - first
		if first < len(sh.items) {
			d.Oldest = max(d.Oldest, s.w.clock.Now().Sub(sh.items[first].at))
		}
	}
	return d, ctx.Err()
}
