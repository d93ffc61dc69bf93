package console

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/callbacks"
	"github.com/accession-ingest/accession/cmd/internal/app/hint"
	"github.com/accession-ingest/accession/cmd/internal/app/retries"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/ask"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/cell"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/form"
	"github.com/accession-ingest/accession/cmd/internal/console/internal/table"
	"github.com/accession-ingest/accession/domain"
)

func toBatch(id string) string { return Path + "batches/" + url.PathEscape(id) }
func toJob(id string) string   { return Path + "jobs/" + url.PathEscape(id) }
func toFile(id string) string  { return Path + "files/" + url.PathEscape(id) }

// jobsOf returns the sum of a batch's rows, which always adds up.
func jobsOf(b app.BatchSummary) cell.Bar {
	return cell.Sum("jobs", cell.N("completed", b.JobsCompleted), cell.N("in_progress", b.JobsInProgress), cell.N("held", b.JobsHeld),
		cell.N("failed", b.JobsFailed), cell.N("deleted", b.JobsDeleted))
}

func filesOf(b app.BatchSummary) cell.Bar {
	return cell.Sum("files", cell.N("processed", b.FilesProcessed), cell.N("in_progress", b.FilesInProgress), cell.N("skipped", b.FilesSkipped),
		cell.N("given_up", b.FilesGivenUp), cell.N("deleted", b.FilesDeleted))
}

// titleOf returns what a batch is called: by its title, or else its file.
func titleOf(b app.BatchSummary) string { return cmp.Or(b.ErcWhat, b.FileName) }

var batchColumns = table.Columns[app.BatchSummary]{Operation: "batch.ls", Orders: app.BatchOrders, First: "-id", Title: "Batches", None: "No batches are here: deposit one, or choose fewer conditions.", List: []table.Column[app.BatchSummary]{
	table.Col("id", "Batch", func(b app.BatchSummary) any { return cell.To(b.ID, toBatch(b.ID)) }),
	table.Col("status", "State", func(b app.BatchSummary) any { return cell.State(b.Status) }),
	table.Col("title", "Title", func(b app.BatchSummary) any { return titleOf(b) }),
	table.Col("submitter", "Depositor", func(b app.BatchSummary) any { return b.Submitter }),
	table.Col("profile_name", "Profile", func(b app.BatchSummary) any { return b.ProfileName }),
	table.Col("rows_listed", "Jobs", func(b app.BatchSummary) any { return b.RowsListed }),
	table.Col("", "Sum of jobs", func(b app.BatchSummary) any { return jobsOf(b) }),
	table.Col("jobs_completed", "Completed", func(b app.BatchSummary) any { return b.JobsCompleted }),
	table.Col("jobs_failed", "Failed", func(b app.BatchSummary) any { return b.JobsFailed }),
	table.Col("files_listed", "Files", func(b app.BatchSummary) any { return b.FilesListed }),
	table.Col("bytes_listed", "Size", func(b app.BatchSummary) any { return cell.Size(b.BytesListed) }),
	table.Col("submitted_at", "Submitted", func(b app.BatchSummary) any { return b.SubmittedAt }),
	table.Col("reason", "Reason", func(b app.BatchSummary) any { return cell.ReasonOf(b.ReasonClass, b.ReasonCode, b.ReasonMessage) }),
}}

// fieldsOfAll are what every list is filtered by.
func fieldsOfAll(states []string) []field {
	return []field{{Name: "state", Label: "State", Choices: states}, {Name: "collection", Label: "Collection"}, {Name: "profile", Label: "Profile"}, {Name: "submitter", Label: "Depositor"},
		{Name: "code", Label: "Code of the reason"}, {Name: "host", Label: "Server of the payload"}, {Name: "since", Label: "From (UTC)", Kind: "date"}, {Name: "older_than", Label: "Before (UTC)", Kind: "date"}}
}

func (*Console) batches(v *visit) (page, error) {
	return listPage(v, batchColumns, "Batches", "batches", fieldsOfAll(texts(domain.BatchStates))...)
}

