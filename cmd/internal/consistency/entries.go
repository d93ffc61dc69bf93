package consistency

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// Where the nodes of entries are.
const (
	nodesOfEntries = "/compute/entries/"
	nodesOfKeys    = "/compute/keys/"
	nodesOfClaims  = "/compute/claims/"
)

// codesOfEntry returns the codes for a node of an entry.
func codesOfEntry(node string) nodeCodes {
	switch n := strings.Count(node, "/"); {
	case n == 3 && strings.HasPrefix(node, nodesOfEntries):
		return nodeCodes{StatusMissing, NodeUnknown, StatusWrong}
	case n == 3 && strings.HasPrefix(node, nodesOfKeys):
		return nodeCodes{EntryKeyMissing, EntryKeyOrphan, EntryKeyWrong}
	case n == 2:
		return nodeCodes{EntryNameMissing, EntryNameWrong, EntryNameWrong}
	}
	return nodeCodes{NodeMissing, NodeUnknown, NodeWrong}
}

// entries compares the entries of the compute queue of the log with the live state.
func (c *checker) entries(g *group, f *folded) {
	for _, e := range f.entries {
		for node := range c.Live.ExpectedEntry(e, eventstore.Observed{}) {
			if strings.HasPrefix(node, nodesOfKeys) {
				c.keys[node] = e.ID
			}
		}
	}
	for a, e := range f.entries {
		if e.State != entry.Purged || c.unseen[a] || len(c.survey.ComputeNodes[e.ID]) > 0 {
			check(g, func(ctx context.Context) (comparison[compute.Entry], error) { return c.entry(ctx, e) })
		}
		delete(c.unseen, a)
	}
}

// entry compares an entry, and its claim with whether a worker has it.
func (c *checker) entry(ctx context.Context, known compute.Entry) (comparison[compute.Entry], error) {
	a := known.ID.Aggregate()
	also := slices.DeleteFunc(slices.Clone(c.survey.ComputeNodes[known.ID]), func(node string) bool {
		id, is := c.keys[node]
		return is && id != known.ID
	})
	v, err := compareLive(ctx, c, subject[compute.Entry]{entries, a,
		func(ctx context.Context) (eventstore.Observed, error) {
			return c.Live.InspectEntry(ctx, known, also...)
		},
		c.Live.ExpectedEntry,
	}, known)
	l := v.observed.Lock
	if err != nil || l == nil || v.want.Version == 0 {
		return v, err
	}
	v.findings = slices.DeleteFunc(v.findings, func(f Finding) bool { return f.Code == LockStale })
	switch {
	case !v.want.Owned():
		l.Alive = l.Alive && !l.Lease // what a worker without a session has is the lease alone
		v.findings = append(v.findings, finding(EntryClaimOrphan, a.String(), l.Node, absent, "the claim of "+l.Holder))
	case l.Lease && l.Holder != v.want.Worker:
		l.Alive = false
		v.findings = append(v.findings, finding(EntryClaimWrong, a.String(), l.Node, "the claim of "+v.want.Worker, "the lease of "+l.Holder))
	case !l.Alive:
		v.findings = append(v.findings, finding(EntryClaimWrong, a.String(), l.Node, "a lease, or a live worker", "the claim of "+l.Holder))
	}
	return v, nil
}

// entryAgain compares an entry again and repairs it.
func (r repairer) entryAgain(ctx context.Context, id compute.ID) (Outcome, error) {
	out := Outcome{Subject: id.Aggregate().String()}
	known := entries.zero(id.Aggregate())
	if events, err := r.history(ctx, id.Aggregate()); err != nil {
		return out, err
	} else if folded, err := entries.fold(id.Aggregate(), events, 0); err == nil {
		known = folded
	}
	v, err := r.entry(ctx, known)
	if left, err := r.ready(ctx, &out, v.findings, &v.observed, err); left || err != nil {
		return out, err
	}
	return r.rewrite(ctx, v.findings, func(ctx context.Context) error { return r.Live.RepairEntry(ctx, v.want, v.observed) })
}

// orphanEntries reports the nodes of entries that neither the log nor the live state has.
func (c *checker) orphanEntries(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(c.survey.ComputeNodes)) {
		there, err := c.hasEntry(ctx, id)
		if err != nil {
			return err
		}
		for _, node := range c.survey.ComputeNodes[id] {
			if _, compared := c.keys[node]; there || compared {
				continue
			}
			if err := c.below(ctx, orphanOfEntry(node), []string{node}); err != nil {
				return err
			}
		}
	}
	return nil
}

// hasEntry reports whether the live state has an entry, or the log, so that it was compared.
func (c *checker) hasEntry(ctx context.Context, id compute.ID) (bool, error) {
	if id == "" || c.surveyed[id.Aggregate()] {
		return id != "", nil
	}
	last, err := c.Log.Last(ctx, id.Aggregate())
	if err != nil || last.Version > 0 {
		return true, err
	}
	at, err := c.Live.InspectEntry(ctx, compute.Entry{ID: id})
	return len(at.Nodes) > 0, err
}

// orphanOfEntry returns the code for a node of an entry that is not there.
func orphanOfEntry(node string) domain.Code {
	switch {
	case strings.HasPrefix(node, nodesOfKeys):
		return EntryKeyOrphan
	case strings.HasPrefix(node, nodesOfClaims):
		return EntryClaimOrphan
	}
	return EntryNameOrphan
}
