package consistency

import (
	"context"
	"path"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// rings compares the nodes that the batches of a deposit queue share with the batches and
// the log. The nodes of single batches are compared with these batches.
func (c *checker) rings(ctx context.Context) error {
	found, err := c.ringFindings(ctx)
	c.report(found...)
	return err
}

// ringFindings finds what is wrong. One repair repairs all of it.
func (c *checker) ringFindings(ctx context.Context) (all []Finding, err error) {
	for _, queue := range domain.DepositQueues {
		at := c.atRings[queue]
		faults, err := c.Live.InspectRing(ctx, queue, at)
		if err != nil {
			return all, err
		}
		for _, f := range faults {
			found := finding(RingWrong, "", f.Node, f.Want, f.Got)
			found.repair = func(ctx context.Context) error { return c.Live.RepairRing(ctx, queue, at) }
			all = append(all, found)
		}
	}
	return all, nil
}

// meet takes what an event says of the deposit queues.
func meet(rings map[string]eventstore.RingState, r domain.Recorded) {
	take := func(queue string, t *domain.Ticket, position *domain.RingPosition) {
		at := rings[queue]
		at.Meet(t, position)
		rings[queue] = at
	}
	if m, ok := domain.MoveOfBatch(r.Data); ok {
		take(fair.QueueMetadata, m.Ticket, m.Ring)
	}
	if m, ok := domain.MoveOfQuery(r.Data); ok {
		take(fair.QueueQuery, m.Ticket, m.Ring)
	}
}

// ringsAgain repairs what is wrong now that the batches are repaired.
func (r repairer) ringsAgain(ctx context.Context) (Outcome, error) {
	if r.o.DryRun {
		return Outcome{}, nil
	}
	found, err := r.ringFindings(ctx)
	if err != nil || len(found) == 0 {
		return Outcome{}, err
	}
	return r.strays(ctx, slices.CompactFunc(found, func(a, b Finding) bool { return path.Dir(path.Dir(a.Where)) == path.Dir(path.Dir(b.Where)) }))
}
