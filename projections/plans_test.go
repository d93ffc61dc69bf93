package projections_test

import (
	"os"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/projections/projtest"
)

// wholeViews are the views whose examples in docs/sql.md read a growing table from end
// to end, and why that is right.
var wholeViews = map[string]string{
	"report.batch_summary":      "the example lists all batches",
	"report.failure_reasons":    "sums up every failed attempt there ever was",
	"report.time_in_state":      "percentiles of every stay there ever was",
	"report.submitter_activity": "sums up every batch there ever was",
}

// TestDocumentedQueriesHaveTheirIndexes: no example of docs/sql.md reads a growing
// table from end to end but those that sum it up.
func TestDocumentedQueriesHaveTheirIndexes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	db := projtest.DB(t)
	if err := run(t, config(db, installation(t).log)); err != nil {
		t.Fatal(err)
	}
	projtest.Crowd(t, db, 100)
	planned, seen := &projtest.Planned{Pool: db}, map[string]bool{}
	for _, found := range example.FindAllStringSubmatch(string(text), -1) {
		rows, err := planned.Query(t.Context(), found[1])
		if err != nil {
			t.Fatalf("%s: %v", found[1], err)
		}
		rows.Close()
		_, after, _ := strings.Cut(found[1], "from ")
		view, _, _ := strings.Cut(after, " ")
		whole := planned.Whole()
		seen[view] = true
		if reason, allowed := wholeViews[view]; allowed != (len(whole) > 0) {
			t.Errorf("%s reads from end to end %q; allowed: %t (%s)\n%s", view, whole, allowed, reason, found[1])
		}
	}
	for view := range wholeViews {
		if !seen[view] {
			t.Errorf("%s has no example any more", view)
		}
	}
}
