package zklive

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
)

type sentNodes struct {
	upTo eventstore.Position // all before it are known to be sent
	due  []dueNode
}

type dueNode struct {
	path string
	due  time.Time
}

// clean removes what is due also when nothing new is sent.
func (o *outboxState) clean() {
	tick := time.NewTicker(max(o.s.cfg.Grace/2, 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-o.s.ctx.Done():
			return
		}
		for shard := range o.shards {
			o.sweepMu.Lock()
			o.mu.Lock()
			st := o.sent[shard]
			o.mu.Unlock()
			if len(st.due) > 0 {
				_ = o.sweepLocked(o.s.ctx, shard, st.upTo)
			}
			o.sweepMu.Unlock()
		}
	}
}

// Sent implements eventstore.Outbox. The mark never goes back: a leader that
// lost its lead without knowing may be late.
func (s *Store) Sent(ctx context.Context, shard int, upTo eventstore.Position) error {
	for {
		var at eventstore.Position
		stat, err := s.getJSON(ctx, s.paths.mark(shard), &at)
		if err == nil && at.Before(upTo) {
			_, err = read(ctx, func() (*zk.Stat, error) { return s.conn.Set(s.paths.mark(shard), encode(upTo), stat.Version) })
		}
		if errors.Is(err, zk.ErrBadVersion) {
			continue
		}
		if err != nil {
			return &eventstore.Error{Op: "mark the outbox", Err: err}
		}
		return s.outbox.sweep(ctx, shard, upTo)
	}
}

// sweep removes sent nodes after their grace time, and closed buckets that are
// empty. Only the shard's leader calls it; a second one would find nodes missing,
// which is no error.
func (o *outboxState) sweep(ctx context.Context, shard int, upTo eventstore.Position) error {
	o.sweepMu.Lock()
	defer o.sweepMu.Unlock()
	return o.sweepLocked(ctx, shard, upTo)
}

func (o *outboxState) sweepLocked(ctx context.Context, shard int, upTo eventstore.Position) error {
	buckets, err := o.bucketsOf(ctx, shard)
	if err != nil {
		return err
	}
	o.mu.Lock()
	st := o.sent[shard]
	o.mu.Unlock()
	now := time.Now()
	for _, b := range buckets {
		if b > upTo.Bucket {
			break
		}
		fresh, err := o.positions(ctx, shard, b, st.upTo)
		if err != nil {
			return err
		}
		for _, pos := range fresh {
			if !upTo.Before(pos) {
				st.due = append(st.due, dueNode{o.s.paths.entry(shard, pos.Bucket, pos.Seq), now.Add(o.s.cfg.Grace)})
			}
		}
	}
	if st.upTo.Before(upTo) {
		st.upTo = upTo
	}
	n := 0
	for n < len(st.due) && !st.due[n].due.After(now) {
		n++
	}
	if err := o.remove(ctx, st.due[:n]); err != nil {
		return err
	}
	st.due = append([]dueNode(nil), st.due[n:]...)
	o.mu.Lock()
	o.sent[shard] = st
	o.mu.Unlock()
	for _, b := range buckets {
		if b < upTo.Bucket { // closed: a newer one is in use
			if _, err := read(ctx, func() (struct{}, error) { return struct{}{}, o.s.conn.Delete(o.s.paths.bucket(shard, b), -1) }); err != nil && !answered(err) {
				return err
			}
		}
	}
	return nil
}

// remove deletes nodes, many a multi; one that is gone already makes its multi
// fall back to single deletes.
func (o *outboxState) remove(ctx context.Context, nodes []dueNode) error {
	for len(nodes) > 0 {
		part := nodes[:min(len(nodes), 500)]
		nodes = nodes[len(part):]
		p := &plan{}
		for _, d := range part {
			p.delete(d.path, -1, nil)
		}
		_, err := read(ctx, func() ([]zk.MultiResponse, error) { return o.s.conn.Multi(p.ops...) })
		if err == nil {
			continue
		}
		if !answered(err) {
			return err
		}
		for _, d := range part {
			if _, err := read(ctx, func() (struct{}, error) { return struct{}{}, o.s.conn.Delete(d.path, -1) }); err != nil && !answered(err) {
				return err
			}
		}
	}
	return nil
}
