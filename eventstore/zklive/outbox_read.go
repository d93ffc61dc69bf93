package zklive

import (
	"context"
	"errors"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// bucketsOf lists a shard's buckets, oldest first.
func (o *outboxState) bucketsOf(ctx context.Context, shard int) ([]int64, error) {
	names, _, err := o.s.children(ctx, o.s.paths.shard(shard))
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, n := range names {
		if b, err := strconv.ParseInt(strings.TrimPrefix(n, "b"), 10, 64); err == nil {
			out = append(out, b)
		}
	}
	sort.Slice(out, func(i, k int) bool { return out[i] < out[k] })
	return out, nil
}

// positions lists the nodes of a bucket that come after a position.
func (o *outboxState) positions(ctx context.Context, shard int, bucket int64, after eventstore.Offset) ([]eventstore.Offset, error) {
	names, _, err := o.s.children(ctx, o.s.paths.bucket(shard, bucket))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []eventstore.Offset
	for _, n := range names {
		seq, err := sequence(n)
		if err != nil {
			continue
		}
		if at := (eventstore.Offset{Bucket: bucket, Seq: seq}); after.Before(at) {
			out = append(out, at)
		}
	}
	sort.Slice(out, func(i, k int) bool { return out[i].Before(out[k]) })
	return out, nil
}

// Unsent implements eventstore.Outbox.
func (s *Store) Unsent(ctx context.Context, shard int) (pos eventstore.Offset, err error) {
	_, err = s.getJSON(ctx, s.paths.mark(shard), &pos)
	return pos, err
}

// Read implements eventstore.Outbox.
func (s *Store) Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error) {
	if items := s.outbox.hints.next(shard, after, limit); len(items) > 0 {
		return items, nil
	}
	buckets, err := s.outbox.bucketsOf(ctx, shard)
	if err != nil {
		return nil, err
	}
	var todo []eventstore.Offset
	for _, b := range buckets {
		if b < after.Bucket {
			continue
		}
		more, err := s.outbox.positions(ctx, shard, b, after)
		if err != nil {
			return nil, err
		}
		if todo = append(todo, more...); len(todo) >= limit {
			todo = todo[:limit]
			break
		}
	}
	items := make([]eventstore.Item, len(todo))
	gone := make([]bool, len(todo))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(64)
	for i, pos := range todo {
		if item, hinted := s.outbox.hints.known(shard, pos); hinted {
			items[i] = item
			continue
		}
		g.Go(func() (err error) {
			items[i], err = s.outbox.item(gctx, shard, pos)
			if errors.Is(err, zk.ErrNoNode) {
				gone[i], err = true, nil // sent and removed by another leader
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	kept := items[:0]
	for i, it := range items {
		if !gone[i] {
			kept = append(kept, it)
		}
	}
	return kept, nil
}

func (o *outboxState) item(ctx context.Context, shard int, pos eventstore.Offset) (eventstore.Item, error) {
	path := o.s.paths.entry(shard, pos.Bucket, pos.Seq)
	n, err := o.s.get(ctx, path)
	if err != nil {
		return eventstore.Item{}, err
	}
	events, err := codec.UnmarshalOutbox(n.data)
	if err != nil {
		return eventstore.Item{}, &eventstore.Error{Op: "read " + path, Err: errors.Join(eventstore.ErrBroken, err)}
	}
	epoch, err := o.s.epoch(ctx)
	if err != nil {
		return eventstore.Item{}, err
	}
	for i := range events {
		events[i].Zxid, events[i].Epoch = n.stat.Czxid, epoch
	}
	return eventstore.Item{Offset: pos, Events: events}, nil
}

// epoch is read once: it changes only when a tree is restored, with nobody
// connected.
func (s *Store) epoch(ctx context.Context) (int64, error) {
	s.mu.Lock()
	known := s.epochKnown
	s.mu.Unlock()
	if known != 0 {
		return known, nil
	}
	var e int64
	if _, err := s.getJSON(ctx, s.paths.epoch(), &e); err != nil {
		return 0, err
	}
	s.mu.Lock()
	s.epochKnown = e
	s.mu.Unlock()
	return e, nil
}

// Depth implements eventstore.Outbox. Only the bucket that the mark stands in is
// listed: those behind it are counted by their number of nodes, so that the
// question costs the same however long the log has been away.
func (s *Store) Depth(ctx context.Context) (d eventstore.OutboxDepth, err error) {
	for shard := range s.outbox.shards {
		n, oldest, err := s.outbox.depth(ctx, shard)
		if err != nil {
			return d, err
		}
		d.Unsent += n
		d.Oldest = max(d.Oldest, oldest)
	}
	return d, nil
}

// UnsentOf implements eventstore.Inspector.
func (s *Store) UnsentOf(ctx context.Context, a domain.Aggregate, batch domain.BatchID) (int, error) {
	key := a.ID
	if a.Kind == domain.KindJob {
		key = string(batch)
	}
	if key == "" {
		d, err := s.Depth(ctx)
		return d.Unsent, err
	}
	n, _, err := s.outbox.depth(ctx, shardOfKey(key, s.outbox.shards))
	return n, err
}

// depth counts what is unsent in a shard, and tells how old the first of it is.
func (o *outboxState) depth(ctx context.Context, shard int) (n int, oldest time.Duration, err error) {
	mark, err := o.s.Unsent(ctx, shard)
	if err != nil {
		return 0, 0, err
	}
	buckets, err := o.bucketsOf(ctx, shard)
	if err != nil {
		return 0, 0, err
	}
	var first eventstore.Offset
	for _, b := range buckets {
		if b < mark.Bucket {
			continue
		}
		if n > 0 && b > mark.Bucket { // the first one is known
			stat, err := o.s.exists(ctx, o.s.paths.bucket(shard, b))
			if err != nil {
				return 0, 0, err
			}
			if stat != nil {
				n += int(stat.NumChildren)
			}
			continue
		}
		unsent, err := o.positions(ctx, shard, b, mark)
		if err != nil {
			return 0, 0, err
		}
		if len(unsent) > 0 {
			first, n = unsent[0], len(unsent)
		}
	}
	if n == 0 {
		return 0, 0, nil
	}
	stat, err := o.s.exists(ctx, o.s.paths.entry(shard, first.Bucket, first.Seq))
	if err != nil || stat == nil {
		return n, 0, err
	}
	return n, time.Since(time.UnixMilli(stat.Ctime)), nil
}

// find looks through a shard's nodes for an event and gives the command that
// wrote it, "" = not there. It is slow and serves only to settle an unknown
// outcome.
func (o *outboxState) find(ctx context.Context, shard int, eventID string) (string, error) {
	buckets, err := o.bucketsOf(ctx, shard)
	if err != nil {
		return "", err
	}
	for i := len(buckets) - 1; i >= 0; i-- {
		at, err := o.positions(ctx, shard, buckets[i], eventstore.Offset{})
		if err != nil {
			return "", err
		}
		for k := len(at) - 1; k >= 0; k-- {
			it, err := o.item(ctx, shard, at[k])
			if errors.Is(err, zk.ErrNoNode) || errors.Is(err, eventstore.ErrBroken) {
				continue
			}
			if err != nil {
				return "", err
			}
			for _, e := range it.Events {
				if e.ID() == eventID {
					return e.CommandID, nil
				}
			}
		}
	}
	return "", nil
}
