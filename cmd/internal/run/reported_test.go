package run_test

import (
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
)

// reported compares what a batch's depositor was told by mail with its reports: the
// same numbers, every job by name, every failure with its reason; and what completed
// is listed, downloaded, stored and recorded, file by file.
func (w *world) reported(id domain.BatchID) {
	w.t.Helper()
	mails := w.mailed(string(id))
	if len(mails) != 1 {
		w.t.Fatalf("%s: %d mails", id, len(mails))
	}
	says := func(format string, args ...any) {
		w.t.Helper()
		if want := fmt.Sprintf(format, args...); !strings.Contains(mails[0], want) {
			w.t.Errorf("%s: the mail does not say %q:\n%s", id, want, mails[0])
		}
	}
	results := map[any]int{}
	for row := range w.rows(id, "batch", "jobs") {
		results[row["status"]]++
		says("%s  %s", row["job_id"], row["what"])
		if row["reason_code"] != nil {
			says("%s: %s", row["reason_code"], row["reason_message"])
		}
	}
	says("Listed %d, completed %d, failed %d, deleted 0.", results["completed"]+results["failed"], results["completed"], results["failed"])
	for _, table := range []string{"objects", "files"} {
		n := 0
		for row := range w.rows(id, "reconciliation", table) {
			if row["result"] != "done" {
				if row["explanation"] == "" {
					w.t.Errorf("%s: nothing explains %v", id, row)
				}
				continue
			}
			n++
			if row["explanation"] != "" || row["downloaded"] != true || row["stored"] != true || row["recorded"] != true {
				w.t.Errorf("%s: %v", id, row)
			}
		}
		if n != results["completed"] {
			w.t.Errorf("%s: %d %s are recorded, %d jobs completed", id, n, table, results["completed"])
		}
	}
}

// rows gives the rows of a table of a report on a batch.
func (w *world) rows(id domain.BatchID, report, table string) func(yield func(map[string]any) bool) {
	w.t.Helper()
	r, err := w.app.Report(w.ctx(), report, app.ReportOptions{Range: projections.Range{Batch: id}})
	if err != nil {
		w.t.Fatal(err)
	}
	return func(yield func(map[string]any) bool) {
		for _, t := range r.Tables {
			if t.Name != table {
				continue
			}
			for values, err := range t.Rows {
				if err != nil {
					w.t.Fatal(err)
				}
				row := map[string]any{}
				for i, c := range t.Columns {
					row[c.Name] = values[i]
				}
				if !yield(row) {
					return
				}
			}
		}
	}
}
