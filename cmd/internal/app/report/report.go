// Package report makes reports of what was read: facts, and tables whose rows are read
// while they are written. Where they are read from, the tables or the fold of a part of
// the history, package app decides.
package report

import (
	"fmt"
	"iter"
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
	// Format is that in which it is written unless another is asked for, "" = none is given.
	Format string

	end func()
}

// Close releases the source of the tables. Every report must be closed; a report on one
// batch reads from one snapshot, which stays open until then.
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
	// Sum says that it sums up the others, before them: it is not the one that a format has which
	// has room for one.
	Sum bool
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

// AsOf is the event as of which something is shown: it and all before it count, none
// after it.
type AsOf struct {
	Seq    uint64    `json:"seq"`
	Stored time.Time `json:"stored"` // when the log took it
}

// ranged returns the time and batch of a report as facts.
func ranged(o query.Range) (facts []Fact) {
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
				yield(nil, err)
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

// batchFacts returns the summary of a batch; its counts add up.
func batchFacts(b query.BatchSummary) []Fact {
	facts := []Fact{{"batch_id", "batch", b.BatchID}, {"status", "status", b.Status}, {"erc_what", "title", b.ErcWhat},
		{"submitter", "submitter", b.Submitter}, {"profile_name", "profile", b.ProfileName}, {"file_name", "file", b.FileName},
		{"submitted_at", "submitted", cell(b.SubmittedAt)}, {"reported_at", "reported", cell(b.ReportedAt)}}
	if b.ReasonCode != nil {
		facts = append(facts, Fact{"reason", "reason", *b.ReasonCode + ": " + value(b.ReasonMessage)})
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
func jobName(j query.JobRow) string {
	if j.FileName != "" {
		return j.FileName
	}
	if j.ErcWhat != "" {
		return j.ErcWhat
	}
	return fmt.Sprintf("row %d", j.ManifestRow+1)
}

// isRecorded reports whether a job has completed the step recording.
func isRecorded(j query.JobRow) bool {
	return j.Status == string(domain.JobNotify) || j.Status == string(domain.JobCompleted) || j.Status == string(domain.JobFailed) &&
		j.LastSuccessfulStatus != nil && *j.LastSuccessfulStatus == string(domain.JobRecording)
}
