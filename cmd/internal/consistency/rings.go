package consistency

import (
	"context"
	"errors"
	"fmt"
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
		events := c.ringEvents(queue)
		faults, err := c.Live.InspectRing(ctx, queue, events)
		if errors.Is(err, eventstore.ErrRingInUse) {
			c.result.BusyQueues = append(c.result.BusyQueues, queue)
			continue
		}
		if err != nil {
			return all, err
		}
		for _, f := range faults {
			want, got := narrow(f.Expected, f.Observed)
			found := finding(RingWrong, "", f.Node, want, got)
			found.repair = func(ctx context.Context) error { return c.Live.RepairRing(ctx, queue, events) }
			all = append(all, found)
		}
	}
	return all, nil
}

// ringEvents returns what the events say of a deposit queue. A checker that has not read the
// log knows nothing of it.
func (c *checker) ringEvents(queue string) eventstore.RingEvents {
	return func(ctx context.Context) (at eventstore.RingState, complete bool, err error) {
		if c.atRings == nil {
			return at, false, nil
		}
		err = c.meetNew(ctx)
		complete = err == nil && !c.missing()
		if errors.Is(err, eventstore.ErrBroken) {
			err = nil
		}
		return c.atRings[queue], complete, err
	}
}

// meetNew meets what was written since the log was read. The outbox is read before the log,
// because events only move from the one to the other.
func (c *checker) meetNew(ctx context.Context) error {
	for e, err := range Unsent(ctx, c.Live) {
		if err != nil {
			return err
		}
		meet(c.atRings, e)
	}
	info, err := c.Log.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if info.Last <= c.met {
		return nil
	}
	for r, err := range c.Log.Read(ctx, eventstore.ReadOptions{From: c.met + 1, To: info.Last}) {
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		meet(c.atRings, r)
	}
	c.met = info.Last
	return nil
}

// missing reports whether the check has found that the log lacks events.
func (c *checker) missing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.result.Findings, func(f Finding) bool {
		return f.Code == NotInLog || f.Code == UnknownThere || f.Code == LogOlder
	})
}

// meet takes what an event says of the deposit queues.
func meet(rings map[string]eventstore.RingState, r domain.Recorded) {
	take := func(queue string, t *domain.Ticket, position *domain.RingPosition) {
		at := rings[queue]
		at.ApplyOf(r.Aggregate.ID, t, position)
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
