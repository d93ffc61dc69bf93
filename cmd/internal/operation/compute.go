package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// EntrySubmit requests an entry of the compute queue.
type EntrySubmit struct {
	Once
	Body struct {
		Dataset  string   `json:"dataset" minLength:"1" maxLength:"128" example:"tides" doc:"Dataset that the work is about"`
		Group    string   `json:"group,omitempty" maxLength:"128" example:"2026-03" doc:"Group of the dataset; none = all of it"`
		Priority *int     `json:"priority,omitempty" minimum:"0" maximum:"999" doc:"The higher runs first; absent = 100"`
		Key      string   `json:"key,omitempty" maxLength:"256" doc:"Requested twice under one key it is one entry; absent = made of dataset, group and inputs"`
		Inputs   []string `json:"inputs" minItems:"1" maxItems:"100" doc:"URLs of the inputs, in the order in which the worker's command gets them"`
	}
}

func (e *EntrySubmit) prepare(op *Operation, c *Call) error { return e.command(op, c, "") }

// EntryID names an entry of the compute queue.
type EntryID struct {
	ID string `path:"id" maxLength:"40" example:"eid0000000001" doc:"Entry id"`
}

func (e *EntryID) id() (compute.ID, error) {
	id, err := compute.ParseID(e.ID)
	if err != nil {
		err = invalid("%v", err)
	}
	return id, err
}

// EntryList chooses entries of the compute queue.
type EntryList struct {
	Page
	Dataset string `query:"dataset" maxLength:"128" doc:"Only about this dataset"`
	State   string `query:"state" enum:"PENDING,STAGING,SUCCESSFUL,FAILED,PURGED" doc:"Only in this state"`
}

// EntryChange is a command about an entry.
type EntryChange struct {
	EntryID
	Change
}

func computeOperations() []*Operation {
	return []*Operation{
		row(Operation{Name: "compute.submit", Method: http.MethodPost, Path: "/v1/compute/entries", Summary: "Request work on files, in the order of its priority",
			Need: access.Act, On: OnInstallation, Write: true}, func(ctx context.Context, c *Call, in *EntrySubmit) (entries.Work, error) {
			b := in.Body
			return entries.Submit(ctx, c.App, entries.Asked{Dataset: b.Dataset, Group: b.Group, Priority: b.Priority, Key: b.Key, Inputs: b.Inputs})
		}),
		get("compute.ls", "/v1/compute/entries", "List work in the compute queue, newest first", OnInstallation, false, func(ctx context.Context, c *Call, in *EntryList) (app.Page[entries.Work], error) {
			return entries.Ls(ctx, c.App, entries.Filter{Status: entry.State(in.State), Dataset: in.Dataset, Limit: in.Limit}, app.Cursor(in.Cursor))
		}),
		get("compute.show", "/v1/compute/entries/{id}", "Show work in the compute queue, with its result", OnInstallation, false, func(ctx context.Context, c *Call, in *EntryID) (e entries.Work, err error) {
			id, err := in.id()
			if err != nil {
				return e, err
			}
			return entries.Show(ctx, c.App, id)
		}),
		act("compute.retry", "/v1/compute/entries/{id}/retry", "Let failed work wait again, with all its attempts", func(ctx context.Context, c *Call, in *EntryChange) (app.Changed, error) {
			id, err := in.id()
			if err != nil {
				return app.Changed{}, err
			}
			return entries.Retry(ctx, c.App, id, in.Why())
		}),
		leased("claim", "", "Take work, for a worker without a session", leases.Take),
		leased("heartbeat", "/{token}/heartbeat", "Let the lease of work begin again", leases.Renew),
		leased("complete", "/{token}/complete", "Complete work with its result", leases.Complete),
		leased("fail", "/{token}/fail", "End work without a result", leases.Fail),
		stream(Operation{Name: "compute.input", Method: http.MethodGet, Path: "/v1/compute/claims/{token}/input", Summary: "Get the file that work is about", Need: access.Act, On: OnInstallation,
			Awaits: true, Sends: []string{"application/octet-stream"}}, func(ctx context.Context, c *Call, in *leases.Token) (send, error) {
			return leases.Content(ctx, c.App, in)
		}),
	}
}

func leased[I, O any](verb, path, summary string, do func(context.Context, *app.App, *I) (O, error)) *Operation {
	return row(Operation{Name: "compute." + verb, Method: http.MethodPost, Path: "/v1/compute/claims" + path, Summary: summary, Need: access.Act, On: OnInstallation, Write: true, Audits: true},
		func(ctx context.Context, c *Call, in *I) (O, error) { return do(ctx, c.App, in) })
}
