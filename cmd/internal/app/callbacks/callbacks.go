// Package callbacks lists the callbacks about the jobs of a batch, which may be as many as these.
package callbacks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// Filter chooses callbacks of a batch.
type Filter struct {
	Batch        domain.BatchID
	Job          domain.JobID // "" = about any of its jobs
	State        string       // one of [States], "" = in any
	Since, Until time.Time    // when they were first to be made, zero = at any time
}

// States are the states of callbacks.
var States = []string{string(record.DeliveryPending), string(record.DeliveryDelivered), string(record.DeliveryFailed)}

// kind is that of cursors.
const kind domain.Kind = "callback"

// List lists callbacks about the jobs of a batch, newest first, from a cursor on.
func List(ctx context.Context, a *app.App, f Filter, limit int, from app.Cursor) (p app.Page[app.Callback], err error) {
	defer app.Explained(&err, "list the callbacks about "+string(f.Batch))
	records, err := a.Open.Records(ctx)
	if err != nil {
		return p, err
	}
	after, err := app.After(from, kind, func(key string) (string, error) { return key, nil })
	if err == nil && after != "" {
		err = known(ctx, records, f.Batch, after)
	}
	if err != nil {
		return p, err
	}
	made, err := records.Callbacks(ctx, record.CallbackFilter{Batch: f.Batch, Job: f.Job, State: record.DeliveryState(f.State), Since: f.Since, Until: f.Until}, after, limit+1)
	all := make([]app.Callback, len(made))
	for i, d := range made {
		all[i] = app.CallbackOf(d)
	}
	return app.PageOf(limit, all, kind, func(c app.Callback) string { return c.Delivery }), err
}

// known refuses a page behind a callback that is none of the batch.
func known(ctx context.Context, records *record.Records, batch domain.BatchID, key string) error {
	d, err := records.Delivery(ctx, key)
	var fault *record.Error
	if errors.As(err, &fault) && fault.Code == record.CodeNotFound || err == nil && d.Batch != batch {
		return &app.Error{Kind: app.Invalid, Err: fmt.Errorf("the cursor is none of the callbacks about %s", batch), Hint: "begin with the first page again"}
	}
	return err
}
