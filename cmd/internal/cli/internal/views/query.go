package views

import (
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/domain"
)

// Query writes a query.
func Query(w io.Writer, q queries.Query) {
	fmt.Fprintf(w, "%s %s, of %s, %s\n", q.ID, q.Status, q.Request.Submitter, lines(q))
	if q.Reason != "" {
		fmt.Fprintln(w, q.Reason+acts[q.WhoActs])
	}
	if m := q.Mail; m != nil {
		mail(w, "report", *m)
		for _, again := range m.Again {
			mail(w, "report again", again)
		}
	}
	if q.Answer != nil {
		fmt.Fprintf(w, "accession query report %s\n", q.ID)
	}
}

func mail(w io.Writer, what string, m queries.Mail) {
	fmt.Fprintf(w, "%s mail %s, %d address(es), %d attempt(s)", what, m.State, m.Recipients, m.Attempts)
	if m.Error != "" {
		fmt.Fprintf(w, ": %s", m.Error)
	}
	fmt.Fprintln(w)
}

// acts says who must act on a failure.
var acts = map[domain.Acting]string{domain.ActsDepositor: "; the depositor must act", domain.ActsOperator: "; the operators must act"}

func lines(q queries.Query) string {
	s := fmt.Sprintf("%d lines", q.Request.Lines)
	if a := q.Answer; a != nil {
		s += fmt.Sprintf(" = %d found + %d not found + %d wrong", a.Found, a.NotFound, a.Wrong)
	}
	return s
}

// Queries writes a list of queries.
func Queries(w io.Writer, list []queries.Query) {
	render.Rows(w, "no queries", render.Row{"query", "status", "submitter", "file", "received", "lines"}, list, func(q queries.Query) render.Row {
		return render.Row{string(q.ID), string(q.Status), q.Request.Submitter, q.Request.FileName, q.Received, lines(q)}
	})
}
