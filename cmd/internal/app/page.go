package app

import (
	"context"

	"github.com/accession-ingest/accession/projections"
)

// BatchPage is a page of a list of batches.
type BatchPage struct {
	Batches []BatchSummary `json:"batches"`
	// Total counts all that the filter chooses, on this page or not.
	Total int64 `json:"total"`
	// Truncated says that more follow behind the last one, and Next from where: the
	// filter's Before, After for jobs and files.
	Truncated bool   `json:"truncated"`
	Next      string `json:"next,omitempty"`
}

// JobPage is a page of a list of jobs.
type JobPage struct {
	Jobs      []JobRow `json:"jobs"`
	Total     int64    `json:"total"`
	Truncated bool     `json:"truncated"`
	Next      string   `json:"next,omitempty"`
}

// FilePage is a page of a list of files. There may be very many: how many a job or a
// batch has stands in its counts, and nobody waits until those that a filter chooses
// are counted.
type FilePage struct {
	Files     []FileRow `json:"files"`
	Truncated bool      `json:"truncated"`
	Next      string    `json:"next,omitempty"`
}

// pageLength is how many rows a page has when nobody says.
const pageLength = 100

// page asks for one row more than limit, and tells whether it was there.
func page[T any](limit int, list func(limit int) ([]T, error)) (rows []T, more bool, err error) {
	if limit < 1 {
		limit = pageLength
	}
	rows, err = list(limit + 1)
	if len(rows) > limit {
		return rows[:limit], true, err
	}
	return notNil(rows), false, err
}

// Batches lists batches, newest first.
func (a *App) Batches(ctx context.Context, f BatchFilter) (p BatchPage, err error) {
	db, err := a.World.DB(ctx)
	if err != nil {
		return p, explain("list batches", err)
	}
	p.Batches, p.Truncated, err = page(f.Limit, func(limit int) ([]BatchSummary, error) {
		f.Limit = limit
		return projections.Batches(ctx, db, f)
	})
	if p.Truncated {
		p.Next = p.Batches[len(p.Batches)-1].BatchID
	}
	if err == nil {
		p.Total, err = projections.TotalBatches(ctx, db, f)
	}
	return p, explain("list batches", err)
}

// Jobs lists jobs in the order of their ids.
func (a *App) Jobs(ctx context.Context, f JobFilter) (p JobPage, err error) {
	db, err := a.World.DB(ctx)
	if err != nil {
		return p, explain("list jobs", err)
	}
	p.Jobs, p.Truncated, err = page(f.Limit, func(limit int) ([]JobRow, error) {
		f.Limit = limit
		return projections.Jobs(ctx, db, f)
	})
	if p.Truncated {
		p.Next = p.Jobs[len(p.Jobs)-1].ID
	}
	if err == nil {
		p.Total, err = projections.TotalJobs(ctx, db, f)
	}
	return p, explain("list jobs", err)
}
