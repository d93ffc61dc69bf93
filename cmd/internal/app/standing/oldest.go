package standing

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections/query"
)

// FirstOfState is how many of the batches or jobs in a state are looked at: those of which
// the tables say that they have waited longest.
const FirstOfState = 16

// Candidates are batches and jobs that may have waited longest. The tables name them with
// one look into an index a state, however many wait or have ended.
type Candidates struct {
	batches []query.Standing[domain.BatchID, domain.BatchState]
	jobs    []query.Standing[domain.JobID, domain.JobState]
}

// Find reads the candidates from the tables.
func Find(ctx context.Context, db query.Reader) (c Candidates, err error) {
	batches := slices.DeleteFunc(slices.Clone(domain.BatchStates), func(s domain.BatchState) bool { return s.Daemon() == "" })
	jobs := slices.DeleteFunc(slices.Clone(domain.JobStates), func(s domain.JobState) bool { return s.Daemon() == "" && s != domain.JobHeld })
	if c.batches, err = query.OldestBatches(ctx, db, batches, FirstOfState); err == nil {
		c.jobs, err = query.OldestJobs(ctx, db, jobs, FirstOfState)
	}
	return c, err
}

// Live is the live state as far as it is read here.
type Live interface {
	Batch(ctx context.Context, id domain.BatchID) (eventstore.Loaded[domain.Batch], error)
	Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	// Locked returns those of some batches and jobs that a worker holds.
	Locked(ctx context.Context, of ...domain.Aggregate) ([]domain.Aggregate, error)
}

// Look reads the candidates in the live state, which is ahead of the tables: it returns
// those that cannot be read and, of each state, the one that waits longest. One that has
// moved on, or that a worker holds, does not wait.
func (c Candidates) Look(ctx context.Context, live Live, now time.Time) ([]Oldest, []Unreadable, error) {
	seen := make([]candidate, len(c.batches)+len(c.jobs))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, b := range c.batches {
		g.Go(func() error {
			at, err := live.Batch(gctx, b.ID)
			seen[i] = candidate{of: b.ID.Aggregate(), state: string(b.State), since: b.Since, waits: at.State.State == b.State, why: at.State.Reason, err: err}
			return unknown(err)
		})
	}
	for i, j := range c.jobs {
		g.Go(func() error {
			at, err := live.Job(gctx, j.ID)
			seen[len(c.batches)+i] = candidate{of: j.ID.Aggregate(), state: string(j.State), since: j.Since, waits: at.State.State == j.State, why: at.State.Reason, err: err}
			return unknown(err)
		})
	}
	if err := g.Wait(); err != nil {
		return nil, nil, err
	}
	unreadable := []Unreadable{}
	var waiting []candidate
	var all []domain.Aggregate
	for _, s := range seen {
		switch {
		case errors.Is(s.err, eventstore.ErrBroken):
			unreadable = append(unreadable, Unreadable{s.of.Kind, s.of.ID, s.err.Error()})
		case s.err == nil && s.waits:
			waiting, all = append(waiting, s), append(all, s.of)
		}
	}
	locked, err := live.Locked(ctx, all...)
	if err != nil {
		return nil, nil, err
	}
	waiting = slices.DeleteFunc(waiting, func(s candidate) bool { return slices.Contains(locked, s.of) })
	return longest(waiting, now), unreadable, nil
}

// parallel is how many candidates are read at once.
const parallel = 32

// candidate is one, as the live state has it.
type candidate struct {
	of    domain.Aggregate
	state string
	since time.Time
	waits bool // it is still in the state
	why   *domain.Reason
	err   error
}

// unknown returns the errors that say nothing of the batch or job itself.
func unknown(err error) error {
	if errors.Is(err, eventstore.ErrBroken) || errors.Is(err, eventstore.ErrNotFound) {
		return nil
	}
	return err
}

// longest returns of each state the candidate that has waited longest.
func longest(waiting []candidate, now time.Time) []Oldest {
	first := map[string]Oldest{}
	for _, s := range waiting {
		key := string(s.of.Kind) + "/" + s.state
		if o, some := first[key]; some && !s.since.Before(o.Since.Time) {
			continue
		}
		o := Oldest{Kind: s.of.Kind, Status: s.state, State: s.state, ID: s.of.ID, Since: domain.At(s.since), Seconds: max(now.Sub(s.since).Seconds(), 0)}
		if s.why != nil {
			o.Why = s.why.Message
		}
		first[key] = o
	}
	list := make([]Oldest, 0, len(first))
	for _, o := range first {
		list = append(list, o)
	}
	sortOldest(list)
	return list
}
