package queues

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
)

// Free ends that a batch counts as running in its deposit queue; it goes on outside it.
func Free(ctx context.Context, a *app.App, id domain.BatchID, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "free the place of "+string(id))
	if err := reasoned(why); err != nil {
		return c, err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	cmd := domain.FreeBatch{Reason: domain.Reason{Class: domain.ClassWait, Code: domain.CodeFreed, Message: strings.TrimSpace(why)}}
	res, err := handler.Batch(ctx, id, cmd, a.Meta())
	var refused *domain.Refused
	if errors.As(err, &refused) && refused.State == string(domain.BatchNone) {
		return c, &app.Error{Kind: app.NotFound, What: string(id), Err: errors.New("there is no such batch"), Hint: "`accession batch ls` lists them, also those that were deleted"}
	}
	if err != nil {
		return c, err
	}
	was := res.Before.Ticket
	return app.Changed{Target: target.Of(id.Aggregate()), Version: res.State.Version, From: string(res.Before.State), State: string(res.State.State), DryRun: a.DryRun,
		Effects: []string{fmt.Sprintf("it does not count among the running batches of %s in %s any more, so that another one may be grabbed; its own work goes on", was.User, was.Queue)}}, nil
}
