package console

import (
	"bytes"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// reportsOfAll are the addresses of reports as pages, which have a design but no policy and no title
// in common with the console's: those with a chart, of a few rows and of as many as are drawn, and
// one that says what outsiders wrote.
var reportsOfAll = []string{Path + "reports/throughput", Path + "reports/days", Path + "reports/none", Path + "reports/states", Path + "reports/batch?batch=bid0000000001"}

// someReports are the answers of the API to these.
func someReports(t *testing.T, name string) map[string]any {
	t.Helper()
	day := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC)
	rows := func(all ...[]any) iter.Seq2[[]any, error] {
		return func(yield func([]any, error) bool) {
			for _, row := range all {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
	throughput := func(days int) app.Report {
		var all [][]any
		for i := range days {
			all = append(all, []any{day.AddDate(0, 0, i).Format(time.DateOnly), int64(i), int64(i), int64(1_000_000), int64(1)})
		}
		return app.Report{Name: "throughput", Title: "What was done on each day", Tables: []app.Table{{Name: "days", Title: "Days", None: "Nothing was done.",
			Columns: []app.Column{{Name: "day", Label: "day"}, {Name: "batches_submitted", Label: "batches"}, {Name: "jobs_completed", Label: "jobs completed"}, {Name: "jobs_failed", Label: "jobs failed"}, {Name: "files_processed", Label: "files processed"}}, Rows: rows(all...)}}}
	}
	var states [][]any
	for i, state := range []string{"pending", "estimating", "provisioning", "downloading", "processing", "recording", "update_reporting", "DISCOVERED", "DOWNLOADING_FAILED", "PROCESSING_FAILED"} {
		seconds := 0.04
		for range i {
			seconds *= 8
		}
		states = append(states, []any{"job", state, int64(12_345), seconds, 2 * seconds, 6 * seconds, 1234.5678 * seconds})
	}
	all := map[string]any{}
	for of, r := range map[string]app.Report{
		"throughput": throughput(3), "days": throughput(60), "none": throughput(0),
		"states": {Name: "states", Title: "How long jobs and files stayed in each state", Tables: []app.Table{{Name: "states", Title: "Seconds in each state", None: "Nothing has left a state.",
			Columns: []app.Column{{Name: "kind", Label: "kind"}, {Name: "status", Label: "status"}, {Name: "times", Label: "times"}, {Name: "p50", Label: "p50"}, {Name: "p95", Label: "p95"}, {Name: "p99", Label: "p99"}, {Name: "longest", Label: "longest"}}, Rows: rows(states...)}}},
		"batch": {Name: "batch", Title: "How a batch went", At: &app.AsOf{Seq: 42, Stored: day}, Facts: []app.Fact{{Name: "erc_what", Label: "title", Value: name}, {Name: "submitter", Label: "submitter", Value: name}},
			Tables: []app.Table{{Name: "causes", Title: "Why jobs failed", None: "No job has failed.", Columns: []app.Column{{Name: "jobs", Label: "jobs"}, {Name: "message", Label: "message"}}, Rows: rows([]any{int64(20), name})},
				{Name: "jobs", Title: "Jobs", None: "No job.", Columns: []app.Column{{Name: "job_id", Label: "job"}, {Name: "file_name", Label: "file name"}, {Name: "bytes", Label: "bytes"}, {Name: "at", Label: "at"}}, Rows: rows([]any{"jid0000000001", name, int64(1 << 40), day})}}},
	} {
		var page bytes.Buffer
		if err := export.WriteReport(&page, r, export.ReportOptions{Format: export.FormatHTML, Made: day}); err != nil {
			t.Fatal(fmt.Errorf("the report %s: %w", of, err))
		}
		all["/v1/reports/"+of+"?format=html"] = page.String()
	}
	return all
}
