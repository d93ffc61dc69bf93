package zklive

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// mark is a shard's mark as this process last wrote or read it.
type mark struct {
	upTo    eventstore.Mark
	version int32 // of the node
	known   bool
}

// MoveMark implements eventstore.Outbox. The mark never moves back, although a leader that
// has lost its lead without knowing may write late.
func (o *outbox) MoveMark(ctx context.Context, shard int, upTo eventstore.Mark) error {
	o.mu.Lock()
	m := o.marks[shard]
	o.mu.Unlock()
	for {
		if !m.known {
			stat, err := o.conn.GetJSON(ctx, o.root.Mark(shard), &m.upTo)
			if err != nil {
				return &eventstore.Error{Op: "read the outbox's mark", Err: err}
			}
			m.version, m.known = stat.Version, true
		}
		if !m.upTo.Offset.Before(upTo.Offset) {
			break
		}
		stat, err := o.conn.Set(ctx, "zklive/outbox/mark", o.root.Mark(shard), layout.Encode(upTo), m.version)
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
	o.marks[shard] = m
	return nil
}

// purge is what the purger knows of a shard.
type purge struct {
	upTo eventstore.Offset // all before it are known to be sent
	due  []dueItem
}

type dueItem struct {
	at  eventstore.Offset
	due time.Time
}

// waits reports whether there is nothing to do for a shard yet.
func (p *purge) waits(marked eventstore.Offset) bool {
	return !p.upTo.Before(marked) && (len(p.due) == 0 || p.due[0].due.After(time.Now()))
}

// keepSent bounds how many sent items of a shard are kept, whatever the grace
// time.
const keepSent = 4000

// purge removes what was sent, on a goroutine of its own: the relay does not wait
// for it.
func (o *outbox) purge() {
	tick := time.NewTicker(min(max(o.cfg.Grace/2, 100*time.Millisecond), time.Second))
	defer tick.Stop()
	for ctx := o.conn.Context(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		for shard := range o.shards {
			o.mu.Lock()
			marked := o.marks[shard].upTo.Offset
			o.mu.Unlock()
			if !o.purging[shard].waits(marked) {
				if err := o.purgeShard(ctx, shard, marked); err != nil && ctx.Err() == nil {
					o.cfg.Logger.Warn("cannot purge the outbox; trying again", "shard", shard, "error", err)
				}
			}
		}
	}
}

// purgeShard removes sent items after their grace time, and closed buckets that are
// empty. A second process that does the same finds items missing, which is no
// error.
func (o *outbox) purgeShard(ctx context.Context, shard int, upTo eventstore.Offset) error {
	buckets, err := o.buckets(ctx, shard, 0)
	if err != nil {
		return err
	}
	buckets = slices.DeleteFunc(buckets, func(b int64) bool { return b > upTo.Bucket })
	p := o.purging[shard]
	now := time.Now()
	for _, b := range buckets {
		if b < p.upTo.Bucket || !p.upTo.Before(upTo) {
			continue // its items are known
		}
		newlySent, err := o.offsets(ctx, shard, b, p.upTo)
		if err != nil {
			return err
		}
		for _, at := range newlySent {
			if !upTo.Before(at) {
				p.due = append(p.due, dueItem{at, now.Add(o.cfg.Grace)})
			}
		}
	}
	if p.upTo.Before(upTo) {
		p.upTo = upTo
	}
	var paths []string
	for n, d := range p.due {
		if d.due.After(now) && len(p.due)-n <= keepSent {
			break
		}
		paths = append(paths, o.root.OutboxItem(shard, d.at))
	}
	if err := o.conn.DeleteAll(ctx, "zklive/outbox/delete", paths); err != nil {
		return err
	}
	p.due = slices.Clone(p.due[len(paths):])
	for _, b := range buckets {
		// Closed, since a newer one is in use, and empty.
		if b < upTo.Bucket && (len(p.due) == 0 || b < p.due[0].at.Bucket) {
			if err := o.conn.Remove(ctx, "zklive/outbox/drop-bucket", o.root.Bucket(shard, b)); err != nil && !session.Answered(err) {
				return err
			}
		}
	}
	o.purging[shard] = p
	return nil
}