// batchPage is what the page of a batch shows.
type batchPage struct {
	app.BatchView
	Title          string
	JobsBar        cell.Bar
	FilesBar       cell.Bar
	Jobs           table.Table
	Failures       table.Table // failed attempts, in the order of their jobs
	AllFailures    string      // the list of them
	Life           table.Table
	Mails          table.Table
	Callbacks      table.Table
	FirstCallbacks int64  // of more, 0 = they are all
	AllCallbacks   string // the list of them
	ReportsMade    table.Table
	Facts          []fact
	Why            cell.Cell
	Mend           string    // how what failed is mended, "" = nothing failed
	Bytes          *cell.Bar // nil = no file has a known size
	Walk           cell.Bar
	Cut            int64 // failed attempts in all, where not all are shown
	Actions        []doable
}

// fact is a line about a thing.
type fact struct {
	Label string
	Cell  cell.Cell
}

// facts returns those that have a value.
func facts(pairs ...any) (all []fact) {
	for i := 0; i < len(pairs); i += 2 {
		if c := cell.Whole(pairs[i+1]); c.Text != "" || c.Kind != "" && c.Kind != "state" {
			all = append(all, fact{pairs[i].(string), c})
		}
	}
	return all
}

// shownOf is how many of its jobs, failed attempts and events the page of a batch shows.
const shownOf = 50

func (*Console) batch(v *visit) (page, error) {
	id, at := v.PathValue("id"), form.Moment(v.URL.Query())
	in := table.In(v)
	at.Set("limit", strconv.Itoa(shownOf))
	if in.Asked("jobs") || in.Asked("failures") {
		at.Set("limit", table.MostAtOnce)
	}
	b, err := ask.Get[app.BatchView](v, "batch.show", at, id)
	if err != nil {
		return page{}, err
	}
	d := batchPage{BatchView: b, Title: cell.Short(cmp.Or(titleOf(b.BatchSummary), b.ID)), JobsBar: jobsOf(b.BatchSummary), FilesBar: filesOf(b.BatchSummary),
		Why: cell.Whole(cell.ReasonOf(b.ReasonClass, b.ReasonCode, b.ReasonMessage))}
	d.Mend = mend(b.Status, b.ReasonClass, b.ReasonCode)
	if b.BytesListed > 0 {
		d.Bytes = new(progress(b.BytesDownloaded, b.BytesListed))
	}
	var r batchReport
	if b.Projected {
		if r, err = ask.Get[batchReport](v, "batch.report", at, id); err != nil {
			return page{}, err
		}
	}
	d.tables(in, r)
	life, err := eventsOf(v, url.Values{"batch": {id}, "kind": {"batch"}}, b.At)
	if err != nil && !errors.Is(err, ask.ErrCutOff) {
		return page{}, err
	}
	d.Walk = walkOfBatch(life, nowOf(b.At))
	if d.Life = lifeColumns.In(in, "life", life); err != nil {
		d.Life.Title, d.Life.None = "Life, as far as the log could be read", "The log could not be read."
	}
	d.Facts = facts("Batch", b.ID, "Depositor", b.Submitter, "Profile", b.ProfileName, "Type", b.Type, "File", b.FileName, "Files", b.FilesListed, "Size", cell.Size(b.BytesListed),
		"Downloaded", cell.Size(b.BytesDownloaded), "Submitted", b.SubmittedAt, "Begun", b.StartedAt, "Reported", b.ReportedAt, "Until the report", b.SecondsToReport)
	collection := "" // of a batch without jobs the operation knows
	if len(b.Jobs) > 0 {
		collection = b.Jobs[0].Collection
	}
	d.Actions = append(again(v, b), actionsOn(v, "batches", b.ID, collection, b.At)...)
	keepsMoment(b.At, nil, d.Jobs, d.Failures)
	return page{Name: "batch", Title: d.Title, Where: "batches", Moment: momentOf(b.At), Follow: followed(b.At, "batch", b.ID), Data: d, Tables: in}, nil
}

// most is how many jobs and failed attempts of a batch its page sorts as of a moment.
const most = 1000

