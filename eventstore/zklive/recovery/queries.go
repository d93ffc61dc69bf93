package recovery

import (
	"context"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/session"
)

// ExpectedQuery implements eventstore.QueryInspector.
func (x *Inspector) ExpectedQuery(q lookup.Query) eventstore.Nodes {
	return x.root.Expected(x.root.QueryNodes(q))
}

// InspectQuery implements eventstore.QueryInspector.
func (x *Inspector) InspectQuery(ctx context.Context, id domain.QueryID, also ...string) (eventstore.Observed, error) {
	return x.readStable(ctx, id.Aggregate(), func(ctx context.Context, in *inspection) error {
		if err := in.readDirectory(ctx, x.root.Query(id)); err != nil {
			return err
		}
		if dir := x.root.Name(x.root.Query(id)); in.observed.Nodes[dir] != "" {
			in.observed.Nodes[dir] = "" // how often it was claimed
		}
		nodes := slices.Clone(also)
		var status layout.QueryStatus
		if in.decode(x.root.QueryStatus(id), &status) {
			in.observed.Version = status.Version
			q := lookup.Query{ID: id}
			status.Apply(&q)
			in.decode(x.root.QueryRequest(id), &q.Request)
			if ticket := x.root.TicketNode(eventstore.DepositOfQuery(q)); ticket != "" && !slices.Contains(nodes, x.root.Name(ticket)) {
				nodes = append(nodes, x.root.Name(ticket))
			}
		}
		return in.readNodes(ctx, nodes)
	}, x.root.QueryStatus(id))
}

// RepairQuery implements eventstore.QueryInspector. If an answer was lost the next try finds
// whether it was written.
func (x *Inspector) RepairQuery(ctx context.Context, want lookup.Query, observed eventstore.Observed) error {
	c := eventstore.Change{Query: &eventstore.Transition[lookup.Query]{To: want}, Observed: &observed, Token: observed.Token}
	c.Require.Unlocked = observed.Unlocked()
	_, err := x.conn.Multi(ctx, "zklive/repair/query", x.root.Changes([]eventstore.Change{c}, layout.Inputs{}))
	if err == nil {
		return nil
	}
	if session.Answered(err) {
		also := slices.Collect(maps.Keys(observed.Nodes))
		if now, ierr := x.InspectQuery(ctx, want.ID, also...); ierr == nil && now.Lock == nil && maps.Equal(now.Nodes, x.ExpectedQuery(want)) {
			return nil
		}
		err = eventstore.ErrConflict
	}
	return &eventstore.Error{Op: "repair", Aggregate: want.ID.Aggregate(), Err: err}
}
