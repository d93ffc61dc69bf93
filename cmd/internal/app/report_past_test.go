package app

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

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