// tables adds what the batch has to its page. Its jobs and failed attempts may be the first of many:
// lists have all that there are now.
func (d *batchPage) tables(in *table.Within, r batchReport) {
	switch {
	case d.Truncated && d.At == nil:
		d.Jobs = jobsOfBatch.FirstIn(in, "jobs", d.BatchView.Jobs, Path+"jobs", url.Values{"batch": {d.ID}})
	case d.JobsTotal > most:
		d.Jobs = jobsOfBatch.Table(d.BatchView.Jobs)
	default:
		d.Jobs = jobsOfBatch.In(in, "jobs", d.BatchView.Jobs)
	}
	switch {
	case d.At == nil && r.RetriesTotal > shownOf:
		d.Cut, d.AllFailures = r.RetriesTotal, toBatch(d.ID)+retriesPath
		d.Failures = attemptColumns.FirstIn(in, "failures", r.Retries[:min(shownOf, len(r.Retries))], d.AllFailures, nil)
	case r.RetriesTotal > most:
		d.Cut, d.Failures = r.RetriesTotal, failureColumns.Table(r.Retries)
	default:
		d.Failures = failureColumns.In(in, "failures", r.Retries)
		if r.RetriesTotal > int64(len(r.Retries)) {
			d.Cut = r.RetriesTotal
		}
	}
	d.ReportsMade = reportColumns.In(in, "reports", r.ReportsMade)
	d.Mails = mailColumns.In(in, "mails", d.Messages)
	d.AllCallbacks = toBatch(d.ID) + callbacksPath
	if made := d.BatchView.Callbacks; len(made) < shownOf {
		d.Callbacks = callbackColumns.In(in, "callbacks", made)
	} else {
		d.FirstCallbacks = shownOf
		d.Callbacks = callbackColumns.FirstIn(in, "callbacks", made[:shownOf], d.AllCallbacks, nil)
	}
}

// batchReport is what of the report of a batch its page shows.
type batchReport struct {
	ReportsMade  []reportMade `json:"reports_made"`
	Retries      []app.Retry  `json:"retries"`
	RetriesTotal int64        `json:"retries_total"`
}

type reportMade struct {
	Report          int64     `json:"report"`
	Kind            string    `json:"kind"`
	Status          string    `json:"status"`
	Successful      int64     `json:"successful"`
	Failed          int64     `json:"failed"`
	NewlySuccessful int64     `json:"newly_successful"`
	ReportedAt      time.Time `json:"reported_at"`
}

var reportColumns = table.Columns[reportMade]{Title: "Reports", None: "No report is made yet: it is made when every job has ended.", List: []table.Column[reportMade]{
	table.Col("report", "Report", func(r reportMade) any { return r.Report }),
	table.Col("kind", "Kind", func(r reportMade) any { return r.Kind }),
	table.Col("status", "Outcome", func(r reportMade) any { return cell.State(r.Status) }),
	table.Col("successful", "Completed", func(r reportMade) any { return r.Successful }),
	table.Col("failed", "Failed", func(r reportMade) any { return r.Failed }),
	table.Col("newly_successful", "Newly completed", func(r reportMade) any { return r.NewlySuccessful }),
	table.Col("reported_at", "Made", func(r reportMade) any { return r.ReportedAt }),
}}

var mailColumns = table.Columns[app.Message]{Title: "Mails", None: "No mail about it was sent.", List: []table.Column[app.Message]{
	table.Col("about", "About", func(m app.Message) any { return m.About }),
	table.Col("channel", "By", func(m app.Message) any { return string(m.Channel) }),
	table.Col("state", "State", func(m app.Message) any { return cell.State(m.State) }),
	table.Col("recipients", "Recipients", func(m app.Message) any { return m.Recipients }),
	table.Col("attempts", "Attempts", func(m app.Message) any { return m.Attempts }),
	table.Col("last_attempt_at", "Last attempt", func(m app.Message) any { return m.LastAttemptAt }),
	table.Col("delivered_at", "Delivered", func(m app.Message) any { return m.DeliveredAt }),
	table.Col("error", "Error", func(m app.Message) any { return m.Error }),
}}

