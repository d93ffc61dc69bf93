package export

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/notify"
)

// mailRows is the most rows of a table that a mail has.
const mailRows = 500

// writeMail writes a complete mail: the report as text, and as a page for readers that
// show HTML. The rows of both are read once.
func writeMail(w io.Writer, r app.Report, o ReportOptions) error {
	r, err := shortened(r, o)
	if err != nil {
		return err
	}
	silent := ReportOptions{Made: o.Made, Zone: o.Zone, Row: func() {}}
	var text, page bytes.Buffer
	if err := cmp.Or(writeText(&text, r, silent), writeHTML(&page, r, silent)); err != nil {
		return err
	}
	subject, key := "Report "+r.Name, "report/"+r.Name
	for _, f := range r.Facts {
		if f.Name == "batch_id" {
			subject, key = subject+" of "+o.people(f.Value), key+"/"+o.people(f.Value)
		}
	}
	mail, err := notify.Message{Key: key + "/" + o.Made.UTC().Format(time.RFC3339Nano), From: o.From, To: o.To, Subject: subject,
		Text: text.String(), HTML: page.String(), Date: o.Made}.Bytes()
	if err != nil {
		return err
	}
	_, err = w.Write(mail)
	return err
}

// shortened reads a report, up to mailRows rows of each table. A fact reports what was
// left out.
func shortened(r app.Report, o ReportOptions) (app.Report, error) {
	tables, facts := make([]app.Table, len(r.Tables)), r.Facts[:len(r.Facts):len(r.Facts)]
	for i, t := range r.Tables {
		var rows [][]any
		for row, err := range t.Rows {
			if err != nil {
				return r, err
			}
			if len(rows) == mailRows {
				facts = append(facts, app.Fact{Name: "cut", Label: "cut", Value: fmt.Sprintf("%s: only the first %d rows are in this mail", t.Title, mailRows)})
				break
			}
			rows = append(rows, row)
			o.Row()
		}
		t.Rows = again(rows)
		tables[i] = t
	}
	r.Facts, r.Tables = facts, tables
	return r, nil
}

// again returns rows that can be read several times.
func again(rows [][]any) iter.Seq2[[]any, error] {
	return func(yield func([]any, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}
