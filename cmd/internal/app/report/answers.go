package report

import (
	"iter"

	"github.com/accession-ingest/accession/domain/lookup"
)

// Answers reports what is known of the lines of a list.
func Answers(list lookup.Counts, answers iter.Seq2[lookup.Answer, error]) Report {
	return Report{
		Facts: []Fact{{"lines", "lines", int64(list.Lines)}, {"wrong", "wrong lines", int64(list.Wrong)}},
		Tables: []Table{{Name: "answers", Title: "Answers", None: "The list asks for nothing.", Total: int64(list.Lines),
			Columns: columns("line", "text", "kind", "outcome", "about", "status", "batch_id", "job_id", "primary_identifier", "version",
				"title", "file_name", "submitter", "size", "where", "at", "message"),
			Rows: rowsOf(answers, func(a lookup.Answer) []any {
				return []any{int64(a.Line), a.Text, string(a.Kind), string(a.Outcome), a.About, a.Status, a.Batch, a.Job, a.Primary, known(a.Version),
					a.Title, a.File, a.Submitter, known(a.Size), a.Where, when(a.At.Time), a.Message}
			})}},
	}
}

// known is a number of which 0 says that it is not known.
func known(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
