// Package retries lists the failed attempts of the jobs of a batch: there may be more of them than jobs.
package retries

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// Outcomes are what may have become of a failed attempt.
var Outcomes = query.Outcomes

// kind is that of cursors.
const kind domain.Kind = "retry"

// List lists failed attempts of the jobs of a batch, job by job, from a cursor on.
func List(ctx context.Context, a *app.App, f query.RetryFilter, from app.Cursor) (p app.Page[app.Retry], err error) {
	defer app.Explained(&err, "list the failed attempts of "+string(f.Batch))
	db, err := a.Open.DB(ctx)
	if err != nil {
		return p, err
	}
	after, err := app.After(from, kind, func(text string) (string, error) { _, _, err := last(text); return text, err })
	if err != nil {
		return p, err
	}
	if after != "" {
		f.AfterJob, f.AfterNumber, _ = last(after)
	}
	limit := f.Limit
	f.Limit++ // whether there is a further page
	rows, err := query.Retries(ctx, db, f)
	return app.PageOf(limit, rows, kind, text), err
}

// text returns what a cursor says of the last attempt of its page: its job and its number.
func text(r app.Retry) string { return r.JobID + "/" + strconv.FormatInt(r.Number, 10) }

func last(text string) (domain.JobID, int64, error) {
	job, number, _ := strings.Cut(text, "/")
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return "", 0, fmt.Errorf("%q is no number", number)
	}
	id, err := domain.ParseJobID(job)
	return id, n, err
}