// retriesPath and callbacksPath are those of the lists of all failed attempts of the jobs of a batch,
// and of all callbacks about them, after that of its page.
const retriesPath, callbacksPath = "/retries", "/callbacks"

var callbackColumns = table.Columns[app.Callback]{Operation: "batch.callbacks", Names: []string{"id"}, Title: "Callbacks", None: "No callback about its jobs was made.", List: []table.Column[app.Callback]{
	table.Col("job_id", "Job", func(c app.Callback) any { return cell.To(c.Job, toJob(c.Job)) }),
	table.Col("host", "To", func(c app.Callback) any { return c.Host }),
	table.Col("state", "State", func(c app.Callback) any { return cell.State(c.State) }),
	table.Col("attempts", "Attempts", func(c app.Callback) any { return c.Attempts }),
	table.Col("last_attempt_at", "Last attempt", func(c app.Callback) any { return c.LastAttemptAt }),
	table.Col("delivered_at", "Delivered", func(c app.Callback) any { return c.DeliveredAt }),
	table.Col("error", "Error", func(c app.Callback) any { return c.Error }),
}}

func (*Console) callbacks(v *visit) (page, error) {
	return listOfBatch(v, callbackColumns, "Callbacks about the jobs of ", field{Name: "state", Label: "State", Choices: callbacks.States})
}

func (*Console) retries(v *visit) (page, error) {
	return listOfBatch(v, attemptColumns, "Failed attempts of the jobs of ", field{Name: "outcome", Label: "What became of it", Choices: retries.Outcomes}, field{Name: "code", Label: "Code"})
}

// listOfBatch returns the page of a list of what the jobs of a batch have, which follows the batch.
func listOfBatch[T any](v *visit, c table.Columns[T], title string, fields ...field) (page, error) {
	id := v.PathValue("id")
	p, err := listPage(v, c, title+cell.Short(id), "batches", slices.Concat(fields, []field{{Name: "job", Label: "Job"}}, age)...)
	if l, is := p.Data.(list); is {
		l.Of = &doable{"The batch", toBatch(id)}
		p.Data, p.Follow = l, followed(nil, "batch", id)
	}
	return p, err
}

var failureColumns = table.Columns[app.Retry]{Title: "Failed attempts", None: "No attempt has failed.", List: []table.Column[app.Retry]{
	table.Col("job_id", "Job", func(r app.Retry) any { return cell.To(r.JobID, toJob(r.JobID)) }),
	table.Col("attempt", "Attempt", func(r app.Retry) any { return r.Attempt }),
	table.Col("failed_in", "Failed in", func(r app.Retry) any { return cell.State(r.FailedIn) }),
	table.Col("reason", "Why", func(r app.Retry) any { return cell.Why(r.Class, r.Code, r.Message) }),
	table.Col("file", "File", func(r app.Retry) any {
		if r.RawFileHash == "" {
			return r.FileName
		}
		return cell.To(cmp.Or(r.FileName, r.RawFileHash[:12]), toFile(r.RawFileHash))
	}),
	table.Col("failed_at", "Failed", func(r app.Retry) any { return r.FailedAt }),
	table.Col("outcome", "What became of it", func(r app.Retry) any { return strings.ReplaceAll(r.Outcome, "_", " ") }),
	table.Col("resumed_by", "Resumed by", func(r app.Retry) any { return r.ResumedBy }),
}}

// attemptColumns are those of the list of all failed attempts of the jobs of a batch.
var attemptColumns = table.Columns[app.Retry]{Operation: "batch.retries", Names: []string{"id"}, Title: failureColumns.Title, None: failureColumns.None, List: failureColumns.List}

// happened is an event in the life of a thing.
type happened struct {
	app.Event
	from, to string
	why      *domain.Reason
}

