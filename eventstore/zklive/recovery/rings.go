package recovery

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// ringTries is how often a deposit queue is looked at that changes meanwhile.
const ringTries = 20

// ringObserved is what a deposit queue has, at one moment if it is stable: then the ring was
// not written while it was read.
type ringObserved struct {
	state    eventstore.RingState
	readable bool
	stable   bool
	version  int32
	want     []layout.Node
	got      map[string]ringNode // shared nodes, by path
}

// ringNode is a shared node as it was read.
type ringNode struct {
	layout.Node
	created  int64 // in which commit
	version  int32
	children int
}

// InspectRing implements eventstore.RingInspector.
func (x *Inspector) InspectRing(ctx context.Context, queue string, events eventstore.RingEvents) (faults []eventstore.RingFault, err error) {
	var before ringObserved
	for range ringTries {
		o, err := x.observeRing(ctx, queue, events)
		if err != nil {
			return nil, &eventstore.Error{Op: "inspect the deposit queue " + queue, Err: err}
		}
		faults = x.faults(o)
		if o.stable && len(faults) == 0 {
			return nil, nil
		}
		// Batches end without a write to the ring: only what stays is a fault.
		if o.stable && before.stable && o.version == before.version && slices.Equal(x.faults(before), faults) {
			return faults, nil
		}
		if counts := x.wrongCounts(before, o); !o.stable && len(counts) > 0 {
			return counts, nil
		}
		before = o
	}
	return nil, eventstore.ErrRingInUse
}

// wrongCounts returns which users' running deposits are counted wrongly, also while the ring
// is written: each deposit that begins or ends to run writes its user's number, so that a
// number which was read twice was right for what was read in between.
func (x *Inspector) wrongCounts(before, now ringObserved) (faults []eventstore.RingFault) {
	for _, n := range now.want {
		was, is := before.got[n.Path], now.got[n.Path]
		_, counts := n.Value.(layout.RunningCount)
		if counts && was.created == is.created && was.version == is.version && is.created != 0 && !bytes.Equal(is.Data(), n.Data()) {
			faults = append(faults, x.fault(n, is))
		}
	}
	return faults
}

// observeRing reads the shared nodes of a deposit queue, and what they should be by the
// statuses of the batches and the events. If it is stable these are the events that the
// ring has, because they were read after it.
func (x *Inspector) observeRing(ctx context.Context, queue string, events eventstore.RingEvents) (o ringObserved, err error) {
	o.got = map[string]ringNode{}
	ring, err := x.conn.Find(ctx, x.root.Ring(queue))
	if err != nil {
		return o, err
	}
	if ring != nil {
		o.version = ring.Stat.Version
		o.readable = json.Unmarshal(ring.Data, &o.state) == nil
	}
	deposits, err := x.tickets(ctx, queue)
	if err != nil {
		return o, err
	}
	at, complete, err := events(ctx)
	if err == nil { // another server may be further
		err = x.conn.Sync(ctx)
	}
	if err != nil {
		return o, err
	}
	if o.readable {
		if !complete && o.state.Turn >= at.Turn {
			at.RingPosition = o.state.RingPosition
		}
		if !complete {
			at.NextSlot = max(at.NextSlot, o.state.NextSlot)
		}
		at.Writes = max(o.state.Writes, 0)
	}
	// What the ring remembers and may not have been is expected not to be there.
	if met := at.Recent; o.readable && o.state.RecentSound(met, complete) {
		at.Recent = o.state.Recent
	} else {
		at.Recent = nil
	}
	o.want = x.root.RingNodes(queue, deposits, at)
	if complete { // a status may be wrong
		at.NextSlot = max(at.NextSlot, 1)
		o.want[0].Value = at
	}
	for _, dir := range append(x.root.RunningDirs(queue), x.root.RingUsers(queue), x.root.RingNames(queue)) {
		names, err := x.conn.List(ctx, dir)
		if err != nil {
			return o, err
		}
		for _, name := range names {
			n, err := x.conn.Get(ctx, dir+"/"+name)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil {
				return o, err
			}
			p := dir + "/" + name
			o.got[p] = ringNode{layout.Node{Path: p, Value: n.Data}, n.Stat.Czxid, n.Stat.Version, int(n.Stat.NumChildren)}
		}
	}
	if ring != nil {
		p := x.root.Ring(queue)
		o.got[p] = ringNode{Node: layout.Node{Path: p, Value: ring.Data}}
	}
	now, err := x.conn.Exists(ctx, x.root.Ring(queue))
	o.stable = ring == nil && now == nil || ring != nil && now != nil && now.Version == ring.Stat.Version
	return o, err
}

