package zklive

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// The outbox of a shard is a row of buckets. The pointer (the shard node's data)
// names the bucket that takes new nodes. A bucket is closed by writing to it: a
// writer checks that the bucket it knows was never written to, so that no node
// can follow in an old bucket once a newer one has any. Nodes are sequential, so
// that names give the commit order within a bucket.
type outboxState struct {
	s      *Store
	shards int

	mu      sync.Mutex
	current []int64 // per shard: bucket that takes nodes, as far as known
	marked  []mark  // per shard: its mark as this process knows it
	turning []bool  // per shard: its next bucket is being opened

	hints    *hints
	pointers []pointerWatch // per shard

	sent []sentNodes // per shard: waiting for the grace time; the cleaner's own
}

func newOutboxState(ctx context.Context, s *Store) (*outboxState, error) {
	o := &outboxState{s: s}
	// The number of shards is fixed when the tree is made: all must agree.
	if err := s.ensure(ctx, s.paths.at("/config/shards"), encode(s.cfg.Shards)); err != nil {
		return nil, err
	}
	if _, err := s.getJSON(ctx, s.paths.at("/config/shards"), &o.shards); err != nil {
		return nil, err
	}
	o.current, o.marked, o.sent = make([]int64, o.shards), make([]mark, o.shards), make([]sentNodes, o.shards)
	o.turning, o.pointers, o.hints = make([]bool, o.shards), make([]pointerWatch, o.shards), newHints(o.shards)
	for n := range o.shards {
		for path, data := range map[string][]byte{s.paths.shard(n): encode(1)} {
			if err := s.ensure(ctx, path, data); err != nil {
				return nil, err
			}
		}
		if err := s.ensure(ctx, s.paths.mark(n), encode(eventstore.Offset{Bucket: 1, Seq: -1})); err != nil {
			return nil, err
		}
		cur, err := o.pointer(ctx, n)
		if err != nil {
			return nil, err
		}
		if cur == 1 {
			if err := s.ensure(ctx, s.paths.bucket(n, 1), nil); err != nil {
				return nil, err
			}
		}
	}
	if _, err := s.epoch(ctx); err != nil {
		return nil, err
	}
	s.goes(o.clean)
	if err := o.refresh(ctx); err != nil {
		return nil, err
	}
	return o, nil
}

func (o *outboxState) pointer(ctx context.Context, shard int) (int64, error) {
	var cur int64
	_, err := o.s.getJSON(ctx, o.s.paths.shard(shard), &cur)
	return cur, err
}

// refresh reads the pointers again.
func (o *outboxState) refresh(ctx context.Context) error {
	for n := range o.shards {
		cur, err := o.pointer(ctx, n)
		if err != nil {
			return err
		}
		o.mu.Lock()
		o.current[n] = cur
		o.mu.Unlock()
	}
	return nil
}

func (o *outboxState) bucket(shard int) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.current[shard]
}

// wrote follows a node that this process made in the given commit: it tells the
// relay, and opens the next bucket when this one is full.
func (o *outboxState) wrote(n outboxNode, path string, zxid int64) {
	seq, err := sequence(path)
	if err != nil {
		o.hints.tellAll()
		return
	}
	item := eventstore.Item{Offset: eventstore.Offset{Bucket: n.bucket, Seq: seq}}
	o.s.mu.Lock()
	epoch := o.s.epochKnown
	o.s.mu.Unlock()
	if zxid != 0 { // else the relay reads the node
		item.Events = slices.Concat(n.events...)
		for i := range item.Events {
			item.Events[i].Zxid, item.Events[i].Epoch = zxid, epoch
		}
	}
	o.hints.put(n.shard, item)
	if seq+1 >= o.s.cfg.BucketSize {
		o.rotate(n.shard, n.bucket)
	}
}

// rotate closes a bucket and opens the next, in one multi. Losing the race to
// another writer is as good.
func (o *outboxState) rotate(shard int, bucket int64) {
	o.mu.Lock()
	mine := !o.turning[shard] && o.current[shard] == bucket
	o.turning[shard] = o.turning[shard] || mine
	o.mu.Unlock()
	if !mine {
		return
	}
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.turning[shard] = false
	}()
	p := &plan{}
	p.set(o.s.paths.bucket(shard, bucket), []byte("closed"), 0, nil)
	p.create(o.s.paths.bucket(shard, bucket+1), nil, 0, nil)
	p.set(o.s.paths.shard(shard), encode(bucket+1), -1, nil)
	ctx, cancel := context.WithTimeout(o.s.ctx, 10*time.Second)
	defer cancel()
	crash.Point("zklive/outbox/before-rotate")
	_, err := call(ctx, func() ([]zk.MultiResponse, error) { return o.s.conn.Multi(p.ops...) })
	crash.Point("zklive/outbox/after-rotate")
	if err == nil || answered(err) {
		_ = o.refresh(ctx)
	}
}

func sequence(path string) (int64, error) {
	i := strings.LastIndex(path, "-")
	if i < 0 {
		return 0, fmt.Errorf("%q has no sequence", path)
	}
	return strconv.ParseInt(path[i+1:], 10, 64)
}

// Shards implements eventstore.Outbox.
func (s *Store) Shards() int { return s.outbox.shards }

var (
	_ eventstore.Live    = (*Store)(nil)
	_ eventstore.Catalog = (*Store)(nil)
	_ eventstore.Claims  = (*Store)(nil)
	_ eventstore.Outbox  = (*Store)(nil)
)
