package zklive

import (
	"context"
	"encoding/json"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
)

// lookAgain is after how long Wait looks itself: a watch may be lost.
const lookAgain = 10 * time.Second

// pointerWatch is a shard's pointer as it was read last, and whether it moved.
type pointerWatch struct {
	current int64
	moved   <-chan zk.Event
}

// Wait implements eventstore.Outbox: this process's own writes wake it at once,
// others' through watches on the node that comes next and on the pointer. It costs
// the same however many nodes there are.
func (s *Store) Wait(ctx context.Context, shard int, after eventstore.Offset) error {
	for {
		if s.outbox.hints.wait(ctx, shard, after) {
			return nil
		}
		news := s.outbox.hints.news(shard)
		pointer, err := s.outbox.watchPointer(ctx, shard)
		if err != nil {
			return err
		}
		if pointer.current != after.Bucket {
			// Another bucket is in use: is there anything in it, or left in this one?
			items, err := s.outbox.behind(ctx, shard, after)
			if err != nil || items {
				return err
			}
			after = eventstore.Offset{Bucket: pointer.current, Seq: -1}
		}
		next := s.paths.entry(shard, after.Bucket, after.Seq+1)
		type look struct {
			there bool
			watch <-chan zk.Event
		}
		l, err := read(ctx, func() (look, error) {
			there, _, watch, err := s.conn.ExistsW(next)
			return look{there, watch}, err
		})
		if err != nil || l.there {
			return err
		}
		select {
		case <-news:
		case <-l.watch:
		case <-pointer.moved:
		case <-time.After(lookAgain):
			if items, err := s.outbox.behind(ctx, shard, after); err != nil || items {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// behind looks whether any node stands behind a position.
func (o *outboxState) behind(ctx context.Context, shard int, after eventstore.Offset) (bool, error) {
	buckets, err := o.bucketsOf(ctx, shard)
	if err != nil {
		return false, err
	}
	for _, b := range buckets {
		if b < after.Bucket {
			continue
		}
		if at, err := o.positions(ctx, shard, b, after); err != nil || len(at) > 0 {
			return len(at) > 0, err
		}
	}
	return false, nil
}

// watchPointer gives a shard's pointer with a watch, which is set again only after
// it went off.
func (o *outboxState) watchPointer(ctx context.Context, shard int) (pointerWatch, error) {
	o.mu.Lock()
	w := o.pointers[shard]
	o.mu.Unlock()
	if w.moved != nil {
		select {
		case <-w.moved:
		default:
			return w, nil
		}
	}
	path := o.s.paths.shard(shard)
	type look struct {
		data  []byte
		watch <-chan zk.Event
	}
	l, err := read(ctx, func() (look, error) {
		data, _, watch, err := o.s.conn.GetW(path)
		return look{data, watch}, err
	})
	if err == nil {
		w.moved = l.watch
		err = json.Unmarshal(l.data, &w.current)
	}
	if err != nil {
		return w, &eventstore.Error{Op: "read " + path, Err: err}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pointers[shard] = w
	return w, nil
}
