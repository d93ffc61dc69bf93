package consistency

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/accession-ingest/accession/domain"
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
		c.Progress.report("comparing table "+t.name, n-len(t.known), n)
		if len(rows) < rowsAPage {
			break
		}
	}
	for a := range t.known {
		if !c.held(a) {
			c.report(finding(RowMissing, a.String(), t.name, "a row", absent))
		}
	}
	return nil
}

// held reports whether the rows of an aggregate may lack what the log has.
func (c *checker) held(a domain.Aggregate) bool { return c.behind || c.poison[a] != "" }

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
		if !c.held(is.aggregate) {
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
	w, err := normalOf(want)
	g, err2 := normalOf(row)
	if w != g {
		w, g = narrow(w, g)
		report(RowWrong, w, g)
	}
	return errors.Join(err, err2)
}

// tables compares the history in the tables with the log, and checks that they add
// up, in one snapshot.
func (c *checker) tables(ctx context.Context) error {
	if c.DB == nil {
		return nil
	}
	c.Progress.report("adding up the tables", 0, 0)
	return query.ReadTables(ctx, c.DB, func(t query.Tables) error {
		broken, err := t.Check(ctx)
		for _, b := range broken {
			c.report(finding(SumWrong, b.Key, b.Rule.Table, b.Rule.Name+": "+b.Want, b.Have))
		}
		if err != nil {
			return err
		}
		return c.events(ctx, t)
	})
}

// maxEventRows is how many rows of the history are named.
const maxEventRows = 100

// events compares the history in the tables with the log, event by event, as far as
// both go.
func (c *checker) events(ctx context.Context, t query.Tables) error {
	at, err := t.Checkpoint(ctx)
	if err != nil {
		return err
	}
	bad := 0
	wrong := func(seq uint64, want, got string) {
		if bad++; bad <= maxEventRows {
			c.report(finding(EventRowWrong, "", fmt.Sprintf("event %d", seq), want, got))
		}
	}
	next, stop := iter.Pull2(eventRows(ctx, t, 1))
	defer stop()
	row, err, more := next()
	for r, readErr := range readLog(ctx, c.Log, min(at.Seq, c.last), c.Progress, "comparing the history") {
		if readErr != nil {
			return readErr
		}
		if c.poison[r.Aggregate] != "" {
			continue
		}
		for ; more && err == nil && row.Seq < int64(r.Seq); row, err, more = next() {
			if c.poison[domain.Aggregate{Kind: domain.Kind(row.Kind), ID: row.Aggregate}] == "" {
				wrong(uint64(row.Seq), absent, row.ID)
			}
		}
		if err != nil {
			return err
		}
		if !more || row.Seq > int64(r.Seq) {
			wrong(r.Seq, r.ID(), absent)
			continue
		}
		want, got := flat(r), flatRow(row, r.Stored)
		if want != got {
			want, got = narrow(want, got)
			wrong(r.Seq, want, got)
		}
		first := row.ID
		if row, err, more = next(); err == nil && more && row.Seq == int64(r.Seq) {
			wrong(r.Seq, "one event", first+" and "+row.ID)
			row, err, more = next()
		}
	}
	if bad > maxEventRows {
		c.report(finding(EventRowWrong, "", "event", "", fmt.Sprintf("%d more", bad-maxEventRows)))
	}
	return err
}

// eventRows reads the history in the tables page by page.
func eventRows(ctx context.Context, t query.Tables, from uint64) iter.Seq2[query.Stored, error] {
	return func(yield func(query.Stored, error) bool) {
		for {
			rows, err := t.Events(ctx, from, rowsAPage)
			if err != nil {
				yield(query.Stored{}, err)
				return
			}
			for _, row := range rows {
				from = uint64(row.Seq) + 1
				if !yield(row, nil) {
					return
				}
			}
			if len(rows) < rowsAPage {
				return
			}
		}
	}
}

// flatEvent is an event as it is compared.
type flatEvent struct {
	ID, Type, Batch, Actor, Command, Cause, Trace string
	Zxid, Epoch                                   int64
	Time, Stored                                  time.Time
	Data                                          any
}

// String returns the event as normal JSON.
func (e flatEvent) String() string {
	text, err := normalOf(e)
	if err != nil {
		return err.Error()
	}
	return text
}

func flat(r domain.Recorded) string {
	return flatEvent{r.ID(), string(r.Type), string(r.BatchID), string(r.Actor), r.CommandID, r.CausationID, r.TraceParent,
		r.Zxid, r.Epoch, r.Time.UTC(), r.Stored.UTC(), r.Data}.String()
}

// flatRow is flat for a row. PostgreSQL rounds to microseconds.
func flatRow(s query.Stored, stored time.Time) string {
	if s.At.Sub(stored).Abs() <= time.Microsecond {
		s.At = stored
	}
	var data any
	if err := json.Unmarshal(s.Data, &data); err != nil {
		data = string(s.Data)
	}
	return flatEvent{s.ID, s.Type, s.BatchID, s.Actor, s.Command, s.Causation, s.TraceCtx, s.Zxid, s.Epoch, s.Time.UTC(), s.At.UTC(), data}.String()
}
