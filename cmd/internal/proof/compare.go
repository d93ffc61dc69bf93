package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Live is what Compare reads of the present.
type Live interface {
	eventstore.Live
	Overview(ctx context.Context) (eventstore.Overview, error)
}

// Compare names all differences, sorted; none means that the three agree. The
// error is one of reading.
func Compare(ctx context.Context, live Live, log eventstore.Log, db projections.DB) ([]Difference, error) {
	f, found, err := fold(ctx, log)
	if err != nil {
		return found, err
	}
	c := &comparer{ctx: ctx, folded: f, live: live, db: db, found: found}
	for _, step := range []func() error{c.batchesEverywhere, c.jobsEverywhere, c.settingsEverywhere, c.filesInTables, c.liveExtra, c.queues, c.tables} {
		if err := step(); err != nil {
			return c.found, err
		}
	}
	slices.SortFunc(c.found, func(a, b Difference) int { return cmp.Compare(a.String(), b.String()) })
	return c.found, nil
}

type comparer struct {
	*folded
	ctx   context.Context //nolint:containedctx // lives as long as one Compare
	live  Live
	db    projections.DB
	found []Difference
}

func (c *comparer) differ(what, where, want, got string) {
	c.found = append(c.found, Difference{What: what, Where: where, Want: want, Got: got})
}

// same compares one aggregate; err is that of reading it, of which only
// "not found" is a difference.
func (c *comparer) same(a domain.Aggregate, where string, want, got any, err error) error {
	switch {
	case errors.Is(err, eventstore.ErrNotFound), errors.Is(err, projections.ErrNotFound):
		w, err := plain(want)
		c.differ(a.String(), where, w, absent)
		return err
	case err != nil:
		return fmt.Errorf("read %s from %s: %w", a, where, err)
	}
	w, err := plain(want)
	if err != nil {
		return err
	}
	g, err := plain(got)
	if err == nil && w != g {
		w, g = narrow(w, g)
		c.differ(a.String(), where, w, g)
	}
	return err
}

// none expects that an aggregate is not there.
func (c *comparer) none(a domain.Aggregate, where string, err error) error {
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("read %s from %s: %w", a, where, err)
	}
	c.differ(a.String(), where, absent, "it still")
	return nil
}

func (c *comparer) batchesEverywhere() error {
	for _, id := range slices.Sorted(maps.Keys(c.batches)) {
		want := c.batches[id]
		row, err := projections.LoadBatch(c.ctx, c.db, id)
		if err := c.same(id.Aggregate(), "postgres", want, row, err); err != nil {
			return err
		}
		at, err := c.live.Batch(c.ctx, id)
		if c.gone(id) && errors.Is(err, eventstore.ErrNotFound) {
			continue
		}
		at.State.NextRow = 0 // kept in ZooKeeper only
		if err := c.same(id.Aggregate(), "zookeeper", want, at.State, err); err != nil {
			return err
		}
	}
	return nil
}

func (c *comparer) jobsEverywhere() error {
	for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
		want := c.jobs[id]
		row, err := projections.LoadJob(c.ctx, c.db, id)
		if err := c.same(id.Aggregate(), "postgres", want, row, err); err != nil {
			return err
		}
		at, err := c.live.Job(c.ctx, id)
		switch {
		case want.State == domain.JobDeleted:
			err = c.none(id.Aggregate(), "zookeeper", err)
		case c.gone(want.Configuration.BatchID) && errors.Is(err, eventstore.ErrNotFound):
			err = nil
		default:
			err = c.same(id.Aggregate(), "zookeeper", want, at.State, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *comparer) settingsEverywhere() error {
	for a, want := range c.settings {
		at, err := c.live.Setting(c.ctx, want.Kind, want.Name)
		if err := c.same(a, "zookeeper", want, at.State, err); err != nil {
			return err
		}
		row, err := projections.LoadSetting(c.ctx, c.db, want.Kind, want.Name)
		if err := c.same(a, "postgres", want, row, err); err != nil {
			return err
		}
	}
	return nil
}

// liveExtra looks for batches in ZooKeeper of which the log knows nothing, and for
// references that do not follow from the jobs' states.
func (c *comparer) liveExtra() error {
	ids, err := c.live.Batches(c.ctx)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if _, known := c.batches[id]; !known {
			c.differ(id.Aggregate().String(), "zookeeper", absent, "it")
			continue
		}
		if c.gone(id) {
			continue
		}
		for _, sub := range domain.Subs {
			got, err := c.live.BatchJobs(c.ctx, id, sub)
			if err != nil {
				return err
			}
			want := slices.Sorted(maps.Keys(c.jobsOf(id, sub)))
			if !slices.Equal(want, got) {
				c.differ(string(id)+"/"+string(sub), "zookeeper", join(want), join(got))
			}
		}
	}
	return nil
}

func join(ids []domain.JobID) string {
	if len(ids) == 0 {
		return absent
	}
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = string(id)
	}
	return strings.Join(words, " ")
}
