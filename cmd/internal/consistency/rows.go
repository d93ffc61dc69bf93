package consistency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// rowsAPage is how many rows are read at once.
const rowsAPage = 1000

// projected waits until the tables have what the log had when the check began, and
// looks which aggregates are held back there.
func (c *checker) projected(ctx context.Context) error {
	if c.DB == nil {
		return nil
	}
	info, err := c.Log.Info(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	t := projections.Tables{DB: c.DB}
	for wait := c.patient(); ; {
		at, err := t.Checkpoint(ctx)
		if err != nil {
			return err
		}
		switch {
		case at.Stream != "" && (at.Stream != info.Name || !at.Created.Equal(info.Created.UTC().Truncate(time.Microsecond))):
			c.found(finding(StreamChanged, "", "checkpoint", fmt.Sprintf("stream %s of %s", info.Name, info.Created.UTC().Format(time.RFC3339)),
				fmt.Sprintf("stream %s of %s", at.Stream, at.Created.Format(time.RFC3339))))
			return nil
		case at.Seq > info.Last:
			// What was read of the log may be older than what was read of the tables.
			if info, err = c.Log.Info(ctx); err != nil {
				return fmt.Errorf("read the log: %w", err)
			}
			if at.Seq > info.Last {
				c.found(finding(StreamChanged, "", "checkpoint", fmt.Sprintf("%d, the end of the log, or less", info.Last), fmt.Sprint(at.Seq)))
				return nil
			}
			c.behind = false
		case at.Seq >= c.last:
			c.behind = false
		default:
			c.behind = true
		}
		if !c.behind {
			c.poison, err = t.Poisoned(ctx)
			for a, why := range c.poison {
				c.found(finding(EventPoisoned, a.String(), "poison_event", "applied", why))
			}
			return err
		}
		if !wait.wait(ctx) {
			c.found(finding(ProjectionBehind, "", "checkpoint", fmt.Sprint(c.last), fmt.Sprint(at.Seq)))
			return ctx.Err()
		}
	}
}

// rows compares what was folded with its rows.
func (c *checker) rows(ctx context.Context, f *folded, part uint32) error {
	if c.DB == nil {
		return nil
	}
	t := projections.Tables{DB: c.DB}
	batches := table[domain.Batch]{c: c, name: "batch", part: part, known: byAggregate(f.batches, domain.BatchID.Aggregate), page: t.Batches, evolve: domain.EvolveBatch,
		key: func(b domain.Batch) (domain.Aggregate, domain.BatchID, int64) {
			return b.ID.Aggregate(), b.ID, b.Version
		}}
	jobs := table[domain.Job]{c: c, name: "job", part: part, known: byAggregate(f.jobs, domain.JobID.Aggregate), page: t.Jobs, evolve: domain.EvolveJob,
		key: func(j domain.Job) (domain.Aggregate, domain.BatchID, int64) {
			return j.ID.Aggregate(), j.Configuration.BatchID, j.Version
		}}
	files := table[domain.File]{c: c, name: "file", part: part, known: byAggregate(f.files, domain.FileHash.Aggregate), page: t.Files, evolve: domain.EvolveFile,
		zero: func(a domain.Aggregate) domain.File { return domain.File{Hash: domain.FileHash(a.ID)} },
		key: func(f domain.File) (domain.Aggregate, domain.BatchID, int64) {
			return f.Hash.Aggregate(), f.Spec.BatchID, f.Version
		}}
	settings := table[domain.Setting]{c: c, name: "setting", part: part, known: f.settings, evolve: domain.EvolveSetting, zero: settingOf,
		page: func(ctx context.Context, after string, _ int) ([]domain.Setting, error) {
			if after != "" {
				return nil, nil
			}
			return t.Settings(ctx)
		},
		key: func(s domain.Setting) (domain.Aggregate, domain.BatchID, int64) { return s.Aggregate(), "", s.Version }}
	for _, compare := range []func(context.Context, *folded) error{batches.compare, jobs.compare, files.compare, settings.compare} {
		if err := compare(ctx, f); err != nil {
			return err
		}
	}
	return nil
}

func byAggregate[K comparable, S any](m map[K]S, of func(K) domain.Aggregate) map[domain.Aggregate]S {
	out := make(map[domain.Aggregate]S, len(m))
	for k, s := range m {
		out[of(k)] = s
	}
	return out
}

// table compares one table with the fold of the log.
type table[S any] struct {
	c      *checker
	name   string
	part   uint32
	known  map[domain.Aggregate]S // as the log has them; emptied
	page   func(ctx context.Context, after string, limit int) ([]S, error)
	evolve func(S, domain.Recorded) (S, error)
	zero   func(domain.Aggregate) S // nil = the zero value
	key    func(S) (domain.Aggregate, domain.BatchID, int64)
}

func (t table[S]) compare(ctx context.Context, f *folded) error {
	c, n := t.c, len(t.known)
	for after := ""; ; {
		rows, err := t.page(ctx, after, rowsAPage)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		for _, row := range rows {
			a, batch, _ := t.key(row)
			after = a.ID
			if partOf(batch, a.ID, c.parts) != t.part || f.broken[a] {
				continue
			}
			want, known := t.known[a]
			delete(t.known, a)
			if err := t.row(ctx, a, row, want, known); err != nil {
				return err
			}
		}
		c.tell("comparing table "+t.name, n-len(t.known), n)
		if len(rows) < rowsAPage {
			break
		}
	}
	for a := range t.known {
		if !c.behind && c.poison[a] == "" {
			c.found(finding(RowMissing, a.String(), t.name, "a row", absent))
		}
	}
	return nil
}

// row compares one row with the log at the version that the row has.
func (t table[S]) row(ctx context.Context, a domain.Aggregate, row, want S, known bool) error {
	c := t.c
	_, _, version := t.key(row)
	_, _, have := t.key(want)
	switch {
	case known && version == have:
	case known && version < have:
		if !c.behind && c.poison[a] == "" {
			c.found(finding(RowBehind, a.String(), t.name, fmt.Sprintf("version %d", have), fmt.Sprintf("version %d", version)))
		}
		return nil
	default: // the tables went on meanwhile; whatever they have, the log had first
		events, err := c.history(ctx, a)
		switch {
		case err != nil:
			return err
		case len(events) == 0:
			c.found(finding(RowExtra, a.String(), t.name, absent, fmt.Sprintf("version %d", version)))
			return nil
		case version < 1 || version > int64(len(events)):
			c.found(finding(RowWrong, a.String(), t.name, fmt.Sprintf("version %d, the last in the log, or less", len(events)), fmt.Sprintf("version %d", version)))
			return nil
		}
		var zero S
		if t.zero != nil {
			zero = t.zero(a)
		}
		if want, err = foldTo(zero, t.evolve, events, version); err != nil {
			return nil //nolint:nilerr // a history that cannot be folded is told of as such
		}
	}
	w, err := plainOf(want)
	g, err2 := plainOf(row)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if w != g {
		w, g = narrow(w, g)
		c.found(finding(RowWrong, a.String(), t.name, w, g))
	}
	return nil
}

// tables compares the history in the tables with the log, and looks whether they
// add up, at one moment.
func (c *checker) tables(ctx context.Context) error {
	if c.DB == nil {
		return nil
	}
	c.tell("adding up the tables", 0, 0)
	return projections.Snapshot(ctx, c.DB, func(t projections.Tables) error {
		broken, err := t.Check(ctx)
		for _, b := range broken {
			c.found(finding(SumWrong, b.Key, b.Rule.Table, b.Rule.Name+": "+b.Want, b.Have))
		}
		if err != nil {
			return err
		}
		return c.events(ctx, t)
	})
}