var lifeColumns = table.Columns[happened]{Title: "Life", None: "The log has no event of it.", List: []table.Column[happened]{
	table.Col("stored", "When", func(h happened) any { return h.Stored }),
	table.Col("type", "What", func(h happened) any { return strings.NewReplacer(".", " ", "_", " ").Replace(string(h.Type)) }),
	table.Col("from", "From", func(h happened) any { return cell.State(h.from) }),
	table.Col("to", "To", func(h happened) any { return cell.State(h.to) }),
	table.Col("actor", "By", func(h happened) any { return string(h.Actor) }),
	table.Col("reason", "Why", func(h happened) any {
		if h.why == nil {
			return nil
		}
		return cell.Why(string(h.why.Class), string(h.why.Code), h.why.Message)
	}),
	table.Col("seq", "As it was", func(h happened) any { return cell.CountTo(int64(h.Seq), "?at="+strconv.FormatUint(h.Seq, 10)) }),
}}

// endOfLog ends a stream with the newest event of the log.
const endOfLog = "9007199254740991"

// eventsOf returns the events that are chosen, up to the moment as of which something is shown.
func eventsOf(v *visit, chosen url.Values, at *app.AsOf) (all []happened, err error) {
	chosen.Set("after", "0")
	if chosen.Set("to", endOfLog); at != nil {
		chosen.Set("to", strconv.FormatUint(at.Seq, 10))
	}
	r, err := v.Operation("event.follow", chosen)
	if err != nil {
		return nil, err
	}
	a := &ask.Answer{}
	cut := ask.From(v.API, a, r)
	if a.Status >= http.StatusMultipleChoices {
		return nil, ask.Problem(a)
	}
	if all, err = happenedIn(a.Body.Bytes()); err == nil {
		err = cut
	}
	return all, err
}

// happenedIn returns the events of a stream.
func happenedIn(stream []byte) (all []happened, err error) {
	stream = stream[:bytes.LastIndex(stream, []byte("\n\n"))+1] // the last may be cut off
	lines := bufio.NewScanner(bytes.NewReader(stream))
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var h happened
		if err := json.Unmarshal([]byte(data), &h.Event); err != nil {
			return nil, err
		}
		h.from, h.to, h.why = h.Move()
		all = append(all, h)
	}
	return all, lines.Err()
}

// maxLine bounds a line of a stream of events, in bytes.
const maxLine = 16 << 20

// followed returns which events change a page: those about a thing, or none of one that is shown as
// it was.
func followed(at *app.AsOf, kind, id string) string {
	if at != nil {
		return ""
	}
	return url.Values{kind: {id}}.Encode()
}

// mend says how what a reason names is mended, "" = it is no failure.
func mend(state string, class, code *string) string {
	if state = strings.ToLower(state); class == nil || code == nil || !strings.HasSuffix(state, "failed") && state != "ignore" && state != "abandoned" {
		return ""
	}
	return hint.Mend(domain.Class(*class), domain.Code(*code))
}

// progress returns how many bytes are there, of all whose number is known.
func progress(there, all int64) cell.Bar {
	left := max(all-there, 0)
	return cell.Bar{What: "bytes", Parts: []cell.Part{
		{Name: "downloaded", Text: cell.Bytes(there), N: float64(there)}, {Name: "to_come", Text: cell.Bytes(left), N: float64(left)},
	}}.Drawn()
}

// walkOfBatch returns for how long a batch was in each of its states, by its events.
func walkOfBatch(life []happened, now time.Time) cell.Bar {
	b := cell.Bar{What: "time in each state"}
	for i, h := range life {
		end, left := now, slices.IndexFunc(life[i+1:], func(next happened) bool { return next.to != next.from })
		if left >= 0 {
			end = life[i+1+left].Stored
		}
		rests := h.to == string(domain.BatchCompleted) || h.to == string(domain.BatchFailed) || h.to == string(domain.BatchDeleted)
		if h.to == h.from || h.to == "" || rests && left < 0 {
			continue
		}
		seconds := end.Sub(h.Stored).Seconds()
		b.Parts = append(b.Parts, cell.Part{Name: h.to, Text: cell.Seconds(seconds), N: max(seconds, 0.001)})
	}
	return b.Drawn()
}

// nowOf returns the moment as of which something is shown.
func nowOf(at *app.AsOf) time.Time {
	if at != nil {
		return at.Stored
	}
	return time.Now()
}
