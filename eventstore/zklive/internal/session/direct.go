package session

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// Limits of one multi. ZooKeeper answers a request over 1 MiB by closing the
// connection, so sizes are checked before sending.
const (
	maxOps   = 1000
	maxBytes = 512 << 10
	// additionBytes is what the two operations of an outbox item take beside its data, at
	// most.
	additionBytes = 512
)

// ErrNotSent says that the write did not reach a server, or was refused for a reason
// that does not concern it. It may be sent again.
var ErrNotSent = errors.New("not sent")

// NeverSent reports whether err is of a write that certainly did not reach a server.
func NeverSent(err error) bool { return errors.Is(err, zk.ErrNoServer) || errors.Is(err, ErrNotSent) }

// Request is one write: operations that are applied together, and events that go into
// the outbox with them.
type Request struct {
	Ops   layout.Ops
	Alone bool // shares its multi with no other request

	additions []Addition  // at most one a shard
	done      chan Result // takes one
}

// Result is the outcome of a request.
type Result struct {
	Zxid    int64 // 0 = not known
	Err     error // nil = written
	Refusal error // the error for the server's refusal
}

// Addition holds the events that a write adds to a shard of the outbox.
type Addition struct {
	Shard  int
	Bucket int64
	items  []eventstore.Item
	parts  [][]byte // the items encoded, as codec.MarshalOutbox returns them
}

// Item returns a copy of all events of the addition, as one item.
func (a Addition) Item() eventstore.Item {
	all := eventstore.Item{Events: make([]domain.Recorded, 0, len(a.items)), JSON: make([][]byte, 0, len(a.items))}
	for _, it := range a.items {
		all.Events, all.JSON = append(all.Events, it.Events...), append(all.JSON, it.JSON...)
	}
	return all
}

// AddEvents adds events for a shard of the outbox, with their data as JSON unless that is
// nil. They are copied: the caller changes its own once they are written.
func (r *Request) AddEvents(shard int, events []domain.Recorded, json [][]byte) (err error) {
	if len(events) == 0 {
		return nil
	}
	events = slices.Clone(events)
	if json == nil {
		if json, err = codec.SanitiseAll(events); err != nil {
			return err
		}
	}
	part, err := codec.MarshalSanitised(events, json)
	r.additions = merge(r.additions, Addition{Shard: shard, items: []eventstore.Item{{Events: events, JSON: json}}, parts: [][]byte{part}})
	return err
}

// merge adds an addition to that of its shard. It changes neither of its slices.
func merge(additions []Addition, a Addition) []Addition {
	i := slices.IndexFunc(additions, func(o Addition) bool { return o.Shard == a.Shard })
	if i < 0 {
		a.items, a.parts = slices.Clip(a.items), slices.Clip(a.parts)
		return append(additions, a)
	}
	additions[i].items = append(additions[i].items, a.items...)
	additions[i].parts = append(additions[i].parts, a.parts...)
	return additions
}

// size returns how many operations and bytes a request takes, at most.
func size(ops layout.Ops, additions []Addition) (n, bytes int) {
	for _, op := range ops {
		bytes += op.Size()
	}
	for _, a := range additions {
		bytes += additionBytes
		for _, part := range a.parts {
			bytes += len(part)
		}
	}
	return len(ops) + 2*len(additions), bytes
}

// Size returns how many operations and bytes the request takes, and whether that fits
// one write.
func (r *Request) Size() (n, bytes int, fits bool) {
	n, bytes = size(r.Ops, r.additions)
	return n, bytes, n <= maxOps && bytes <= maxBytes
}

// HalfFull reports whether the request should be sent before it grows.
func (r *Request) HalfFull() bool {
	n, bytes, _ := r.Size()
	return n > maxOps/2 || bytes > maxBytes/2
}

// Outbox takes the additions of writes.
type Outbox interface {
	// Bucket returns the bucket of a shard that takes additions, as last known, and its
	// path.
	Bucket(shard int) (int64, string)
	// Refresh finds out which buckets take additions.
	Refresh(ctx context.Context) error
	// Written is called after an addition was written.
	Written(a Addition, path string, zxid int64)
}

// Direct sends each request as a multi of its own.
type Direct struct {
	Conn   *Conn
	Outbox Outbox
	pending
}

// Send brings a request to the server and returns its result. When ctx ends before
// that, the outcome is unknown, and open until Flush returns.
func (d *Direct) Send(ctx context.Context, r *Request) Result {
	done := make(chan Result, 1)
	d.begin(r)
	go d.write(r.Ops, r.additions, func(res Result, op int) {
		res.Refusal = r.Ops.Refusal(op)
		d.end(r)
		done <- res
	})
	select {
	case res := <-done:
		return res
	case <-ctx.Done():
		return Result{Err: ctx.Err()}
	}
}

// write sends operations and outbox additions as one multi, and sends it again if a
// bucket was closed. It calls reply with the result and the index of the operation that
// the server refused, -1 = not known; then it calls Written for the additions.
func (d *Direct) write(ops layout.Ops, additions []Addition, reply func(Result, int)) {
	for {
		added := make(layout.Ops, 0, 2*len(additions))
		for i := range additions {
			a := &additions[i]
			var dir string
			a.Bucket, dir = d.Outbox.Bucket(a.Shard)
			added = append(added, layout.Op{Kind: layout.Check, Path: dir, Version: 0},
				layout.Op{Kind: layout.CreateSequential, Path: dir + "/e-", Data: codec.JoinOutbox(a.parts)})
		}
		answers, err := d.Conn.multi("zklive/deliver/multi", ops, added)
		refused := -1
		if Answered(err) {
			refused = slices.IndexFunc(answers, func(a zk.MultiResponse) bool { return a.Error != nil && Answered(a.Error) })
		}
		switch {
		case err == nil:
			zxid := zxidOf(answers)
			reply(Result{Zxid: zxid}, -1)
			for i, a := range additions {
				d.Outbox.Written(a, answers[len(ops)+2*i+1].String, zxid)
			}
		case refused < len(ops):
			reply(Result{Err: err}, refused)
		case d.Outbox.Refresh(d.Conn.ctx) == nil: // the bucket was closed
			continue
		default:
			reply(Result{Err: ErrNotSent}, -1)
		}
		return
	}
}

// zxidOf returns the transaction of a multi, 0 if no answer holds it.
func zxidOf(answers []zk.MultiResponse) (zxid int64) {
	for _, a := range answers {
		if a.Stat != nil {
			zxid = a.Stat.Mzxid
		}
	}
	return zxid
}
