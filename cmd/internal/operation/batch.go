package operation

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/callbacks"
	"github.com/accession-ingest/accession/cmd/internal/app/retries"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// BatchList chooses batches.
type BatchList struct {
	Page
	Filter
	State string `query:"state" maxLength:"40" doc:"Only in this state"`
	Order
}

// BatchShow shows one batch.
type BatchShow struct {
	BatchID
	At
	Limit int `query:"limit" default:"50" minimum:"1" maximum:"1000" doc:"How many of its jobs at most"`
}

// BatchCallbacks chooses callbacks about the jobs of a batch.
type BatchCallbacks struct {
	BatchID
	Page
	Age
	Job   string `query:"job" maxLength:"40" doc:"Only those about this job"`
	State string `query:"state" maxLength:"20" enum:"pending,delivered,failed" doc:"Only in this state"`
}

// BatchRetries chooses failed attempts of the jobs of a batch.
type BatchRetries struct {
	BatchID
	Page
	Age
	Job     string `query:"job" maxLength:"40" doc:"Only those of this job"`
	Code    string `query:"code" maxLength:"100" doc:"Only those with a reason of this code"`
	Outcome string `query:"outcome" maxLength:"20" enum:"open,succeeded,failed_again,deleted,abandoned" doc:"Only those of which this became"`
}

// BatchChange is a command about one batch.
type BatchChange struct {
	BatchID
	Match
}

func (in *BatchChange) batch() domain.BatchID { return domain.BatchID(in.ID) }

func batches() []*Operation {
	all := []*Operation{
		get("batch.ls", "/v1/batches", "List batches, newest first", OnSeen, false, func(ctx context.Context, c *Call, in *BatchList) (app.Page[app.BatchSummary], error) {
			state, err := among(in.State, domain.BatchStates)
			if err != nil {
				return app.Page[app.BatchSummary]{}, err
			}
			p, err := c.App.Batches(ctx, app.BatchFilter{Filter: in.of(c), State: state, Limit: in.Limit}, app.Cursor(in.Cursor), in.Sort)
			return orUnknown(ctx, c, in.named(""), p, err)
		}),
		get("batch.show", "/v1/batches/{id}", "Show a batch and its jobs", OnThing, true, func(ctx context.Context, c *Call, in *BatchShow) (v app.BatchView, err error) {
			then, err := in.moment()
			switch {
			case err != nil:
				return v, err
			case then.IsNow():
				v, err = c.App.Batch(ctx, domain.BatchID(in.ID), in.Limit)
			default:
				v, err = c.App.BatchAt(ctx, domain.BatchID(in.ID), then, in.Limit)
			}
			unplaced(v.Jobs)
			return v, err
		}),
		get("batch.report", "/v1/batches/{id}/report", "Report on a batch: every job, every failed attempt", OnThing, true, func(ctx context.Context, c *Call, in *BatchShow) (v app.BatchReportView, err error) {
			then, err := in.moment()
			switch {
			case err != nil:
				return v, err
			case then.IsNow():
				v, err = c.App.BatchReport(ctx, domain.BatchID(in.ID), in.Limit)
			default:
				v, err = c.App.BatchReportAt(ctx, domain.BatchID(in.ID), then, in.Limit)
			}
			unplaced(v.Jobs)
			return v, err
		}),
		get("batch.retries", "/v1/batches/{id}/retries", "List the failed attempts of the jobs of a batch, job by job", OnThing, false,
			func(ctx context.Context, c *Call, in *BatchRetries) (app.Page[app.Retry], error) {
				job, err := c.job(ctx, in.Job)
				if err != nil {
					return app.Page[app.Retry]{}, err
				}
				p, err := retries.List(ctx, c.App, query.RetryFilter{Batch: domain.BatchID(in.ID), Job: job, Code: domain.Code(in.Code), Outcome: in.Outcome,
					Since: in.Since, Until: in.OlderThan, Limit: in.Limit}, app.Cursor(in.Cursor))
				return orUnknown(ctx, c, sight.Named{Batch: in.ID}, p, err)
			}),
		get("batch.callbacks", "/v1/batches/{id}/callbacks", "List the callbacks about the jobs of a batch, newest first", OnThing, false,
			func(ctx context.Context, c *Call, in *BatchCallbacks) (app.Page[app.Callback], error) {
				job, err := c.job(ctx, in.Job)
				if err != nil {
					return app.Page[app.Callback]{}, err
				}
				p, err := callbacks.List(ctx, c.App, callbacks.Filter{Batch: domain.BatchID(in.ID), Job: job, State: in.State, Since: in.Since, Until: in.OlderThan}, in.Limit, app.Cursor(in.Cursor))
				return orUnknown(ctx, c, sight.Named{Batch: in.ID}, p, err)
			}),
	}
	for _, v := range []verb[domain.BatchID]{
		{"release", "Release a held batch", method((*app.App).ReleaseBatch)},
		{"update-report", "Request a second report of a batch", method((*app.App).RequestUpdate)},
		{"send-report", "Send the last report of a batch to the depositor once more", method((*app.App).SendReport)},
		{"delete", "Delete a batch", method((*app.App).DeleteBatch)},
		{"cleanup", "Remove a completed batch from the live state", method((*app.App).CleanBatch)},
	} {
		all = append(all, change("batch", "/v1/batches", v, func(in *BatchChange) (domain.BatchID, string) { return in.batch(), in.Why() }))
	}
	return all
}