// tickets reads what waits or runs in a deposit queue.
func (x *Inspector) tickets(ctx context.Context, queue string) ([]eventstore.Deposit, error) {
	dir := x.root.Batches()
	if queue == fair.QueueQuery {
		dir = x.root.Queries()
	}
	ids, err := x.conn.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	all := make([]eventstore.Deposit, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(surveyParallel)
	for i, name := range ids {
		g.Go(func() error {
			var status struct {
				Ticket *domain.Ticket `json:"ticket"`
			}
			_, err := x.conn.GetJSON(gctx, dir+"/"+name+"/status", &status)
			if err == nil {
				all[i].Aggregate.ID, all[i].Ticket = name, status.Ticket
			}
			if session.Answered(err) || errors.Is(err, eventstore.ErrBroken) {
				return nil // gone, or reported as damaged
			}
			return err
		})
	}
	err = g.Wait()
	return slices.DeleteFunc(all, func(b eventstore.Deposit) bool { return b.Ticket == nil || b.Ticket.Queue != queue }), err
}

// faults returns how the shared nodes differ from what they should be, sorted.
func (x *Inspector) faults(o ringObserved) (faults []eventstore.RingFault) {
	there := maps.Clone(o.got)
	for _, n := range o.want {
		got, is := there[n.Path]
		delete(there, n.Path)
		switch {
		case !is:
			faults = append(faults, eventstore.RingFault{Node: x.root.Name(n.Path), Expected: cmp.Or(string(n.Data()), "it"), Observed: "nothing"})
		case !bytes.Equal(got.Data(), n.Data()):
			faults = append(faults, x.fault(n, got))
		}
	}
	for p := range there {
		faults = append(faults, eventstore.RingFault{Node: x.root.Name(p), Expected: "nothing", Observed: "it"})
	}
	slices.SortFunc(faults, func(a, b eventstore.RingFault) int { return cmp.Compare(a.Node, b.Node) })
	return faults
}

// fault returns that a node has other data.
func (x *Inspector) fault(want layout.Node, got ringNode) eventstore.RingFault {
	return eventstore.RingFault{Node: x.root.Name(want.Path), Expected: cmp.Or(string(want.Data()), "no data"), Observed: cmp.Or(string(got.Data()), "no data")}
}

// RepairRing implements eventstore.RingInspector. What is written was proven not to have
// changed since it was read; a user's directory that still has entries stays until these
// are removed.
func (x *Inspector) RepairRing(ctx context.Context, queue string, events eventstore.RingEvents) (err error) {
	var before ringObserved
	for range ringTries {
		var o ringObserved
		if o, err = x.observeRing(ctx, queue, events); err == nil {
			err = x.repairRing(ctx, queue, before, o)
		}
		if err == nil || ctx.Err() != nil {
			break
		}
		before = o
	}
	if err != nil {
		err = &eventstore.Error{Op: "repair the deposit queue " + queue, Err: err}
	}
	return err
}

// repairRing repairs it once, or while it is in use all the time how many deposits of its
// users run. An error may be that of a write whose first answer was lost.
func (x *Inspector) repairRing(ctx context.Context, queue string, before, o ringObserved) error {
	if !o.stable {
		counts := x.wrongCounts(before, o)
		for _, f := range counts {
			p := x.root.At(f.Node)
			if err := x.repairRingNode(ctx, layout.Node{Path: p, Value: []byte(f.Expected)}, true, o.got[p].version); err != nil {
				return err
			}
		}
		if len(counts) == 0 {
			return layout.ErrRing
		}
		return nil
	}
	if len(x.faults(o)) == 0 {
		return nil
	}
	for _, dir := range x.root.RingDirs(queue) {
		if err := x.conn.Ensure(ctx, dir, nil); err != nil {
			return err
		}
	}
	ring, there := x.root.Ring(queue), maps.Clone(o.got)
	for _, n := range o.want {
		got, is := there[n.Path]
		delete(there, n.Path)
		if n.Path == ring {
			continue
		}
		if !is || !bytes.Equal(got.Data(), n.Data()) {
			if err := x.repairRingNode(ctx, n, is, got.version); err != nil {
				return err
			}
		}
	}
	for p, n := range there {
		if n.children > 0 {
			continue
		}
		if err := x.conn.Remove(ctx, "zklive/repair/ring-extra", p); err != nil && !session.Answered(err) {
			return err
		}
	}
	state := o.want[0].Value.(eventstore.RingState)                       //nolint:forcetypeassert // the ring comes first
	state.Writes, state.Recent = max(state.Writes, o.state.Writes)+1, nil // other processes read it anew
	if _, is := o.got[ring]; !is {
		return x.conn.Ensure(ctx, ring, layout.Encode(state))
	}
	_, err := x.conn.Set(ctx, "zklive/repair/ring", ring, layout.Encode(state), o.version)
	return err
}

func (x *Inspector) repairRingNode(ctx context.Context, n layout.Node, exists bool, version int32) (err error) {
	if exists {
		_, err = x.conn.Set(ctx, "zklive/repair/ring-node", n.Path, n.Data(), version)
	} else {
		err = x.conn.Ensure(ctx, n.Path, n.Data())
	}
	if err != nil {
		return &eventstore.Error{Op: "repair " + x.root.Name(n.Path), Err: errors.Join(layout.ErrRing, err)}
	}
	return nil
}

// tickets finds the nodes of batches and queries in deposit queues.
func (v *surveyor) tickets(ctx context.Context) error {
	for _, queue := range layout.RingQueues {
		for _, dir := range append(v.root.RunningDirs(queue), v.root.RingUsers(queue)) {
			users, err := v.conn.List(ctx, dir)
			if err != nil {
				return err
			}
			for _, user := range users {
				err := v.each(ctx, v.root.Name(dir)+"/"+user, func(name, node string) bool {
					id := name
					if d, is := layout.ParseRingEntry(name); is && dir == v.root.RingUsers(queue) {
						id = d.ID
					}
					return v.ticket(queue, id, node)
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// ticket adds a node of a deposit in its queue, and reports whether it may have one there.
func (v *surveyor) ticket(queue, id, node string) bool {
	if queue == fair.QueueQuery {
		q, err := domain.ParseQueryID(id)
		if err == nil {
			v.out.QueryTickets[q] = append(v.out.QueryTickets[q], node)
		}
		return err == nil
	}
	b, err := domain.ParseBatchID(id)
	if err == nil {
		v.out.Tickets[b] = append(v.out.Tickets[b], node)
	}
	return err == nil
}
