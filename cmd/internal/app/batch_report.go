package app

import (
	"context"
	"errors"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// BatchReportView tells how a batch went: where each of its jobs stands, the
// reports made so far, and every failed attempt. It always adds up: rows_listed is
// the sum of the five counts behind it.
type BatchReportView struct {
	query.BatchSummary
	Reports []query.BatchReport `json:"reports_made"`
	Jobs    []query.JobRow      `json:"jobs"`
	Retries []query.Retry       `json:"retries"`
	// The totals count what there is in the tables; Truncated says that not all jobs
	// or not all failed attempts are listed.
	JobsTotal    int64 `json:"jobs_total"`
	RetriesTotal int64 `json:"retries_total"`
	Truncated    bool  `json:"truncated"`
	// At says as of which event this is, nil = now.
	At *Place `json:"at,omitempty"`
}

// BatchReport gives the report of a batch, at any time. Up to limit jobs and as
// many failed attempts are listed.
func (a *App) BatchReport(ctx context.Context, id domain.BatchID, limit int) (BatchReportView, error) {
	v, err := a.batchReport(ctx, id, limit)
	if errors.Is(err, query.ErrNotFound) {
		return v, &Error{Kind: NotFound, What: "report " + string(id), Err: errors.New("it is not in the tables"),
			Hint: "`accession batch show " + string(id) + "` finds one that was accepted in this instant; `accession status` tells how far the tables are behind"}
	}
	return v, explain("report "+string(id), err)
}

func (a *App) batchReport(ctx context.Context, id domain.BatchID, limit int) (v BatchReportView, err error) {
	world, err := a.Open.DB(ctx)
	if err != nil {
		return v, err
	}
	db, err := query.OpenSnapshot(ctx, world)
	if err != nil {
		return v, err
	}
	defer db.Close(ctx)
	if v.BatchSummary, err = query.Summary(ctx, db, id); err != nil {
		return v, err
	}
	reports, err := query.Reports(ctx, db, id)
	if err != nil {
		return v, err
	}
	jobs, err := query.Jobs(ctx, db, query.JobFilter{Batch: id, Limit: limit})
	if err != nil {
		return v, err
	}
	retries, err := query.Retries(ctx, db, id, limit)
	if err != nil {
		return v, err
	}
	v.Reports, v.Jobs, v.Retries = notNil(reports), notNil(jobs), notNil(retries)
	if v.JobsTotal, err = query.TotalJobs(ctx, db, query.JobFilter{Batch: id}); err != nil {
		return v, err
	}
	if v.RetriesTotal, err = query.TotalRetries(ctx, db, id); err != nil {
		return v, err
	}
	v.Truncated = v.JobsTotal > int64(len(jobs)) || v.RetriesTotal > int64(len(retries))
	return v, db.Unchanged(ctx)
}

// BatchReportAt gives the report as it would have been then.
func (a *App) BatchReportAt(ctx context.Context, id domain.BatchID, m Moment, limit int) (v BatchReportView, err error) {
	past, at, err := a.batchPast(ctx, id, m)
	if err != nil {
		return v, explain("report "+string(id), err)
	}
	if v.BatchSummary, err = past.Summary(id); err != nil {
		return v, notYet(string(id), at, err)
	}
	jobs, retries := past.Jobs(), past.Retries(domain.KindJob)
	v.At, v.Reports, v.JobsTotal, v.RetriesTotal = &at, notNil(past.Reports()), int64(len(jobs)), int64(len(retries))
	v.Jobs, v.Retries = notNil(jobs[:min(len(jobs), limit)]), notNil(retries[:min(len(retries), limit)])
	v.Truncated = len(v.Jobs) < len(jobs) || len(v.Retries) < len(retries)
	return v, nil
}

// WaitProjected returns when the tables have reached the version of the batch.
func (a *App) WaitProjected(ctx context.Context, id domain.BatchID, version int64) error {
	return explain("wait for "+string(id), a.Open.Projected(ctx, id.Aggregate(), version))
}

// CatchUp returns when the log has every event that was committed before, and the
// tables show what was in the log then.
func (a *App) CatchUp(ctx context.Context) error {
	return explain("wait for the tables", a.catchUp(ctx))
}

func (a *App) catchUp(ctx context.Context) error {
	live, err := a.Open.Live(ctx)
	if err != nil {
		return err
	}
	for {
		o, err := live.Overview(ctx)
		if err != nil {
			return err
		}
		if o.Outbox.Unsent == 0 {
			return a.Open.CaughtUp(ctx)
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lookEvery is how often CatchUp looks at the outbox.
const lookEvery = 50 * time.Millisecond
