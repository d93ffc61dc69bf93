package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

const (
	// releaseParallel is how many batches and jobs are released at once.
	releaseParallel = 16
	// releaseWait is how long the tables may take to show that a hold was released.
	releaseWait = 30 * time.Second
)

// ReleaseHeld releases the hold on a collection, unless it was released before, and releases
// the batches and jobs that wait because of it (B4, J3). What an operator has held stays.
// After an interruption another call releases the rest.
func (a *App) ReleaseHeld(ctx context.Context, name, why string) (c Changed, err error) {
	defer Explained(&err, "release collection "+name)
	held, err := a.heldBy(ctx, name) // before anything is changed: the tables must answer
	if err != nil {
		return c, err
	}
	c, err = a.changeHold(ctx, holdChange{"release", domain.HoldCollection, name, nil, why})
	var refused *domain.Refused
	if errors.As(err, &refused) && len(held) > 0 {
		c = Changed{Target: target.Of(domain.SettingAggregate(domain.HoldCollection, name)), From: "open", State: "open", DryRun: a.DryRun}
	} else if err != nil {
		return c, err
	}
	if a.DryRun {
		c.Also = wouldRelease(held)
		return c, nil
	}
	if c.From != c.State { // what was held a moment ago
		if held, err = a.heldBefore(ctx, &c, held, name); err != nil {
			return c, err
		}
	}
	err = a.releaseAll(ctx, &c, held, why)
	return c, err
}

// heldBy lists what waits because of the hold on a collection, by the tables.
func (a *App) heldBy(ctx context.Context, name string) ([]domain.Aggregate, error) {
	profiles, err := a.Profiles(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, p := range profiles {
		if p.Collection == name {
			names = append(names, p.Name)
		}
	}
	t := a.read(ctx)
	held := ask(ctx, t, query.HeldByCollection, names)
	return held, t.err
}

// heldBefore lists what is held once the tables show that the hold was released: nothing is
// held because of it after that. If they do not show it in time, what is known is returned.
func (a *App) heldBefore(ctx context.Context, c *Changed, known []domain.Aggregate, name string) ([]domain.Aggregate, error) {
	of, err := domain.ParseAggregate(c.Subject)
	if err != nil {
		return known, err
	}
	waiting, cancel := context.WithTimeout(ctx, releaseWait)
	defer cancel()
	if err := a.Open.Projected(waiting, of, c.Version); err != nil {
		c.add("the tables are behind: what was held in the last moments is not released yet; run the command again")
		return known, ctx.Err()
	}
	return a.heldBy(ctx, name)
}

// releaseOf returns the change of a held aggregate that is released.
func releaseOf(of domain.Aggregate) Changed {
	if of.Kind == domain.KindBatch {
		return Changed{Target: target.Of(of), From: string(domain.BatchHeld), State: string(domain.BatchPending), Row: "B4"}
	}
	return Changed{Target: target.Of(of), From: string(domain.JobHeld), State: string(domain.JobPending), Row: "J3"}
}

// wouldRelease returns what a release would change. It cannot be decided before the hold
// is released.
func wouldRelease(held []domain.Aggregate) []Changed {
	also := make([]Changed, len(held))
	for i, of := range held {
		also[i] = releaseOf(of)
		also[i].DryRun = true
	}
	return also
}

// releaseAll releases batches and jobs, several at once. One that is refused, because
// it has changed meanwhile, does not stop the others.
func (a *App) releaseAll(ctx context.Context, c *Changed, held []domain.Aggregate, why string) error {
	changes, errs := make([]Changed, len(held)), make([]error, len(held))
	var g errgroup.Group
	g.SetLimit(releaseParallel)
	for i, of := range held {
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				changes[i], errs[i] = a.part(of.ID).releaseOne(ctx, of, why)
			}
			return nil
		})
	}
	_ = g.Wait() // each has its own error
	var failed error
	for i, of := range held {
		var known *domain.Refused
		switch {
		case errs[i] == nil:
			c.Also = append(c.Also, changes[i])
		case errors.As(errs[i], &known):
			c.add("%s is not released: %v", of.ID, errs[i])
		case failed == nil:
			failed = errs[i]
		}
	}
	if failed != nil {
		return fmt.Errorf("%d of %d held batches and jobs are released; run the command again for the others: %w", len(c.Also), len(held), failed)
	}
	return nil
}

func (a *App) releaseOne(ctx context.Context, of domain.Aggregate, why string) (c Changed, err error) {
	release := func() (Changed, error) { return a.ReleaseJob(ctx, domain.JobID(of.ID), why) }
	if of.Kind == domain.KindBatch {
		release = func() (Changed, error) { return a.ReleaseBatch(ctx, domain.BatchID(of.ID), why) }
	}
	err = crash.Around("app/release/one", func() (err error) { c, err = release(); return err })
	return c, err
}
