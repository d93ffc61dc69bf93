package console

import (
	"cmp"
	"net/url"
	"strconv"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/look"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

var jobColumns = table.Columns[app.JobRow]{Operation: "job.ls", Orders: app.JobOrders, First: "id", Title: "Jobs", None: "No jobs are here: a batch has them once its manifest was read. Choose fewer conditions to see others.", List: []table.Column[app.JobRow]{
	table.Col("id", "Job", func(j app.JobRow) any { return cell.To(j.ID, toJob(j.ID)) }),
	table.Col("batch_id", "Batch", func(j app.JobRow) any { return cell.To(j.BatchID, toBatch(j.BatchID)) }),
	table.Col("status", "State", func(j app.JobRow) any { return cell.State(j.Status) }),
	table.Col("status_since", "Since", func(j app.JobRow) any { return j.StatusSince }),
	table.Col("title", "Title", func(j app.JobRow) any { return cmp.Or(j.ErcWhat, j.FileName) }),
	table.Col("primary_identifier", "Identifier", func(j app.JobRow) any { return j.PrimaryIdentifier }),
	table.Col("collection", "Collection", func(j app.JobRow) any { return j.Collection }),
	table.Col("submitter", "Depositor", func(j app.JobRow) any { return j.Submitter }),
	table.Col("files", "Files", func(j app.JobRow) any { return j.Files }),
	table.Col("bytes", "Size", func(j app.JobRow) any { return sizeOf(j.Bytes) }),
	table.Col("retry_count", "Requeued", func(j app.JobRow) any { return j.RetryCount }),
	table.Col("reason", "Reason", func(j app.JobRow) any { return cell.ReasonOf(j.ReasonClass, j.ReasonCode, j.ReasonMessage) }),
}}

// sizeOf returns bytes of which the number may not be known.
func sizeOf(n *int64) any {
	if n == nil {
		return nil
	}
	return cell.Size(*n)
}

// jobsOfBatch are the jobs on the page of their batch.
var jobsOfBatch = table.Columns[app.JobRow]{Title: "Jobs", None: "It has no jobs yet: they are made when its manifest was read.",
	List: jobColumns.Without("batch_id", "submitter", "collection")}

func (*Console) jobs(v *visit) (page, error) {
	states := append(texts(domain.JobStates), string(domain.JobDeleted))
	return listPage(v, jobColumns, "Jobs", "jobs", append([]field{{Name: "batch", Label: "Batch"}}, fieldsOfAll(states)...)...)
}

// jobPage is what the page of a job shows.
type jobPage struct {
	app.JobView
	Title, Batch string // Batch is the address of its page
	Walk         cell.Bar
	States       table.Table
	Files        table.Table
	AllFiles     string // the address of all its files, "" = they are here
	FilesShown   int64  // how many of them are here
	FilesBar     cell.Bar
	Failures     table.Table
	Steps        table.Table
	Facts        []fact
	Why          cell.Cell
	Mend         string
	// Lock is the worker that has the job now. Known says that it was asked for: operators are told.
	Lock    *look.Lock
	Claims  int64 // since its last event
	Known   bool
	Unseen  string // why it is not known which worker has it, "" = it is
	Actions []doable
	Often   bool // it may change without an event: a worker may lose it
}

var stateColumns = table.Columns[app.JobTransition]{Title: "States", None: "It has no states.", List: []table.Column[app.JobTransition]{
	table.Col("to", "State", func(t app.JobTransition) any { return cell.State(t.ToStatus) }),
	table.Col("at", "From", func(t app.JobTransition) any { return t.At }),
	table.Col("seconds", "After", func(t app.JobTransition) any { return t.Seconds }),
	table.Col("actor", "By", func(t app.JobTransition) any { return t.Actor }),
	table.Col("reason", "Why", func(t app.JobTransition) any { return cell.ReasonOf(t.ReasonClass, t.ReasonCode, t.ReasonMessage) }),
	table.Col("seq", "As it was", func(t app.JobTransition) any { return cell.CountTo(t.Seq, "?at="+strconv.FormatInt(t.Seq, 10)) }),
}}

var stepColumns = table.Columns[app.JobStep]{Title: "Steps of its profile", None: "Its profile has no steps of its own.", List: []table.Column[app.JobStep]{
	table.Col("step", "Step", func(s app.JobStep) any { return s.Step }),
	table.Col("id", "Entry", func(s app.JobStep) any { return s.ID }),
	table.Col("status", "State", func(s app.JobStep) any { return cell.State(s.Status) }),
	table.Col("worker", "Worker", func(s app.JobStep) any { return s.Worker }),
	table.Col("requested_at", "Requested", func(s app.JobStep) any { return s.Requested }),
	table.Col("reason", "Reason", func(s app.JobStep) any { return s.Reason }),
}}

func (*Console) job(v *visit) (page, error) {
	id, at, in := v.PathValue("id"), form.Moment(v.URL.Query()), table.In(v)
	j, err := ask.Get[app.JobView](v, "job.show", at, id)
	if err != nil {
		return page{}, err
	}
	d := jobPage{JobView: j, Title: cell.Short(cmp.Or(j.ErcWhat, j.FileName, j.ID)), Batch: toBatch(j.BatchID), Walk: walkOf(j.Transitions, nowOf(j.At)), States: stateColumns.In(in, "states", j.Transitions),
		FilesBar: cell.Sum("files", cell.N("processed", j.FileCounts.FilesProcessed), cell.N("in_progress", j.FileCounts.FilesInProgress),
			cell.N("skipped", j.FileCounts.FilesSkipped), cell.N("given_up", j.FileCounts.FilesGivenUp), cell.N("deleted", j.FileCounts.FilesDeleted)),
		Failures: failureColumns.In(in, "failures", j.Retries), Steps: stepColumns.In(in, "steps", j.Steps), Why: cell.Whole(cell.ReasonOf(j.ReasonClass, j.ReasonCode, j.ReasonMessage)), Mend: mend(j.Status, j.ReasonClass, j.ReasonCode)}
	of := url.Values{"job": {j.ID}}
	many := j.FileCounts.FilesListed > int64(len(j.FirstFiles))
	if many {
		d.AllFiles, d.FilesShown = Path+"files?"+of.Encode(), int64(len(j.FirstFiles))
	}
	if many && j.At == nil {
		d.Files = filesOfJob.FirstIn(in, "files", j.FirstFiles, Path+"files", of)
	} else if many {
		d.Files = filesOfJob.Table(j.FirstFiles) // no list has all that there were at a moment, and the page says so
	} else {
		d.Files = filesOfJob.In(in, "files", j.FirstFiles)
	}
	if j.At == nil && mayAct(v, j.Collection) {
		inside, err := ask.Get[look.Inside](v, "job.look", nil, id)
		if err != nil {
			return page{}, err
		}
		d.Lock, d.Claims, d.Often, d.Unseen = inside.Lock, int64(inside.Claims), domain.JobState(j.Status).Worked(), inside.Unseen()
		d.Known = d.Unseen == ""
	}
	d.Facts = facts("Job", j.ID, "Batch", cell.To(j.BatchID, d.Batch), "Collection", j.Collection, "Profile", j.ProfileName, "Depositor", j.Submitter, "File", j.FileName, "Payload", j.PayloadUrl,
		"Type", j.PayloadType, "Identifier", identifierOf(j), "Priority", j.Priority, "Requeued", j.RetryCount, "Created", j.CreatedAt, "Completed", j.CompletedAt, "Version of the object", j.ObjectVersion)
	d.Actions = actionsOn(v, "jobs", j.ID, j.Collection, j.At)
	keepsMoment(j.At, d.Facts, d.Files, d.Failures)
	return page{Name: "job", Title: d.Title, Where: "jobs", Moment: momentOf(j.At), Follow: followed(j.At, "job", j.ID), Data: d, Tables: in}, nil
}

// identifierOf returns the identifier of a job's object, which leads there once it is stored.
func identifierOf(j app.JobView) any {
	if j.ObjectVersion == nil {
		return j.PrimaryIdentifier
	}
	return cell.To(j.PrimaryIdentifier, toObject(j.PrimaryIdentifier))
}

// walkOf returns for how long a job was in each of its states, in the order in which it entered
// them.
func walkOf(all []app.JobTransition, now time.Time) cell.Bar {
	b := cell.Bar{What: "time in each state"}
	add := func(status string, seconds float64) {
		if status != "" {
			b.Parts = append(b.Parts, cell.Part{Name: status, Text: cell.Seconds(seconds), N: max(seconds, 0.001)})
		}
	}
	for _, t := range all {
		if t.Seconds != nil {
			add(t.FromStatus, *t.Seconds)
		}
	}
	if len(all) > 0 {
		last := all[len(all)-1]
		if s := domain.JobState(last.ToStatus); s.Worked() || s == domain.JobHeld {
			add(last.ToStatus, now.Sub(last.At).Seconds())
		}
	}
	return b.Drawn()
}
