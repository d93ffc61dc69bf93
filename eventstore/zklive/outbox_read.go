package zklive

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// buckets lists a shard's buckets from a given one on, oldest first.
func (o *outbox) buckets(ctx context.Context, shard int, from int64) ([]int64, error) {
	v, err := o.conn.Children(ctx, o.root.Shard(shard))
	var all []int64
	for _, n := range v.Names {
		if b, ok := layout.ParseBucket(n); ok && b >= from {
			all = append(all, b)
		}
	}
	slices.Sort(all)
	return all, err
}

// offsets lists the items of a bucket that come after an offset, in order.
func (o *outbox) offsets(ctx context.Context, shard int, bucket int64, after eventstore.Offset) ([]eventstore.Offset, error) {
	names, err := o.conn.List(ctx, o.root.Bucket(shard, bucket))
	var all []eventstore.Offset
	for _, n := range names {
		seq, bad := layout.ParseOutboxItem(n)
		if at := (eventstore.Offset{Bucket: bucket, Seq: seq}); bad == nil && after.Before(at) {
			all = append(all, at)
		}
	}
	slices.SortFunc(all, func(a, b eventstore.Offset) int { return int(a.Seq - b.Seq) })
	return all, err
}

// itemsAfter lists up to limit items of a shard after an offset, in order.
func (o *outbox) itemsAfter(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Offset, error) {
	buckets, err := o.buckets(ctx, shard, after.Bucket)
	var all []eventstore.Offset
	for _, b := range buckets {
		if err != nil || len(all) >= limit {
			break
		}
		var more []eventstore.Offset
		more, err = o.offsets(ctx, shard, b, after)
		all = append(all, more...)
	}
	return all[:min(limit, len(all))], err
}

// Mark implements eventstore.Outbox.
func (o *outbox) Mark(ctx context.Context, shard int) (at eventstore.Mark, err error) {
	_, err = o.conn.GetJSON(ctx, o.root.Mark(shard), &at)
	return at, err
}

// readParallel is how many items are read at once.
const readParallel = 64

