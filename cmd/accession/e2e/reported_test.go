package e2e

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// sections says under which title a mail names the jobs of a state.
var sections = map[string]string{"Failed": "failed", "Unresolved": "failed", "Deleted": "deleted",
	"Completed": "completed", "Completed since the report before": "completed"}

// reported compares what the last mail says to a batch's depositor with its
// reports: the same numbers, every job by name under the right title, every failure
// and deletion with its reason; and what completed is listed, downloaded, stored and
// recorded, file by file.
func (in *installation) reported(id domain.BatchID, mail string) {
	in.t.Helper()
	want, got, results := map[string]string{}, map[string]string{}, map[any]int{}
	for row := range in.rows(id, "batch", "jobs") {
		results[row["status"]]++
		line := fmt.Sprintf("%s %s", row["status"], row["what"])
		if row["reason_code"] != nil {
			line += fmt.Sprintf(" %s: %s", row["reason_code"], row["reason_message"])
		}
		want[row["job_id"].(string)] = line
	}
	for _, part := range strings.Split(mail, "\n\n") {
		title, list, _ := strings.Cut(strings.TrimSuffix(part, "\n"), "\n  ")
		for _, entry := range strings.Split(list, "\n  jid") {
			if name, line, is := strings.Cut(entry, "  "); is && sections[title] != "" {
				line, reason, _ := strings.Cut(line, "\n    ")
				what, _, _ := strings.Cut(line, "  ") // the object's identifier follows
				got["jid"+strings.TrimPrefix(name, "jid")] = strings.TrimSuffix(sections[title]+" "+what+" "+reason, " ")
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		in.t.Errorf("%s: by mail, other jobs than in the report (-report +mail):\n%s\n%s", id, diff, mail)
	}
	if sum := fmt.Sprintf("Listed %d, completed %d, failed %d, deleted %d.\n\n", len(want), results["completed"], results["failed"], results["deleted"]); !strings.Contains(mail, sum) {
		in.t.Errorf("%s: the mail does not say %q:\n%s", id, sum, mail)
	}
	for _, table := range []string{"objects", "files"} {
		n := 0
		for row := range in.rows(id, "reconciliation", table) {
			if row["result"] != "done" {
				if row["explanation"] == "" {
					in.t.Errorf("%s: nothing explains %v", id, row)
				}
				continue
			}
			n++
			if row["explanation"] != "" || row["downloaded"] != true || row["stored"] != true || row["recorded"] != true {
				in.t.Errorf("%s: %v", id, row)
			}
		}
		if n != results["completed"] {
			in.t.Errorf("%s: %d %s are recorded, %d jobs completed", id, n, table, results["completed"])
		}
	}
}

// rows returns the rows of a table of a report on a batch.
func (in *installation) rows(id domain.BatchID, report, table string) func(yield func(map[string]any) bool) {
	in.t.Helper()
	r, err := in.app.Report(in.ctx(), report, app.ReportOptions{Range: query.Range{Batch: id}})
	if err != nil {
		in.t.Fatal(err)
	}
	return func(yield func(map[string]any) bool) {
		defer r.Close()
		for _, t := range r.Tables {
			if t.Name != table {
				continue
			}
			for values, err := range t.Rows {
				if err != nil {
					in.t.Fatal(err)
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
