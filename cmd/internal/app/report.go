package app

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/projections/query"
)

type (
	// Report is a list of facts, and tables whose rows are read while they are written.
	Report = report.Report
	// Fact is a name and its value.
	Fact = report.Fact
	// Table is rows of equal shape.
	Table = report.Table
	// Column is a column of a table.
	Column = report.Column
)

// ReportOptions select what is reported; empty fields select all.
type ReportOptions struct {
	query.Range
	At Moment
	By string // one of Spans, for reports that have a row for each; "" = day
}

// Spans are what a report may have a row for each of.
var Spans = []string{"hour", "day", "week", "month", "year"}

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
	bySpan  bool // that it has rows for spans of time, and only of now
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
		{Name: "collections", About: "How many jobs of each collection are in each state, their files and bytes", make: (*App).reportCollections},
		{Name: "ingest", About: "What was stored in each hour, day, week, month or year, by collection, owner and media type", byTime: true, bySpan: true, make: (*App).reportIngest},
		{Name: "submitters", About: "Who deposited how much, and what became of it", byTime: true, make: (*App).reportSubmitters},
	}
}

// Report begins a report; its tables are read while they are written, and the caller
// closes it.
func (a *App) Report(ctx context.Context, name string, o ReportOptions) (r Report, err error) {
	defer Explained(&err, "report "+name)
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
	for i, t := range r.Tables {
		r.Tables[i].Rows = ExplainedRows(t.Rows)
	}
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
		return "it is about one moment", "give --at in place of --since and --until"
	case o.By != "" && !k.bySpan:
		return "it has no rows for spans of time", "leave out --by"
	case o.By != "" && !slices.Contains(Spans, o.By):
		return "--by is none of " + strings.Join(Spans, ", "), "leave out --by for days"
	case k.bySpan && !o.At.IsNow():
		return "it is read from the inventory, which is that of now", "leave out --at"
	case timed && !o.At.IsNow():
		return "a moment and an interval exclude each other", "give --at, or --since and --until"
	case timed && !o.Since.IsZero() && !o.Until.IsZero() && !o.Since.Before(o.Until):
		return "between --since and --until there is nothing", "give an earlier --since"
	}
	return "", ""
}

// ExplainedRows explains the error that ends the rows of a table.
func ExplainedRows(rows iter.Seq2[[]any, error]) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if !yield(row, explain("read the report's rows", err)) {
				return
			}
		}
	}
}
