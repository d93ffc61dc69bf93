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
	mark   eventstore.Mark
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
func (srv *Server) items(changes []eventstore.Change) (map[int][]byte, error) {
	events := map[int][]domain.Recorded{}
	for _, c := range changes {
		n := srv.shardOf(c)
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
func (srv *Server) shardOf(c eventstore.Change) int {
	key := c.Aggregate().ID
	if c.Job != nil {
		key = string(c.Job.To.Configuration.BatchID)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return int(h.Sum32() % uint32(len(srv.shards)))
}

func (srv *Server) put(encoded map[int][]byte) {
	for n, data := range encoded {
		srv.shards[n].items = append(srv.shards[n].items, item{srv.zxid, data, srv.clock.Now()})
	}
}

// Shards implements eventstore.Outbox.
func (s *Store) Shards() int { return len(s.server.shards) }

// Lead implements eventstore.Outbox.
func (s *Store) Lead(ctx context.Context, shard int) (context.Context, func(), error) {
	return s.lead(ctx, &s.server.shards[shard].leader)
}

// lead waits for a lead, which one worker has at a time.
func (s *Store) lead(ctx context.Context, current **leader) (context.Context, func(), error) {
	srv := s.server
	lead, cancel := context.WithCancel(ctx)
	me := &leader{cancel: cancel}
	if err := srv.wait(ctx, nil, func() bool {
		if *current != nil {
			return false
		}
		me.worker = s.worker
		*current = me
		return true
	}); err != nil {
		cancel()
		return nil, nil, err
	}
	return lead, func() {
		cancel()
		srv.mu.Lock()
		defer srv.mu.Unlock()
		if *current == me {
			*current = nil
			srv.signal()
		}
	}, nil
}

// Mark implements eventstore.Outbox.
func (s *Store) Mark(ctx context.Context, shard int) (eventstore.Mark, error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	return s.server.shards[shard].mark, ctx.Err()
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
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	sh := &s.server.shards[shard]
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
	sh := &s.server.shards[shard]
	return s.server.wait(ctx, nil, func() bool { return sh.after(after) < len(sh.items) })
}

// MoveMark implements eventstore.Outbox.
func (s *Store) MoveMark(ctx context.Context, shard int, upTo eventstore.Mark) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if sh := &s.server.shards[shard]; sh.mark.Before(upTo.Offset) {
		sh.mark = upTo
	}
	return nil
}

// Depth implements eventstore.Outbox.
func (s *Store) Depth(ctx context.Context) (d eventstore.OutboxDepth, err error) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	for i := range s.server.shards {
		sh := &s.server.shards[i]
		first := sh.after(sh.mark.Offset)
		d.Unsent += len(sh.items) - first
		if first < len(sh.items) {
			d.Oldest = max(d.Oldest, s.server.clock.Now().Sub(sh.items[first].at))
		}
	}
	return d, ctx.Err()
}
