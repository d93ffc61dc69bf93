package consistency

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// queries compares the queries of the log with the live state. One that has ended leaves it
// without an event.
func (c *checker) queries(g *group, f *folded) {
	for a, q := range f.queries {
		if !q.State.Ended() || c.unseen[a] || len(c.survey.QueryTickets[q.ID]) > 0 {
			check(g, func(ctx context.Context) (comparison[lookup.Query], error) { return c.query(ctx, q) })
		}
		delete(c.unseen, a)
	}
}

// query compares a query.
func (c *checker) query(ctx context.Context, known lookup.Query) (comparison[lookup.Query], error) {
	return compareLive(ctx, c, subject[lookup.Query]{queries, known.ID.Aggregate(),
		func(ctx context.Context) (eventstore.Observed, error) {
			return c.Live.InspectQuery(ctx, known.ID, c.survey.QueryTickets[known.ID]...)
		},
		func(q lookup.Query, o eventstore.Observed) eventstore.Nodes {
			if q.State == asked.None || q.State.Ended() && !o.Dir {
				return nil
			}
			return c.Live.ExpectedQuery(q)
		},
	}, known)
}

// queryAgain compares a query again and repairs it.
func (r repairer) queryAgain(ctx context.Context, id domain.QueryID) (Outcome, error) {
	out := Outcome{Subject: id.Aggregate().String()}
	v, err := r.query(ctx, lookup.Query{ID: id})
	if left, err := r.ready(ctx, &out, v.findings, &v.observed, err); left || err != nil {
		return out, err
	}
	want := v.want
	return r.rewrite(ctx, v.findings, func(ctx context.Context) error {
		if want.State.Ended() && !v.observed.Dir {
			want = lookup.Query{ID: id}
		}
		return r.Live.RepairQuery(ctx, want, v.observed)
	})
}

// orphanQueryTickets is orphanTickets for queries.
func (c *checker) orphanQueryTickets(ctx context.Context, id domain.QueryID, nodes []string) error {
	if c.surveyed[id.Aggregate()] {
		return nil
	}
	last, err := c.Log.Last(ctx, id.Aggregate())
	if err != nil || last.Version > 0 {
		return err
	}
	observed, err := c.Live.InspectQuery(ctx, id)
	if err != nil || observed.Version > 0 || observed.Dir {
		return err
	}
	return c.below(ctx, TicketOrphan, nodes)
}

// shortReason returns the parts of a reason that the row of a query or slot has.
func shortReason(why *domain.Reason) *domain.Reason {
	if why == nil {
		return nil
	}
	return &domain.Reason{Class: why.Class, Code: why.Code, Message: why.Message}
}
