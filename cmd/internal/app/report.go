package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Report is a list of facts, and tables whose rows are read while they are written.
type Report struct {
	Name   string
	Title  string
	Facts  []Fact
	Tables []Table
	At     *AsOf // as of which event, nil = now

	end func()
}

// Close releases the source of the tables. Every report must be closed; a report on one
// batch reads from one snapshot, which is held until then.
func (r Report) Close() {
	if r.end != nil {
		r.end()
	}
}

// Fact is a name and its value.
type Fact struct {
	Name  string // for programs
	Label string // for people
	Value any
}

// Table is rows of equal shape.
type Table struct {
	Name    string // for programs
	Title   string
	None    string // the text to show if there are no rows
	Columns []Column
	// Rows yields a value for each column: text, int64, float64, bool, time.Time, or
	// nil for nothing. It ends after the first error.
	Rows iter.Seq2[[]any, error]
	// Total is an estimate of the number of rows, 0 = not known without reading them.
	Total int64
}

// Column is a column of a table.
type Column struct {
	Name  string // for programs
	Label string // for people
}

// columns makes columns of names; people see them with spaces.
func columns(names ...string) []Column {
	list := make([]Column, len(names))
	for i, n := range names {
		list[i] = Column{n, strings.ReplaceAll(n, "_", " ")}
	}
	return list
}

// ReportOptions select what is reported; empty fields select all.
type ReportOptions struct {
	query.Range
	At Moment
}

// ReportKind describes one kind of report.
type ReportKind struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Batch says that it is about one batch, which must be named.
	Batch bool `json:"needs_batch"`
	// Plot says that it can be drawn.
	Plot bool `json:"plot"`

	byBatch bool // that it can be narrowed to a batch
	byTime  bool // or to a time
	make    func(*App, context.Context, ReportOptions) (Report, error)
}

// ReportKinds lists the kinds of reports.
func ReportKinds() []ReportKind {
	return []ReportKind{
		{Name: "batch", About: "How a batch went: where each job stands, every failed attempt, the reports made", Batch: true, byBatch: true, make: (*App).reportBatch},
		{Name: "reconciliation", About: "A batch by name: listed, downloaded, stored and recorded, with every difference explained", Batch: true, byBatch: true, make: (*App).reportReconciliation},
		{Name: "retries", About: "Every failed attempt of jobs and files, and what became of it", byBatch: true, byTime: true, make: (*App).reportRetries},
		{Name: "files", About: "The life of each file: every change of its state, how long each took, and why", byBatch: true, byTime: true, make: (*App).reportFiles},
		{Name: "throughput", About: "What was deposited, completed, failed and downloaded on each day", Plot: true, byTime: true, make: (*App).reportThroughput},
		{Name: "states", About: "How long jobs and files stayed in each state: p50, p95, p99", Plot: true, byBatch: true, byTime: true, make: (*App).reportStates},
		{Name: "failures", About: "Why attempts failed, how often, and how many of them are still unresolved", byBatch: true, byTime: true, make: (*App).reportFailures},
		{Name: "submitters", About: "Who deposited how much, and what became of it", byTime: true, make: (*App).reportSubmitters},
	}
}

// Report begins a report; its tables are read while they are written, and the caller
// closes it.
func (a *App) Report(ctx context.Context, name string, o ReportOptions) (r Report, err error) {
	defer explained(&err, "report "+name)
	kinds := ReportKinds()
	i := slices.IndexFunc(kinds, func(k ReportKind) bool { return k.Name == name })
	if i < 0 {
		return r, errorf(NotFound, "`accession report ls` lists them", "there is no such report")
	}
	k := kinds[i]
	if fault, hint := k.fault(o); fault != "" {
		return r, &Error{Kind: Invalid, Err: errors.New(fault), Hint: hint}
	}
	r, err = k.make(a, ctx, o)
	r.Name, r.Title = k.Name, k.About
	return r, missing(err, "`accession batch ls` lists them; `accession status` shows how far the tables are behind", "%s is not in the tables", o.Batch)
}

