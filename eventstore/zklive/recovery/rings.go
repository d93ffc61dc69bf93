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

// ringObserved is what a deposit queue has, at one moment.
type ringObserved struct {
	state    eventstore.RingState
	readable bool
	version  int32
	want     []layout.Node
	got      map[string]layout.Node // shared nodes, by path
	versions map[string]int32
	children map[string]int
}

// InspectRing implements eventstore.RingInspector.
func (x *Inspector) InspectRing(ctx context.Context, queue string, at eventstore.RingState) (faults []eventstore.RingFault, err error) {
	for range ringTries {
		o, stable, err := x.observeRing(ctx, queue, at)
		if err != nil {
			return nil, &eventstore.Error{Op: "inspect the deposit queue " + queue, Err: err}
		}
		if faults = x.faults(o); stable && len(faults) == 0 {
			return nil, nil
		}
		if stable { // batches end without a write to the ring: only what stays is a fault
			again, stable, err := x.observeRing(ctx, queue, at)
			if err != nil {
				return nil, &eventstore.Error{Op: "inspect the deposit queue " + queue, Err: err}
			}
			if stable && again.version == o.version && slices.Equal(x.faults(again), faults) {
				return faults, nil
			}
		}
	}
	return nil, nil // it is in use all the time
}

// observeRing reads the shared nodes of a deposit queue, and what they should be by the
// statuses of the batches. stable reports whether the ring was not written meanwhile.
func (x *Inspector) observeRing(ctx context.Context, queue string, at eventstore.RingState) (o ringObserved, stable bool, err error) {
	o.got, o.versions, o.children = map[string]layout.Node{}, map[string]int32{}, map[string]int{}
	ring, err := x.conn.Find(ctx, x.root.Ring(queue))
	if err != nil {
		return o, false, err
	}
	if ring != nil {
		o.version = ring.Stat.Version
		o.readable = json.Unmarshal(ring.Data, &o.state) == nil
	}
	deposits, err := x.tickets(ctx, queue)
	if err != nil {
		return o, false, err
	}
	if o.readable && o.state.Turn >= at.Turn { // the log may be behind
		at.RingPosition = o.state.RingPosition
	}
	if o.readable {
		at.NextSlot = max(at.NextSlot, o.state.NextSlot)
		at.Writes, at.Recent = o.state.Writes, o.state.Recent
	}
	o.want = x.root.RingNodes(queue, deposits, at)
	for _, dir := range append(x.root.RunningDirs(queue), x.root.RingUsers(queue), x.root.RingNames(queue)) {
		names, err := x.conn.List(ctx, dir)
		if err != nil {
			return o, false, err
		}
		for _, name := range names {
			n, err := x.conn.Get(ctx, dir+"/"+name)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil {
				return o, false, err
			}
			p := dir + "/" + name
			o.got[p], o.versions[p], o.children[p] = layout.Node{Path: p, Value: n.Data}, n.Stat.Version, int(n.Stat.NumChildren)
		}
	}
	if ring != nil {
		o.got[x.root.Ring(queue)] = layout.Node{Path: x.root.Ring(queue), Value: ring.Data}
	}
	now, err := x.conn.Exists(ctx, x.root.Ring(queue))
	return o, ring == nil && now == nil || ring != nil && now != nil && now.Version == ring.Stat.Version, err
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
			faults = append(faults, eventstore.RingFault{Node: x.root.Name(n.Path), Want: cmp.Or(string(n.Data()), "it"), Got: "nothing"})
		case !bytes.Equal(got.Data(), n.Data()):
			faults = append(faults, eventstore.RingFault{Node: x.root.Name(n.Path), Want: cmp.Or(string(n.Data()), "no data"), Got: cmp.Or(string(got.Data()), "no data")})
		}
	}
	for p := range there {
		faults = append(faults, eventstore.RingFault{Node: x.root.Name(p), Want: "nothing", Got: "it"})
	}
	slices.SortFunc(faults, func(a, b eventstore.RingFault) int { return cmp.Compare(a.Node, b.Node) })
	return faults
}

// RepairRing implements eventstore.RingInspector. What is written was proven not to have
// changed since it was read; a user's directory that still has entries stays until these
// are removed.
func (x *Inspector) RepairRing(ctx context.Context, queue string, at eventstore.RingState) (err error) {
	for range ringTries {
		if err = x.repairRing(ctx, queue, at); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		err = &eventstore.Error{Op: "repair the deposit queue " + queue, Err: err}
	}
	return err
}

// repairRing repairs it once. An error may be that of a write whose first answer was lost.
func (x *Inspector) repairRing(ctx context.Context, queue string, at eventstore.RingState) error {
	o, stable, err := x.observeRing(ctx, queue, at)
	if err == nil && !stable {
		err = layout.ErrRing
	}
	if err != nil || len(x.faults(o)) == 0 {
		return err
	}
	ring, there := x.root.Ring(queue), maps.Clone(o.got)
	for _, n := range o.want {
		got, is := there[n.Path]
		delete(there, n.Path)
		if n.Path == ring {
			continue
		}
		if !is || !bytes.Equal(got.Data(), n.Data()) {
			if err := x.repairRingNode(ctx, n, is, o.versions[n.Path]); err != nil {
				return err
			}
		}
	}
	for p := range there {
		if o.children[p] > 0 {
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
	_, err = x.conn.Set(ctx, "zklive/repair/ring", ring, layout.Encode(state), o.version)
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
