package app

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/domain/access"
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
	// Sees is what the caller sees, nil = everything. Who does not see everything is reported on a
	// batch or dataset that it sees, or by one of SeenThen as of a moment.
	Sees *access.Filter
}

// SeenThen are the reports that count as of a moment what a caller sees of all there was.
var SeenThen = []string{"collections", "failures", "submitters"}

// limited refuses a report that would count what the caller does not see.
func (o ReportOptions) limited(name string) error {
	if o.Sees == nil || o.Sees.All || o.Batch != "" || o.Dataset != "" || !o.At.IsNow() && slices.Contains(SeenThen, name) {
		return nil
	}
	return &Error{Kind: Forbidden, Err: errors.New("it counts over all collections, of which you see some"), Hint: "choose a batch of yours; as of a moment there are " + strings.Join(SeenThen, ", ")}
}

// Spans are what a report may have a row for each of.
var Spans = report.Spans

// ReportKind is a kind of reports.
type ReportKind struct {
	report.Kind
	make func(*App, context.Context, ReportOptions) (Report, error)
}

// ReportKinds lists the kinds of reports.
func ReportKinds() []ReportKind {
	return []ReportKind{
		{report.Kind{ID: "batch", Name: "batch", About: "How a batch went: where each job stands, every failed attempt, the reports made", Batch: true, ByBatch: true}, (*App).reportBatch},
		{report.Kind{ID: "reconciliation", Name: "reconciliation", About: "A batch or dataset by name: listed, downloaded, stored and recorded, with every difference explained", Batch: true, Dataset: true, ByBatch: true}, (*App).reportReconciliation},
		{report.Kind{ID: "retries", Name: "retries", About: "Every failed attempt of jobs and files, and what became of it", ByBatch: true, ByTime: true}, (*App).reportRetries},
		{report.Kind{ID: "files", Name: "files", About: "The life of each file: every change of its state, how long each took, and why", ByBatch: true, ByTime: true}, (*App).reportFiles},
		{report.Kind{ID: "throughput", Name: "throughput", About: "What was deposited, completed, failed and downloaded on each day", Plot: true, ByTime: true}, (*App).reportThroughput},
		{report.Kind{ID: "states", Name: "states", About: "How long jobs and files stayed in each state: p50, p95, p99", Plot: true, ByBatch: true, ByTime: true}, (*App).reportStates},
		{report.Kind{ID: "failures", Name: "failures", About: "Why attempts failed, how often, and how many of them are still unresolved", ByBatch: true, ByTime: true}, (*App).reportFailures},
		{report.Kind{ID: "collections", Name: "collections", About: "How many jobs of each collection are in each state, their files and bytes"}, (*App).reportCollections},
		{report.Kind{ID: "ingest", Name: "ingest", About: "What was stored in each hour, day, week, month or year, by collection, owner and media type", ByTime: true, BySpan: true}, (*App).reportIngest},
		{report.Kind{ID: "submitters", Name: "submitters", About: "Who deposited how much, and what became of it", ByTime: true}, (*App).reportSubmitters},
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
	if fault, hint := k.Fault(o.Range, o.By, o.At.IsNow()); fault != "" {
		return r, &Error{Kind: Invalid, Err: errors.New(fault), Hint: hint}
	}
	if err = cmp.Or(o.limited(name), a.reported(ctx, o)); err == nil {
		r, err = k.make(a, ctx, o)
	}
	r.Name, r.Title = k.Name, k.About
	for i, t := range r.Tables {
		r.Tables[i].Rows = ExplainedRows(t.Rows)
	}
	return r, missing(err, "`accession batch ls` lists them; `accession status` shows how far the tables are behind", "%s is not in the tables", o.Batch)
}

// reported returns an error if the tables do not have the batch that a report is about.
func (a *App) reported(ctx context.Context, o ReportOptions) error {
	if o.Batch == "" || !o.At.IsNow() {
		return nil
	}
	db, err := a.Open.DB(ctx)
	if err == nil {
		_, err = query.Summary(ctx, db, o.Batch)
	}
	return err
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
