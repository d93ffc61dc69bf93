package zklive

import (
	"context"
	"sync"
	"time"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
	"github.com/accession-ingest/accession/eventstore/zklive/recovery"
)

// outbox holds committed events until the relay has taken them to the log.
type outbox struct {
	conn       *session.Conn
	root       layout.Root
	cfg        Config
	epoch      *recovery.Epoch
	shards     int
	additions  *buckets
	relayHints *relayHints

	mu       sync.Mutex
	marks    []mark     // per shard
	pointers []*pointer // per shard, nil = never read
	purging  []purge    // per shard, by the purger alone
}

func newOutbox(ctx context.Context, conn *session.Conn, root layout.Root, cfg Config, epoch *recovery.Epoch) (*outbox, error) {
	o := &outbox{conn: conn, root: root, cfg: cfg, epoch: epoch}
	// The number of shards is fixed when the tree is made: all processes must agree.
	if err := conn.Ensure(ctx, root.Shards(), layout.Encode(cfg.Shards)); err != nil {
		return nil, err
	}
	if _, err := conn.GetJSON(ctx, root.Shards(), &o.shards); err != nil {
		return nil, err
	}
	o.marks, o.pointers, o.purging, o.relayHints = make([]mark, o.shards), make([]*pointer, o.shards), make([]purge, o.shards), newRelayHints(o.shards)
	o.additions = &buckets{conn: conn, root: root, size: cfg.BucketSize, epoch: epoch, relayHints: o.relayHints,
		current: make([]int64, o.shards), rotating: make([]bool, o.shards)}
	for n := range o.shards {
		if err := o.makeShard(ctx, n); err != nil {
			return nil, err
		}
	}
	if _, err := epoch.Get(ctx); err != nil {
		return nil, err
	}
	conn.Spawn(o.purge)
	return o, o.additions.Refresh(ctx)
}

func (o *outbox) makeShard(ctx context.Context, n int) error {
	if err := o.conn.Ensure(ctx, o.root.Shard(n), layout.Encode(1)); err != nil {
		return err
	}
	if err := o.conn.Ensure(ctx, o.root.Mark(n), layout.Encode(eventstore.Mark{Offset: eventstore.Offset{Bucket: 1, Seq: -1}})); err != nil {
		return err
	}
	var current int64
	_, err := o.conn.GetJSON(ctx, o.root.Shard(n), &current)
	if err == nil && current == 1 {
		err = o.conn.Ensure(ctx, o.root.Bucket(n, 1), nil)
	}
	return err
}

// Shards implements eventstore.Outbox.
func (o *outbox) Shards() int { return o.shards }

// led keeps relay hints for the relay of this process while it leads a shard.
func (o *outbox) led(lead context.Context, shard int) {
	if o.cfg.RelayHints {
		o.relayHints.keepDuring(lead, shard)
	}
}

// buckets knows where items are written: the outbox of a shard is a sequence of
// buckets. The pointer (the shard node's data) names the one that takes new items. A
// bucket is closed by writing to it: a writer checks that the bucket it knows was never
// written to, so that no item can follow in an old bucket once a newer one has any.
// Items are sequential nodes: their names are in commit order within a bucket.
type buckets struct {
	conn       *session.Conn
	root       layout.Root
	size       int64
	epoch      *recovery.Epoch
	relayHints *relayHints

	mu       sync.Mutex
	current  []int64 // per shard: bucket that takes items, as last known
	rotating []bool  // per shard: its next bucket is being opened
}

// Refresh implements session.Outbox.
func (b *buckets) Refresh(ctx context.Context) error {
	for shard := range b.current {
		var current int64
		if _, err := b.conn.GetJSON(ctx, b.root.Shard(shard), &current); err != nil {
			return err
		}
		b.mu.Lock()
		b.current[shard] = current
		b.mu.Unlock()
	}
	return nil
}

// Bucket implements session.Outbox.
func (b *buckets) Bucket(shard int) (int64, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.current[shard], b.root.Bucket(shard, b.current[shard])
}

// Written implements session.Outbox: it wakes the relay, and opens the next bucket when
// this one is full.
func (b *buckets) Written(a session.Addition, path string, zxid int64) {
	seq, err := layout.ParseOutboxItem(path)
	if err != nil {
		b.relayHints.wakeAll()
		return
	}
	var item eventstore.Item
	if zxid != 0 { // else the relay reads the item
		item = a.Item()
		for i := range item.Events {
			item.Events[i].Zxid, item.Events[i].Epoch = zxid, b.epoch.Known()
		}
	}
	item.Offset = eventstore.Offset{Bucket: a.Bucket, Seq: seq}
	b.relayHints.put(a.Shard, item)
	if seq+1 >= b.size {
		b.rotate(a.Shard, a.Bucket)
	}
}

// rotateTime bounds the opening of a bucket.
const rotateTime = 10 * time.Second

// rotate closes a bucket and opens the next, in one multi. If another writer does it
// first, that is no error.
func (b *buckets) rotate(shard int, bucket int64) {
	b.mu.Lock()
	starts := !b.rotating[shard] && b.current[shard] == bucket
	b.rotating[shard] = b.rotating[shard] || starts
	b.mu.Unlock()
	if !starts {
		return
	}
	ctx, cancel := context.WithTimeout(b.conn.Context(), rotateTime)
	defer cancel()
	_, err := b.conn.TryMulti(ctx, "zklive/outbox/rotate", b.root.NextBucket(shard, bucket))
	if err == nil || session.Answered(err) {
		_ = b.Refresh(ctx)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rotating[shard] = false
}
