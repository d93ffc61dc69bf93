package recovery

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// entries finds the nodes of the compute queue. The statuses are listed first: a node that is
// seen later and has none was not made with it meanwhile.
func (v *surveyor) entries(ctx context.Context) error {
	add := func(name, node string) bool {
		id, err := compute.ParseID("eid" + name)
		if err == nil {
			v.out.ComputeNodes[id] = append(v.out.ComputeNodes[id], node)
		}
		return err == nil
	}
	err := v.each(ctx, v.root.Name(v.root.Entries()), func(name, _ string) bool {
		id, err := compute.ParseID("eid" + name)
		if err == nil {
			v.out.Compute = append(v.out.Compute, id)
		}
		return err == nil
	})
	for _, s := range []entry.State{entry.Pending, entry.Staging, entry.Successful, entry.Failed} {
		if err == nil {
			err = v.each(ctx, v.root.Name(v.root.EntryDir(s)), func(name, node string) bool {
				n, err := entry.ParseName(name)
				return err == nil && add(layout.EntrySequence(compute.NewID(n.Sequence)), node)
			})
		}
	}
	if err == nil {
		err = v.each(ctx, v.root.Name(v.root.EntryClaims()), add)
	}
	if err == nil {
		err = v.each(ctx, v.root.Name(v.root.EntryCommands()), func(name, _ string) bool { return layout.IsEntryCommand(name) })
	}
	if err == nil {
		err = v.entryKeys(ctx)
	}
	return err
}

// entryKeys finds which entries the keys name.
func (v *surveyor) entryKeys(ctx context.Context) error {
	var keys []string
	err := v.each(ctx, v.root.Name(v.root.EntryKeys()), func(name, node string) bool {
		is := len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
		if is {
			keys = append(keys, node)
		}
		return is
	})
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(surveyParallel)
	for _, node := range keys {
		g.Go(func() error {
			n, err := v.conn.Get(gctx, v.root.At(node))
			if errors.Is(err, zk.ErrNoNode) {
				return nil
			}
			id, bad := compute.ParseID("eid" + string(n.Data))
			if bad != nil {
				id = ""
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			v.out.ComputeNodes[id] = append(v.out.ComputeNodes[id], node)
			return err
		})
	}
	return errors.Join(err, g.Wait())
}

// InspectEntry implements eventstore.EntryInspector. A key that leads to another entry belongs
// to that one, unless it is the key of this one.
func (x *Inspector) InspectEntry(ctx context.Context, known compute.Entry, also ...string) (eventstore.Observed, error) {
	status, claims, keys := x.root.EntryStatus(known.ID), x.root.Name(x.root.EntryClaims())+"/", x.root.Name(x.root.EntryKeys())+"/"
	return x.readStable(ctx, known.ID.Aggregate(), func(ctx context.Context, in *inspection) error {
		if err := in.readNodes(ctx, []string{x.root.Name(status)}); err != nil {
			return err
		}
		own := x.root.Expected(x.root.EntryNodes(known))
		var now layout.EntryStatus
		if in.decode(status, &now) {
			if e, err := now.Entry(); err == nil && e.ID == known.ID {
				in.observed.Version = now.Version
				maps.Copy(own, x.root.Expected(x.root.EntryNodes(e)))
			}
		}
		nodes := slices.Collect(maps.Keys(own))
		for _, node := range also {
			if _, is := own[node]; !is && !strings.HasPrefix(node, claims) {
				nodes = append(nodes, node)
			}
		}
		if err := in.readNodes(ctx, nodes); err != nil {
			return err
		}
		maps.DeleteFunc(in.observed.Nodes, func(node, data string) bool {
			_, is := own[node]
			return !is && strings.HasPrefix(node, keys) && strings.Count(node, "/") == 3 && data != layout.EntrySequence(known.ID)
		})
		return in.readLock(ctx, x.root.Lock(known.ID.Aggregate()))
	}, status)
}

// ExpectedEntry implements eventstore.EntryInspector.
func (x *Inspector) ExpectedEntry(e compute.Entry, o eventstore.Observed) eventstore.Nodes {
	e = x.passed(e, o)
	nodes := x.root.Expected(x.root.EntryNodes(e))
	queued := x.root.Name(x.root.EntryName(e))
	computes := layout.Encode(layout.EntryNodeOf(e, entry.Running))
	if e.Owned() && bytes.Equal([]byte(o.Nodes[queued]), computes) {
		nodes[queued] = string(computes)
	}
	return nodes
}

// passed returns an entry that was passed over as often as it was observed.
func (x *Inspector) passed(e compute.Entry, o eventstore.Observed) compute.Entry {
	var now layout.EntryStatus
	if json.Unmarshal([]byte(o.Nodes[x.root.Name(x.root.EntryStatus(e.ID))]), &now) == nil && now.Passed > 0 {
		e.Passed = now.Passed
	}
	return e
}

// RepairEntry implements eventstore.EntryInspector. If an answer was lost the next try finds
// whether it was written.
func (x *Inspector) RepairEntry(ctx context.Context, want compute.Entry, observed eventstore.Observed) error {
	c := eventstore.Change{Entry: &eventstore.Transition[compute.Entry]{To: x.passed(want, observed)}, Observed: &observed, Token: observed.Token}
	c.Require.Unlocked = observed.Lock == nil
	_, err := x.conn.Multi(ctx, "zklive/repair/entry", x.root.Changes([]eventstore.Change{c}, layout.Inputs{}))
	if err == nil {
		return nil
	}
	if session.Answered(err) {
		also := slices.Collect(maps.Keys(observed.Nodes))
		if now, ierr := x.InspectEntry(ctx, want, also...); ierr == nil && now.Lock == nil && maps.Equal(now.Nodes, x.ExpectedEntry(want, now)) {
			return nil
		}
		err = eventstore.ErrConflict
	}
	return &eventstore.Error{Op: "repair", Aggregate: want.ID.Aggregate(), Err: err}
}
