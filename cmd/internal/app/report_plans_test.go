package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// sumUp are the reports that sum up all there is when nobody narrows them.
var sumUp = []string{"throughput", "states", "failures", "submitters", "collections"}

// TestReportsReadNoMoreThanTheyTell asks every report for one batch, for one day, and
// for all, in tables with enough rows: a growing table is read from end to end only by
// a report that sums up all of it.
func TestReportsReadNoMoreThanTheyTell(t *testing.T) {
	t.Parallel()
	a, story := classic(t)
	w := a.Open.Tables.(fakeHistory)
	db := w.db.(*pgxpool.Pool)
	projtest.Crowd(t, db, 260)
	planned := &projtest.Planned{Pool: db}
	w.db = planned
	a.Open = resources(w)
	day := story.Now.AddDate(0, 0, -50).Truncate(24 * time.Hour)
	for _, k := range ReportKinds() {
		for what, r := range map[string]query.Range{
			"of a batch": {Batch: projtest.ClassicFiles}, "of a day": {Since: day, Until: day.AddDate(0, 0, 1)},
			"from a day on": {Since: story.Now.AddDate(0, 0, -1)}, "of all": {},
			"of a batch on a day": {Batch: projtest.ClassicFiles, Since: story.Log[0].Time.Time, Until: story.Now.Add(time.Hour)},
		} {
			o := ReportOptions{Range: r} // but of those that are read from the inventory
			if fault, _ := k.Fault(o.Range, o.By, o.At.IsNow()); fault != "" || k.BySpan || what == "of all" && slices.Contains(sumUp, k.Name) {
				continue
			}
			report, err := a.Report(t.Context(), k.Name, o)
			if err != nil {
				t.Fatal(err)
			}
			first := true
			for _, table := range report.Tables {
				for _, err := range table.Rows {
					if err != nil {
						t.Fatal(err)
					}
					first = false
					if what == "of all" {
						break // the first page is enough
					}
				}
			}
			report.Close()
			if first {
				t.Errorf("%s %s is empty", k.Name, what)
			}
			if whole := planned.Whole(); len(whole) > 0 {
				t.Errorf("%s %s reads from end to end:\n%s", k.Name, what, strings.Join(whole, "\n"))
			}
		}
	}
}
