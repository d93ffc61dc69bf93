package zklive

import (
	"context"
	"sync"
	"time"

	"github.com/accession-ingest/accession/eventstore"
)

// relayHints are the items that this process has just written into the shards of the outbox
// that it leads: its relay gets them without reading ZooKeeper. They are only a
// shortcut. An item is returned only if it directly follows the previous one; the nodes
// of a bucket are numbered without gaps, so that a missing item was written by another
// process, or its hint was lost, and is read from the tree.
type relayHints struct {
	mu     sync.Mutex
	shards []shardHints
}

type shardHints struct {
	lead    context.Context // while it lasts hints are kept; nil = not led
	items   map[eventstore.Offset]eventstore.Item
	events  int           // in items
	written chan struct{} // closed when this process wrote into the shard
}

// Limits of relay hints.
const (
	maxHinted = 16_384               // events of one shard; more are read from the tree
	hintTime  = 5 * time.Millisecond // after which a missing one counts as another process's
)

func newRelayHints(shards int) *relayHints {
	h := &relayHints{shards: make([]shardHints, shards)}
	for i := range h.shards {
		h.shards[i].written = make(chan struct{})
	}
	return h
}

// keepDuring keeps the hints of a shard until the lead ends.
func (h *relayHints) keepDuring(lead context.Context, shard int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.shards[shard]
	s.lead, s.items, s.events = lead, map[eventstore.Offset]eventstore.Item{}, 0
}

func (s *shardHints) kept() bool {
	if s.lead != nil && s.lead.Err() != nil {
		s.lead, s.items, s.events = nil, nil, 0
	}
	return s.lead != nil
}

// put keeps an item if the shard is led here, and always wakes the waiters.
func (h *relayHints) put(shard int, item eventstore.Item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.shards[shard]
	if _, again := s.items[item.Offset]; s.kept() && !again && len(item.Events) > 0 && s.events+len(item.Events) <= maxHinted {
		s.items[item.Offset] = item
		s.events += len(item.Events)
	}
	s.wake()
}

// wake wakes the waiters of a shard.
func (s *shardHints) wake() {
	close(s.written)
	s.written = make(chan struct{})
}

func (h *relayHints) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.shards {
		h.shards[i].wake()
	}
}

// next returns the items that directly follow an offset, and drops those up to it.
func (h *relayHints) next(shard int, after eventstore.Offset, limit int) []eventstore.Item {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.shards[shard]
	if !s.kept() {
		return nil
	}
	var out []eventstore.Item
	for at := after; len(out) < limit; {
		at.Seq++
		item, there := s.items[at]
		if !there {
			break
		}
		out = append(out, item)
	}
	if len(out) == 0 || len(s.items) > 2*len(out) {
		for at, item := range s.items {
			if !after.Before(at) {
				s.events -= len(item.Events)
				delete(s.items, at)
			}
		}
	}
	return out
}

// get returns one item.
func (h *relayHints) get(shard int, at eventstore.Offset) (eventstore.Item, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	item, there := h.shards[shard].items[at]
	return item, there && h.shards[shard].kept()
}

// written returns a channel that is closed when this process next writes into the shard.
func (h *relayHints) written(shard int) <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shards[shard].written
}

// wait waits up to hintTime for the item that directly follows an offset. It reports
// false at once when no hints are kept.
func (h *relayHints) wait(ctx context.Context, shard int, after eventstore.Offset) bool {
	ctx, cancel := context.WithTimeout(ctx, hintTime)
	defer cancel()
	for {
		h.mu.Lock()
		s := &h.shards[shard]
		_, there := s.items[eventstore.Offset{Bucket: after.Bucket, Seq: after.Seq + 1}]
		kept, written := s.kept(), s.written
		h.mu.Unlock()
		if !kept || there {
			return kept && there
		}
		select {
		case <-written:
		case <-ctx.Done():
			return false
		}
	}
}
