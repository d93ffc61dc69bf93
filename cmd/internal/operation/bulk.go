package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain/access"
)

// BulkBegin begins a bulk action.
type BulkBegin struct {
	Once
	DryRun bool `query:"dry_run" doc:"Answer with what would change, and change nothing"`
	Body   bulk.Request
}

func (b *BulkBegin) prepare(op *Operation, c *Call) error {
	c.App.DryRun = b.DryRun
	return b.command(op, c, "")
}

// BulkID names a bulk action.
type BulkID struct {
	ID string `path:"id" maxLength:"40" example:"0198c5f3-7b1e-7c50-a6ff-6f3f5b1f7c21" doc:"Id of the bulk action"`
}

// BulkCancel cancels a bulk action.
type BulkCancel struct {
	BulkID
	Change
}

// BulkList chooses bulk actions.
type BulkList struct {
	Page
	Age
	State string `query:"state" maxLength:"20" enum:"waiting,running,done,cancelled" doc:"Only in this state"`
}

// BulkItems chooses what a bulk action has taken.
type BulkItems struct {
	BulkID
	Page
	Outcome string `query:"outcome" maxLength:"20" enum:"begun,done,refused" doc:"Only those with this outcome"`
}

func bulkActions() []*Operation {
	return []*Operation{
		acting(get("bulk.ls", "/v1/bulk-actions", "List bulk actions: the own, or all with the right in all collections", OnSome, false,
			func(ctx context.Context, c *Call, in *BulkList) (app.Page[bulk.Action], error) {
				return bulk.List(ctx, c.App, c.everyones(), bulk.ListFilter{State: in.State, Since: in.Since, Until: in.OlderThan}, in.Limit, app.Cursor(in.Cursor))
			})),
		acting(get("bulk.show", "/v1/bulk-actions/{id}", "Show a bulk action and how far it is", OnSome, false,
			func(ctx context.Context, c *Call, in *BulkID) (bulk.Action, error) {
				return bulk.Show(ctx, c.App, in.ID, c.everyones())
			})),
		acting(get("bulk.items", "/v1/bulk-actions/{id}/items", "List what a bulk action has taken, and what was refused and why", OnSome, false,
			func(ctx context.Context, c *Call, in *BulkItems) (app.Page[bulk.Item], error) {
				return bulk.Items(ctx, c.App, in.ID, c.everyones(), in.Outcome, in.Limit, app.Cursor(in.Cursor))
			})),
		row(Operation{Name: "bulk.begin", Method: http.MethodPost, Path: "/v1/bulk-actions", Summary: "Give a command to all that a filter selects",
			Need: access.Act, On: OnSome, Write: true}, func(ctx context.Context, c *Call, in *BulkBegin) (bulk.Action, error) {
			if err := in.Body.Permit(c.requester()); err != nil {
				return bulk.Action{}, err
			}
			f := in.Body.Filter
			if err := c.sight().Known(ctx, sight.Named{Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Batch: f.Batch, Job: f.Job, Dataset: f.Dataset}); err != nil {
				return bulk.Action{}, err
			}
			return bulk.Begin(ctx, c.App, in.Body, c.requester())
		}),
		row(Operation{Name: "bulk.cancel", Method: http.MethodPost, Path: "/v1/bulk-actions/{id}/cancel", Summary: "End a bulk action early: what it has changed stays changed",
			Need: access.Act, On: OnSome, Write: true}, func(ctx context.Context, c *Call, in *BulkCancel) (bulk.Action, error) {
			return bulk.Cancel(ctx, c.App, in.ID, c.everyones())
		}),
	}
}

// acting returns an operation that is for those who act.
func acting(op *Operation) *Operation {
	op.Need = access.Act
	return op
}

// requester returns the caller as who requests a bulk action.
func (c *Call) requester() bulk.Requester {
	if c.machine {
		return bulk.Requester{}
	}
	acts := c.Caller.FilterFor(access.Act)
	return bulk.Requester{User: c.Caller.Name, Acts: &acts}
}

// everyones reports whether the caller sees what others have begun.
func (c *Call) everyones() bool { return c.Caller.FilterFor(access.Act).All }
