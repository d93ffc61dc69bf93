package rings

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/text"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// View implements eventstore.Rings.
func (x *Rings) View(ctx context.Context, name string) (v eventstore.RingView, err error) {
	if x.queues[name] == nil {
		return v, nil
	}
	if _, err = x.session.GetJSON(ctx, x.root.Ring(name), &v.State); err == nil {
		v.Users, err = x.users(ctx, name)
	}
	if err == nil {
		var all []string
		if all, err = x.running(ctx, x.root.Pool(name)); err == nil {
			for _, id := range all {
				v.Synchronous = append(v.Synchronous, domain.BatchID(id))
			}
		}
	}
	if err != nil {
		err = &eventstore.Error{Op: "read the deposit queue " + name, Err: err}
	}
	return v, err
}

// users reads the users of a queue: those with waiting batches by slot, then those of whom
// some only run.
func (x *Rings) users(ctx context.Context, name string) ([]eventstore.RingUser, error) {
	waiting, err := x.session.List(ctx, x.root.RingUsers(name))
	if err != nil {
		return nil, err
	}
	running, err := x.session.List(ctx, x.root.AllRunning(name))
	if err != nil {
		return nil, err
	}
	all := map[string]*eventstore.RingUser{}
	for _, node := range waiting {
		if slot, user, ok := layout.ParseRingUser(node); ok {
			all[user] = &eventstore.RingUser{User: user, Slot: slot}
		}
	}
	for _, node := range running {
		if user, err := text.DecodeUser(node); err == nil && all[user] == nil {
			all[user] = &eventstore.RingUser{User: user}
		}
	}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for _, u := range all {
		g.Go(func() (err error) {
			if u.Slot > 0 {
				if u.Waiting, err = x.waiting(gctx, name, u.User, u.Slot); err != nil {
					return err
				}
			}
			u.Running, err = x.running(gctx, x.root.Running(name, u.User))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	list := make([]eventstore.RingUser, 0, len(all))
	for _, user := range slices.Sorted(maps.Keys(all)) {
		u := all[user]
		if len(u.Waiting) == 0 {
			u.Slot = 0 // the last one has left meanwhile
		}
		if u.Slot > 0 || len(u.Running) > 0 {
			list = append(list, *u)
		}
	}
	slices.SortStableFunc(list, func(a, b eventstore.RingUser) int { return cmp.Compare(uint64(a.Slot-1), uint64(b.Slot-1)) }) // none comes last
	return list, nil
}

// waiting lists the waiting batches of a user in their order.
func (x *Rings) waiting(ctx context.Context, name, user string, slot int64) (all []fair.Deposit, err error) {
	nodes, err := x.session.List(ctx, x.root.RingUser(name, user, slot))
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	for _, node := range nodes {
		if d, ok := layout.ParseRingEntry(node); ok {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b fair.Deposit) int { return cmp.Compare(a.Number, b.Number) })
	return all, err
}

// running lists the batches or queries that run among one number, by its path.
func (x *Rings) running(ctx context.Context, number string) ([]string, error) {
	all, err := x.session.List(ctx, number)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	slices.Sort(all)
	return all, err
}

// Waiting implements eventstore.Rings.
func (x *Rings) Waiting(ctx context.Context, name, user string) (all []string, err error) {
	if x.queues[name] == nil {
		return nil, nil
	}
	var slot int64
	_, err = x.session.GetJSON(ctx, x.root.RingName(name, user), &slot)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	var there []fair.Deposit
	if err == nil {
		there, err = x.waiting(ctx, name, user, slot)
	}
	if err != nil {
		return nil, &eventstore.Error{Op: "list what waits of " + user + " in " + name, Err: err}
	}
	for _, d := range there {
		all = append(all, d.ID)
	}
	return all, nil
}