// fault returns which option does not apply to the report.
func (k ReportKind) fault(o ReportOptions) (fault, hint string) {
	switch timed := !o.Since.IsZero() || !o.Until.IsZero(); {
	case k.Batch && o.Batch == "":
		return "it is about one batch", "name it with --batch"
	case !k.byBatch && o.Batch != "":
		return "it cannot be narrowed to a batch", "leave out --batch"
	case !k.byTime && timed:
		return "it is about a batch at one moment", "give --at in place of --since and --until"
	case timed && !o.At.IsNow():
		return "a moment and an interval exclude each other", "give --at, or --since and --until"
	case timed && !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until):
		return "between --since and --until there is nothing", "give an earlier --since"
	}
	return "", ""
}

// ranged returns the time and batch of a report as facts.
func ranged(o ReportOptions) (facts []Fact) {
	if o.Batch != "" {
		facts = append(facts, Fact{"batch_id", "batch", string(o.Batch)})
	}
	if !o.Since.IsZero() {
		facts = append(facts, Fact{"since", "since", o.Since.UTC()})
	}
	if !o.Until.IsZero() {
		facts = append(facts, Fact{"until", "until", o.Until.UTC()})
	}
	return facts
}

// rowsOf converts items to rows of a table.
func rowsOf[T any](items iter.Seq2[T, error], row func(T) []any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for item, err := range items {
			if err != nil {
				yield(nil, explain("read the report's rows", err))
				return
			}
			if !yield(row(item), nil) {
				return
			}
		}
	}
}

// cell returns a value that may be missing.
func cell[T any](v *T) any {
	if v == nil {
		return nil
	}
	return *v
}

// when is cell for a time that may be zero.
func when(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// adding returns the counts of a batch, which add up.
func adding(b BatchSummary) []Fact {
	facts := []Fact{{"batch_id", "batch", b.BatchID}, {"status", "status", b.Status}, {"erc_what", "title", b.ErcWhat},
		{"submitter", "submitter", b.Submitter}, {"profile_name", "profile", b.ProfileName}, {"file_name", "file", b.FileName},
		{"submitted_at", "submitted", cell(b.SubmittedAt)}, {"reported_at", "reported", cell(b.ReportedAt)}}
	if b.ReasonCode != nil {
		facts = append(facts, Fact{"reason", "reason", *b.ReasonCode + ": " + *b.ReasonMessage})
	}
	jobs := "not listed yet"
	if b.RowsListed != nil {
		jobs = fmt.Sprintf("%d listed = %d completed + %d failed + %d held + %d deleted + %d in progress",
			*b.RowsListed, b.JobsCompleted, b.JobsFailed, b.JobsHeld, b.JobsDeleted, b.JobsInProgress)
	}
	files := "none known yet"
	if b.FilesListed > 0 {
		files = fmt.Sprintf("%d listed = %d processed + %d skipped + %d given up + %d deleted + %d in progress",
			b.FilesListed, b.FilesProcessed, b.FilesSkipped, b.FilesGivenUp, b.FilesDeleted, b.FilesInProgress)
	}
	return append(facts, Fact{"jobs", "jobs", jobs}, Fact{"files", "files", files})
}

// jobName returns the name of a job for people.
func jobName(j JobRow) string {
	if j.FileName != "" {
		return j.FileName
	}
	if j.ErcWhat != "" {
		return j.ErcWhat
	}
	return fmt.Sprintf("row %d", j.ManifestRow+1)
}

// given reports whether a job has completed the step recording.
func given(j JobRow) bool {
	return j.Status == string(domain.JobNotify) || j.Status == string(domain.JobCompleted) || j.Status == string(domain.JobFailed) &&
		j.LastSuccessfulStatus != nil && *j.LastSuccessfulStatus == string(domain.JobRecording)
}
