package consistency

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/query"
)

// rowsAPage is how many rows are read at once.
const rowsAPage = 1000

// follows reports whether a checkpoint is one of the stream.
func follows(at query.Checkpoint, name string, created time.Time) bool {
	return at.Stream == "" || at.Stream == name && at.Created.Equal(created.UTC().Truncate(time.Microsecond))
}

// projected waits until the tables have what the log had when the check began, and
// finds which aggregates are held there.
func (c *checker) projected(ctx context.Context) error {
	if c.DB == nil {
		return nil
	}
	missing, err := query.MissingDefinitions(ctx, c.DB)
	if err != nil {
		return err
	}
	for _, m := range missing {
		code := ViewsMissing
		if strings.HasPrefix(m.Name, "record.") {
			code = RecordsAltered
		}
		c.report(finding(code, "", m.Name, strings.Join(m.Parts, ", "), absent))
	}
	t := query.Tables{DB: c.DB}
	for wait := c.patient(); ; {
		at, err := t.Checkpoint(ctx)
		if err != nil {
			return err
		}
		info, err := c.Log.Info(ctx) // after the tables: they never have more
		if err != nil {
			return fmt.Errorf("read the log: %w", err)
		}
		if !follows(at, info.Name, info.Created) {
			c.report(finding(StreamChanged, "", "checkpoint", fmt.Sprintf("stream %s of %s", info.Name, info.Created.UTC().Format(time.RFC3339)),
				fmt.Sprintf("stream %s of %s", at.Stream, at.Created.Format(time.RFC3339))))
			return nil
		}
		if at.Seq > info.Last {
			c.report(finding(StreamChanged, "", "checkpoint", fmt.Sprintf("%d, the end of the log, or less", info.Last), fmt.Sprint(at.Seq)))
			return nil
		}
		if c.behind = at.Seq < c.last; !c.behind {
			c.poison, err = t.Poisoned(ctx)
			for a, why := range c.poison {
				c.report(finding(EventPoisoned, a.String(), "poison_event", "applied", why))
			}
			return err
		}
		if !wait.wait(ctx) {
			c.report(finding(ProjectionBehind, "", "checkpoint", fmt.Sprint(c.last), fmt.Sprint(at.Seq)))
			return ctx.Err()
		}
	}
}

// rows compares what was folded with its rows.
func (c *checker) rows(ctx context.Context, f *folded, part uint32) error {
	if c.DB == nil {
		return nil
	}
	t := query.Tables{DB: c.DB}
	for _, rows := range []interface{ compare(context.Context) error }{
		table[domain.Batch]{batches, c, part, f.batches, f.broken, t.Batches},
		table[domain.Job]{jobs, c, part, f.jobs, f.broken, t.Jobs},
		table[domain.File]{files, c, part, f.files, f.broken, t.Files},
		table[lookup.Query]{queries, c, part, f.queries, f.broken, t.Queries},
		table[slot.Slot]{slots, c, part, f.slots, f.broken, t.Slots},
		table[compute.Entry]{entries, c, part, inRows(f.entries), f.broken, t.Entries},
		table[domain.Setting]{settings, c, part, f.settings, f.broken, func(ctx context.Context, after string, _ int) ([]domain.Setting, error) {
			if after != "" {
				return nil, nil // all of them are one page
			}
			return t.Settings(ctx)
		}},
	} {
		if err := rows.compare(ctx); err != nil {
			return err
		}
	}
	return nil
}

// table compares one table with the fold of the log.
type table[S any] struct {
	kind[S]
	c      *checker
	part   uint32
	known  map[domain.Aggregate]S // as the log has them; emptied
	broken map[domain.Aggregate]bool
	page   func(ctx context.Context, after string, limit int) ([]S, error)
}

// compare reads the table page by page.
func (t table[S]) compare(ctx context.Context) error {
	c, n := t.c, len(t.known)
	for after := ""; ; {
		rows, err := t.page(ctx, after, rowsAPage)
		if err != nil {
			return fmt.Errorf("read %s: %w", t.name, err)
		}
		for _, row := range rows {
			is := t.key(row)
			after = is.aggregate.ID
			if partOf(is.batch, after, c.parts) != t.part || t.broken[is.aggregate] {
				continue
			}
			want, known := t.known[is.aggregate]
			delete(t.known, is.aggregate)
			if err := t.row(ctx, row, want, known); err != nil {
				return err
			}
		}
		c.Progress.Report("comparing table "+t.name, n-len(t.known), n)
		if len(rows) < rowsAPage {
			break
		}
	}
	for a := range t.known {
		if !c.mayLack(a) {
			c.report(finding(RowMissing, a.String(), t.name, "a row", absent))
		}
	}
	return nil
}

// mayLack reports whether the rows of an aggregate may lack what the log has.
func (c *checker) mayLack(a domain.Aggregate) bool { return c.behind || c.poison[a] != "" }

// row compares one row with the log at the version that the row has.
func (t table[S]) row(ctx context.Context, row, want S, known bool) error {
	c, is, have := t.c, t.key(row), t.key(want).version
	report := func(code domain.Code, want, got string) {
		c.report(finding(code, is.aggregate.String(), t.name, want, got))
	}
	version := fmt.Sprintf("version %d", is.version)
	switch {
	case known && is.version == have:
	case known && is.version < have:
		if !c.mayLack(is.aggregate) {
			report(RowBehind, fmt.Sprintf("version %d", have), version)
		}
		return nil
	default: // the tables went on meanwhile; whatever they have, the log had first
		events, err := c.history(ctx, is.aggregate)
		switch {
		case err != nil:
			return err
		case len(events) == 0:
			report(RowExtra, absent, version)
			return nil
		case is.version < 1 || is.version > int64(len(events)):
			report(RowWrong, fmt.Sprintf("version %d, the last in the log, or less", len(events)), version)
			return nil
		}
		if want, err = t.fold(is.aggregate, events, is.version); err != nil {
			return nil //nolint:nilerr // reported as a broken history
		}
	}
	switch s := any(&want).(type) {
	case *domain.Job: // the tables have the first key alone
		s.Identifiers.ObjectKeys = nil
	case *lookup.Query:
		s.Reason = shortReason(s.Reason)
	case *slot.Slot:
		s.Reason = shortReason(s.Reason)
	}
	if reflect.DeepEqual(want, row) {
		return nil
	}
	w, err := normalOf(want) // they may still say the same
	g, err2 := normalOf(row)
	if w != g {
		w, g = narrow(w, g)
		report(RowWrong, w, g)
	}
	return errors.Join(err, err2)
}

// tables checks that the tables add up, in one snapshot.
func (c *checker) tables(ctx context.Context) error {
	if c.DB == nil {
		return nil
	}
	c.Progress.Report("adding up the tables", 0, 0)
	return query.ReadTables(ctx, c.DB, func(t query.Tables) error {
		violations, err := t.Check(ctx)
		for _, v := range violations {
			c.report(finding(SumWrong, v.Key, v.TableName, v.Rule+": "+v.Expected, v.Found))
		}
		return err
	})
}

// inRows returns entries with what their rows have of reasons.
func inRows(all map[domain.Aggregate]compute.Entry) map[domain.Aggregate]compute.Entry {
	rows := make(map[domain.Aggregate]compute.Entry, len(all))
	for a, e := range all {
		if why := e.Reason; why != nil {
			e.Reason = &domain.Reason{Class: why.Class, Code: why.Code, Message: why.Message, WhoActs: why.WhoActs}
		}
		rows[a] = e
	}
	return rows
}
