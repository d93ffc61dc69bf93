package zklive

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

type sentNodes struct {
	upTo eventstore.Offset // all before it are known to be sent
	due  []dueNode
}

type dueNode struct {
	path string
	due  time.Time
}

// keepSent bounds how many sent nodes of a shard are kept, whatever the grace
// time.
const keepSent = 4000

// clean removes what was sent, on a goroutine of its own: the relay does not wait
// for it.
func (o *outboxState) clean() {
	tick := time.NewTicker(min(max(o.s.cfg.Grace/2, 100*time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-o.s.ctx.Done():
			return
		}
		for shard := range o.shards {
			o.mu.Lock()
			marked := o.marked[shard].upTo
			o.mu.Unlock()
			if st := o.sent[shard]; len(st.due) > 0 || st.upTo.Before(marked) {
				if err := o.sweep(o.s.ctx, shard, marked); err != nil && o.s.ctx.Err() == nil {
					o.s.log.Warn("cannot clean the outbox; trying again", "shard", shard, "error", err)
				}
			}
		}
	}
}

// mark is what this process last wrote or read of a shard's mark.
type mark struct {
	upTo    eventstore.Offset
	version int32 // of the node
	known   bool
}

// Sent implements eventstore.Outbox. The mark never goes back: a leader that
// lost its lead without knowing may be late.
func (s *Store) Sent(ctx context.Context, shard int, upTo eventstore.Offset) error {
	o := s.outbox
	o.mu.Lock()
	m := o.marked[shard]
	o.mu.Unlock()
	for {
		if !m.known {
			stat, err := s.getJSON(ctx, s.paths.mark(shard), &m.upTo)
			if err != nil {
				return &eventstore.Error{Op: "read the outbox's mark", Err: err}
			}
			m.version, m.known = stat.Version, true
		}
		if !m.upTo.Before(upTo) {
			break
		}
		crash.Point("zklive/outbox/before-mark")
		stat, err := read(ctx, func() (*zk.Stat, error) { return s.conn.Set(s.paths.mark(shard), encode(upTo), m.version) })
		crash.Point("zklive/outbox/after-mark")
		switch {
		case err == nil:
			m.upTo, m.version = upTo, stat.Version
		case errors.Is(err, zk.ErrBadVersion):
			m.known = false // another leader wrote, or an answer was lost
		default:
			return &eventstore.Error{Op: "mark the outbox", Err: err}
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.marked[shard] = m
	return nil
}

// sweep removes sent nodes after their grace time, and closed buckets that are
// empty. Only clean calls it. A second process that does the same finds nodes
// missing, which is no error.
func (o *outboxState) sweep(ctx context.Context, shard int, upTo eventstore.Offset) error {
	buckets, err := o.bucketsOf(ctx, shard)
	if err != nil {
		return err
	}
	st := o.sent[shard]
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
	for n < len(st.due) && (!st.due[n].due.After(now) || len(st.due)-n > keepSent) {
		n++
	}
	if err := o.remove(ctx, st.due[:n]); err != nil {
		return err
	}
	st.due = append([]dueNode(nil), st.due[n:]...)
	o.sent[shard] = st
	for _, b := range buckets {
		if b < upTo.Bucket { // closed: a newer one is in use
			crash.Point("zklive/outbox/before-drop-bucket")
			_, err := read(ctx, func() (struct{}, error) { return struct{}{}, o.s.conn.Delete(o.s.paths.bucket(shard, b), -1) })
			crash.Point("zklive/outbox/after-drop-bucket")
			if err != nil && !answered(err) {
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
		crash.Point("zklive/outbox/before-delete")
		_, err := read(ctx, func() ([]zk.MultiResponse, error) { return o.s.conn.Multi(p.ops...) })
		crash.Point("zklive/outbox/after-delete")
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