// Read implements eventstore.Outbox.
func (o *outbox) Read(ctx context.Context, shard int, after eventstore.Offset, limit int) ([]eventstore.Item, error) {
	if items := o.relayHints.next(shard, after, limit); len(items) > 0 {
		return items, nil
	}
	todo, err := o.itemsAfter(ctx, shard, after, limit)
	if err != nil {
		return nil, err
	}
	items := make([]eventstore.Item, len(todo))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(readParallel)
	for i, at := range todo {
		var hinted bool
		if items[i], hinted = o.relayHints.get(shard, at); hinted {
			continue
		}
		g.Go(func() (err error) {
			items[i], err = o.item(gctx, shard, at)
			if errors.Is(err, zk.ErrNoNode) {
				return nil // sent and removed by another leader
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(items, func(it eventstore.Item) bool { return it.Events == nil }), nil
}

func (o *outbox) item(ctx context.Context, shard int, at eventstore.Offset) (eventstore.Item, error) {
	path := o.root.OutboxItem(shard, at)
	n, err := o.conn.Get(ctx, path)
	if err != nil {
		return eventstore.Item{}, err
	}
	events, err := codec.UnmarshalOutbox(n.Data)
	if err != nil {
		return eventstore.Item{}, &eventstore.Error{Op: "read " + path, Err: errors.Join(eventstore.ErrBroken, err)}
	}
	epoch, err := o.epoch.Get(ctx)
	for i := range events {
		events[i].Zxid, events[i].Epoch = n.Stat.Czxid, epoch
	}
	return eventstore.Item{Offset: at, Events: events}, err
}

// Depth implements eventstore.Outbox. Only the bucket of the mark is listed; of the
// later ones only the number of items is read, so that the cost does not depend on
// how long the log could not be reached.
func (o *outbox) Depth(ctx context.Context) (d eventstore.OutboxDepth, err error) {
	for shard := range o.shards {
		n, oldest, err := o.depth(ctx, shard)
		if err != nil {
			return d, err
		}
		d.Unsent += n
		d.Oldest = max(d.Oldest, oldest)
	}
	return d, nil
}

// UnsentOf implements eventstore.Inspector.
func (o *outbox) UnsentOf(ctx context.Context, a domain.Aggregate, batch domain.BatchID) (int, error) {
	key := a.ID
	if a.Kind == domain.KindJob {
		key = string(batch)
	}
	if key == "" {
		d, err := o.Depth(ctx)
		return d.Unsent, err
	}
	n, _, err := o.depth(ctx, layout.ShardOfKey(key, o.shards))
	return n, err
}

// depth counts what is unsent in a shard, and returns how old the first of it is.
func (o *outbox) depth(ctx context.Context, shard int) (n int, oldest time.Duration, err error) {
	mark, err := o.Mark(ctx, shard)
	if err != nil {
		return 0, 0, err
	}
	buckets, err := o.buckets(ctx, shard, mark.Bucket)
	if err != nil {
		return 0, 0, err
	}
	var first eventstore.Offset
	for _, b := range buckets {
		if n > 0 && b > mark.Bucket { // the first one is known
			count, err := o.conn.Count(ctx, o.root.Bucket(shard, b))
			if err != nil {
				return 0, 0, err
			}
			n += count
			continue
		}
		unsent, err := o.offsets(ctx, shard, b, mark.Offset)
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
	stat, err := o.conn.Exists(ctx, o.root.OutboxItem(shard, first))
	if err != nil || stat == nil {
		return n, 0, err
	}
	return n, time.Since(time.UnixMilli(stat.Ctime)), nil
}

// find searches a shard's items for an event and returns the command that wrote it,
// "" = not found. It is slow and used only to settle an unknown outcome.
func (o *outbox) find(ctx context.Context, shard int, eventID string) (string, error) {
	buckets, err := o.buckets(ctx, shard, 0)
	if err != nil {
		return "", err
	}
	for _, b := range slices.Backward(buckets) {
		all, err := o.offsets(ctx, shard, b, eventstore.Offset{})
		if err != nil {
			return "", err
		}
		for _, at := range slices.Backward(all) {
			it, err := o.item(ctx, shard, at)
			if err != nil && !errors.Is(err, zk.ErrNoNode) && !errors.Is(err, eventstore.ErrBroken) {
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

// Wait implements eventstore.Outbox: writes of this process wake it at once, those of
// others by watches on the next item and on the pointer. It costs the same however
// many items there are.
func (o *outbox) Wait(ctx context.Context, shard int, after eventstore.Offset) error {
	for {
		if o.relayHints.wait(ctx, shard, after) {
			return nil
		}
		written := o.relayHints.written(shard)
		pointer, err := o.watchPointer(ctx, shard)
		if err != nil {
			return err
		}
		if pointer.current != after.Bucket {
			// Another bucket is in use: is there anything in it, or left in this one?
			if found, err := o.itemsAfter(ctx, shard, after, 1); err != nil || len(found) > 0 {
				return err
			}
			after = eventstore.Offset{Bucket: pointer.current, Seq: -1}
		}
		next, err := o.conn.WatchExists(ctx, o.root.OutboxItem(shard, eventstore.Offset{Bucket: after.Bucket, Seq: after.Seq + 1}))
		if err != nil || next.Stat != nil {
			return err
		}
		select {
		case <-written:
		case <-next.Watch:
		case <-pointer.moved:
		case <-time.After(refreshEvery):
			if found, err := o.itemsAfter(ctx, shard, after, 1); err != nil || len(found) > 0 {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pointer is the number of the bucket that takes a shard's items, as last read, and
// whether it has changed.
type pointer struct {
	current int64
	moved   <-chan zk.Event
}

// watchPointer returns a shard's pointer with a watch, which is set again only after it
// has fired.
func (o *outbox) watchPointer(ctx context.Context, shard int) (*pointer, error) {
	o.mu.Lock()
	known := o.pointers[shard]
	o.mu.Unlock()
	if known != nil {
		select {
		case <-known.moved:
		default:
			return known, nil
		}
	}
	node, err := o.conn.WatchData(ctx, o.root.Shard(shard))
	now := &pointer{moved: node.Watch}
	if err == nil {
		err = json.Unmarshal(node.Data, &now.current)
	}
	if err != nil {
		return nil, &eventstore.Error{Op: "read " + o.root.Shard(shard), Err: err}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pointers[shard] = now
	return now, nil
}
