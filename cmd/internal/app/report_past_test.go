package app

import (
	"errors"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestReportsOfThePastAreThoseOfThen: at several places of a history, every report of
// all there is tells as of there what it told when the tables had come so far.
func TestReportsOfThePastAreThoseOfThen(t *testing.T) {
	t.Parallel()
	story := projtest.NewStory(t)
	story.Classic()
	story.Random(11, 400)
	full := projtest.DB(t)
	story.Project(full)
	now := &App{Open: resources(fakeHistory{log: logOf(t, story), db: full})}
	for _, n := range []int{1, 60, len(story.Log) / 2, len(story.Log)} {
		then := *story
		then.Log = story.Log[:n]
		db := projtest.DB(t)
		then.Project(db)
		was := &App{Open: resources(fakeHistory{db: db})}
		told := 0
		for _, k := range ReportKinds() {
			if k.Batch || k.BySpan { // it is of now
				continue
			}
			for _, batch := range []query.Range{{}, {Batch: projtest.ClassicFiles}} {
				o := ReportOptions{Range: batch}
				if fault, _ := k.Fault(o.Range, o.By, o.At.IsNow()); fault != "" || batch.Batch != "" && n < len(story.Log)/2 {
					continue
				}
				want, err := was.Report(t.Context(), k.Name, o)
				if err != nil {
					t.Fatal(err)
				}
				o.At.Seq = uint64(n)
				got, err := now.Report(t.Context(), k.Name, o)
				if err != nil {
					t.Fatal(err)
				}
				table := want.Tables[0].Name
				rows := read(t, want, table)
				told += len(rows)
				if diff := cmp.Diff(rows, read(t, got, table)); diff != "" || got.At == nil || got.At.Seq != uint64(n) {
					t.Errorf("%s %s as of %d of %d (-then +now):\n%s", k.Name, batch.Batch, n, len(story.Log), diff)
				}
			}
		}
		if told == 0 {
			t.Errorf("as of %d nothing was told", n)
		}
		if n < len(story.Log) {
			// The tables must have come so far.
			behind := &App{Open: resources(fakeHistory{log: now.Open.Tables.(fakeHistory).log, db: db})}
			var e *Error
			if _, err := behind.Report(t.Context(), "throughput", ReportOptions{At: Moment{Seq: uint64(len(story.Log))}}); !errors.As(err, &e) || e.Kind != Unavailable {
				t.Errorf("tables that are behind tell of what they do not know: %v", err)
			}
		}
	}
}

// TestReportsOfThePastCountWhatIsSeen: who does not see everything is counted as of a moment what
// lies in its collections, and what it has submitted itself; reports that count over all there is,
// and those of now, are refused.
func TestReportsOfThePastCountWhatIsSeen(t *testing.T) {
	t.Parallel()
	story := projtest.NewStory(t)
	story.Classic()
	a := &App{Open: resources(fakeHistory{log: logOf(t, story)})}
	counted := func(name string, o ReportOptions) []map[string]string {
		t.Helper()
		o.At.Seq = uint64(len(story.Log))
		r, err := a.Report(t.Context(), name, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return read(t, r, r.Tables[0].Name)
	}
	sum := func(rows []map[string]string, column string) (n int) {
		for _, row := range rows {
			one, err := strconv.Atoi(row[column])
			if err != nil {
				t.Fatal(err)
			}
			n += one
		}
		return n
	}
	columns := map[string]string{"collections": "jobs", "failures": "failures", "submitters": "batches"}
	for name, column := range columns {
		all := counted(name, ReportOptions{})
		for _, sees := range []access.Filter{{All: true}, {Collections: []string{"films", "maps"}}} {
			if diff := cmp.Diff(all, counted(name, ReportOptions{Sees: &sees})); diff != "" || len(all) < 2 {
				t.Errorf("%s of %+v (-all +seen):\n%s", name, sees, diff)
			}
		}
		for _, sees := range []access.Filter{{}, {Collections: []string{"films"}}, {Submitter: "ana"}, {Collections: []string{"films"}, Submitter: "ana"}} {
			if rows := counted(name, ReportOptions{Sees: &sees}); len(rows) != 0 {
				t.Errorf("%s of %+v: %v", name, sees, rows)
			}
		}
		omar, maria := counted(name, ReportOptions{Sees: &access.Filter{Submitter: "omar"}}), counted(name, ReportOptions{Sees: &access.Filter{Submitter: "maria"}})
		if len(omar) == 0 || len(maria) == 0 || sum(omar, column)+sum(maria, column) != sum(all, column) {
			t.Errorf("%s: omar's %v and maria's %v are not all %v", name, omar, maria, all)
		}
		if name == "failures" {
			if diff := cmp.Diff(counted(name, ReportOptions{Range: query.Range{Batch: projtest.ClassicFiles}}), omar); diff != "" {
				t.Errorf("the failures of the only batch of omar (-batch +seen):\n%s", diff)
			}
		} else if n := sum(omar, column); n != 1 {
			t.Errorf("%s: %d of omar, want 1", name, n)
		}
	}
	for _, k := range ReportKinds() {
		if k.Batch {
			continue
		}
		for _, o := range []ReportOptions{{}, {At: Moment{Seq: 1}}} {
			if k.BySpan && !o.At.IsNow() || columns[k.Name] != "" && !o.At.IsNow() {
				continue
			}
			o.Sees = &access.Filter{Collections: []string{"maps"}, Submitter: "omar"}
			var e *Error
			if r, err := a.Report(t.Context(), k.Name, o); !errors.As(err, &e) || e.Kind != Forbidden {
				t.Errorf("%s as of %d: %v, %v", k.Name, o.At.Seq, r.Tables, err)
			}
		}
	}
}
