package watch

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/synchronous"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
)

// tablesPause is how often it is looked whether the tables have the end of a batch.
const tablesPause = 200 * time.Millisecond

// Await completes the answer to a synchronous deposit at a service over HTTP.
func Await(ctx context.Context, s *remote.Server, accepted app.Submitted, wait time.Duration) (is synchronous.Answer, err error) {
	is.Submitted = accepted
	is.Await(ctx, wait, func(ctx context.Context, seen func(app.Event, app.Progress)) (app.Progress, error) {
		return There(ctx, s, is.Batch, seen)
	}, func(ctx context.Context) (app.BatchReportView, error) {
		for {
			v, err := remote.Ask[app.BatchReportView](ctx, s, "batch.report", &operation.BatchShow{BatchID: operation.BatchID{ID: string(is.Batch)}, Limit: synchronous.MaxListed})
			if err == nil && v.Status == string(is.State) {
				return v, nil
			}
			select {
			case <-time.After(tablesPause):
			case <-ctx.Done():
				return v, ctx.Err()
			}
		}
	})
	return is, ctx.Err()
}
