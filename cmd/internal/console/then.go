package console

import (
	"encoding/json"
	"net/url"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

// overviewThen is the overview of a moment, as far as the history has it: counts, and what had
// failed. What waited for whom is live state, which no history keeps.
type overviewThen struct {
	At       *app.AsOf
	Jobs     cell.Bar
	All      int64
	States   table.Table
	Failures table.Table
	People   table.Table
}

// jobsThen are the jobs of a collection in a state.
type jobsThen struct {
	Collection string     `json:"collection"`
	Status     string     `json:"status"`
	Jobs       int64      `json:"jobs"`
	Files      int64      `json:"files"`
	Bytes      int64      `json:"bytes"`
	Oldest     *time.Time `json:"oldest_since"`
}

var jobsThenColumns = table.Columns[jobsThen]{Title: "Jobs by collection and state", None: "There were no jobs.", List: []table.Column[jobsThen]{
	table.Col("collection", "Collection", func(j jobsThen) any { return j.Collection }),
	table.Col("status", "State", func(j jobsThen) any { return cell.State(j.Status) }),
	table.Col("jobs", "Jobs", func(j jobsThen) any { return j.Jobs }),
	table.Col("files", "Files", func(j jobsThen) any { return j.Files }),
	table.Col("bytes", "Size", func(j jobsThen) any { return cell.Size(j.Bytes) }),
	table.Col("oldest_since", "The first since", func(j jobsThen) any { return j.Oldest }),
}}

// failedThen are attempts that had failed for a reason.
type failedThen struct {
	Kind       string     `json:"kind"`
	FailedIn   string     `json:"failed_in"`
	Class      string     `json:"class"`
	Code       string     `json:"code"`
	Failures   int64      `json:"failures"`
	Unresolved int64      `json:"unresolved"`
	Last       *time.Time `json:"last_failed_at"`
	Message    string     `json:"last_message"`
}

var failedThenColumns = table.Columns[failedThen]{Title: "Failed attempts by reason", None: "No attempt had failed.", List: []table.Column[failedThen]{
	table.Col("reason", "Why", func(f failedThen) any { return cell.Why(f.Class, f.Code, f.Message) }),
	table.Col("kind", "Of", func(f failedThen) any { return f.Kind }),
	table.Col("failed_in", "Failed in", func(f failedThen) any { return cell.State(f.FailedIn) }),
	table.Col("failures", "Attempts", func(f failedThen) any { return f.Failures }),
	table.Col("unresolved", "Unresolved then", func(f failedThen) any { return f.Unresolved }),
	table.Col("last_failed_at", "Last", func(f failedThen) any { return f.Last }),
}}

// submittedThen is what one depositor had submitted.
type submittedThen struct {
	Submitter  string `json:"submitter"`
	Batches    int64  `json:"batches"`
	Completed  int64  `json:"batches_completed"`
	Failed     int64  `json:"batches_failed"`
	JobsDone   int64  `json:"jobs_completed"`
	JobsFailed int64  `json:"jobs_failed"`
	JobsHeld   int64  `json:"jobs_held"`
	Deleted    int64  `json:"jobs_deleted"`
	InProgress int64  `json:"jobs_in_progress"`
}

var submittedThenColumns = table.Columns[submittedThen]{Title: "Batches by depositor", None: "There were no batches.", List: []table.Column[submittedThen]{
	table.Col("submitter", "Depositor", func(s submittedThen) any { return s.Submitter }),
	table.Col("batches", "Batches", func(s submittedThen) any { return s.Batches }),
	table.Col("batches_completed", "Completed", func(s submittedThen) any { return s.Completed }),
	table.Col("batches_failed", "Failed", func(s submittedThen) any { return s.Failed }),
	table.Col("", "Sum of jobs", func(s submittedThen) any {
		return cell.Sum("jobs", cell.N("completed", s.JobsDone), cell.N("in_progress", s.InProgress), cell.N("held", s.JobsHeld), cell.N("failed", s.JobsFailed), cell.N("deleted", s.Deleted))
	}),
}}

// reported returns the rows of a report of one table as of a moment.
func reported[T any](v *visit, name, of string, at url.Values) (rows []T, as *app.AsOf, err error) {
	r, err := ask.Get[struct {
		At     *app.AsOf                  `json:"at"`
		Tables map[string]json.RawMessage `json:"tables"`
	}](v, "report.show", at, name)
	if err == nil {
		err = json.Unmarshal(r.Tables[of], &rows)
	}
	return rows, r.At, err
}

// overviewAt is the overview of the moment that an address names.
func overviewAt(v *visit, at url.Values) (page, error) {
	in := table.In(v)
	at.Set("format", "json")
	jobs, as, err := reported[jobsThen](v, "collections", "collections", at)
	if err != nil {
		return page{}, err
	}
	d := overviewThen{At: as, States: jobsThenColumns.In(in, "jobs", jobs)}
	n := map[string]int64{}
	for _, j := range jobs {
		d.All += j.Jobs
		switch s := domain.JobState(j.Status); s {
		case domain.JobCompleted, domain.JobFailed, domain.JobHeld, domain.JobDeleted:
			n[j.Status] += j.Jobs
		default:
			n["in_progress"] += j.Jobs
		}
	}
	d.Jobs = cell.Sum("jobs", cell.N("completed", n["completed"]), cell.N("in_progress", n["in_progress"]), cell.N("held", n["held"]), cell.N("failed", n["failed"]), cell.N("deleted", n["deleted"]))
	failures, _, err := reported[failedThen](v, "failures", "reasons", at)
	if err != nil {
		return page{}, err
	}
	people, _, err := reported[submittedThen](v, "submitters", "submitters", at)
	d.Failures, d.People = failedThenColumns.In(in, "failures", failures), submittedThenColumns.In(in, "depositors", people)
	return page{Name: "then", Title: "Overview", Where: "overview", Moment: momentOf(as), Data: d, Tables: in}, err
}
