package operation

import (
	"cmp"
	"context"
	"io"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// EntrySubmit requests an entry of the compute queue.
type EntrySubmit struct {
	Setting
	Body struct {
		Dataset  string   `json:"dataset" minLength:"1" maxLength:"128" example:"tides" doc:"Dataset that the work is about"`
		Group    string   `json:"group,omitempty" maxLength:"128" example:"2026-03" doc:"Group of the dataset; none = all of it"`
		Priority *int     `json:"priority,omitempty" minimum:"0" maximum:"999" doc:"The higher runs first; absent = 100"`
		Key      string   `json:"key,omitempty" maxLength:"256" doc:"Requested twice under one key it is one entry; absent = made of dataset, group and inputs"`
		Inputs   []string `json:"inputs" minItems:"1" maxItems:"100" doc:"URLs of the inputs, in the order in which the worker's command gets them"`
	}
}

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
	Dataset   string `query:"dataset" maxLength:"128" doc:"Only about this dataset"`
	State     string `query:"state" enum:"PENDING,STAGING,SUCCESSFUL,FAILED,PURGED" doc:"Only in this state"`
	Submitter string `query:"submitter" maxLength:"256" doc:"Only requested by this user"`
	Code      string `query:"code" maxLength:"100" doc:"Only those that failed or wait again for a reason with this code"`
	Host      string `query:"host" maxLength:"300" doc:"Only those with an input of this server, host and port"`
	InCollection
	Age
}

// EntryChange is a command about an entry.
type EntryChange struct {
	EntryID
	Match
}

// EntryOutput names an output of an entry.
type EntryOutput struct {
	EntryID
	Name string `path:"name" maxLength:"128" example:"spectrum.nc" doc:"Name of the output"`
	// It is read where the output is sent.
	Range string `header:"Range" maxLength:"200" example:"bytes=0-499" doc:"The part of the output to send; one range"`
}

// EntryPut is an output of work, which is the body of the request.
type EntryPut struct {
	leases.Output
	Arriving
}

// TaskPut is an output of a task.
type TaskPut struct {
	leases.State
	EntryPut
}

func computeOperations() []*Operation {
	return []*Operation{
		row(Operation{Name: "compute.submit", Method: http.MethodPost, Path: "/v1/compute/entries", Summary: "Request work on files, in the order of its priority",
			Need: access.Act, On: OnInstallation, Write: true}, func(ctx context.Context, c *Call, in *EntrySubmit) (entries.Work, error) {
			b := in.Body
			return entries.Submit(ctx, c.App, entries.Asked{Dataset: b.Dataset, Group: b.Group, Priority: b.Priority, Key: b.Key, Inputs: b.Inputs})
		}),
		get("compute.ls", "/v1/compute/entries", "List work in the compute queue, newest first", OnInstallation, false, func(ctx context.Context, c *Call, in *EntryList) (app.Page[entries.Work], error) {
			of, err := c.datasetsOf(ctx, in.InCollection)
			if err != nil {
				return app.Page[entries.Work]{}, err
			}
			p, err := entries.Ls(ctx, c.App, entries.Filter{Status: entry.State(in.State), Dataset: in.Dataset, Datasets: of, Submitter: in.Submitter, Code: in.Code, Host: in.Host,
				Since: in.Since, Until: in.OlderThan, Limit: in.Limit}, app.Cursor(in.Cursor))
			n := in.named(in.Dataset)
			n.Submitter = in.Submitter
			return orUnknown(ctx, c, n, p, err)
		}),
		get("compute.show", "/v1/compute/entries/{id}", "Show work in the compute queue, with its result", OnInstallation, false, func(ctx context.Context, c *Call, in *EntryID) (e entries.Work, err error) {
			id, err := in.id()
			if err != nil {
				return e, err
			}
			return entries.Show(ctx, c.App, id)
		}),
		get("compute.workers", "/v1/compute/workers", "List who has work of the compute queue, and what workers ended in the last 24 hours", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (entries.Workers, error) {
			return entries.AllWorkers(ctx, c.App)
		}),
		act("compute.retry", "/v1/compute/entries/{id}/retry", "Let failed work wait again, with all its attempts", func(ctx context.Context, c *Call, in *EntryChange) (app.Changed, error) {
			id, err := in.id()
			if err != nil {
				return app.Changed{}, err
			}
			return entries.Retry(ctx, c.App, id, in.Why())
		}),
		leased(Operation{Name: "compute.claim", Path: "/v1/compute/claims", Summary: "Take work, for a worker without a session"}, leases.Take),
		leased(Operation{Name: "compute.heartbeat", Path: "/v1/compute/claims/{token}/heartbeat", Summary: "Let the lease of work begin again", Often: true}, leases.Renew),
		leased(Operation{Name: "compute.complete", Path: "/v1/compute/claims/{token}/complete", Summary: "Complete work with its result"}, leases.Complete),
		leased(Operation{Name: "compute.fail", Path: "/v1/compute/claims/{token}/fail", Summary: "End work without a result"}, leases.Fail),
		stream(Operation{Name: "compute.output", Method: http.MethodGet, Path: "/v1/compute/entries/{id}/outputs/{name}", Summary: "Get a file that a worker has left beside its result", Need: access.See, On: OnInstallation,
			Sends: []string{"application/octet-stream"}}, func(ctx context.Context, c *Call, in *EntryOutput) (send, error) {
			id, err := in.id()
			if err != nil {
				return nil, err
			}
			f, out, err := entries.Output(ctx, c.App, id, in.Name)
			return sending.Output(f, out), err
		}),
		leased(Operation{Name: "compute.put", Method: http.MethodPut, Path: "/v1/compute/claims/{token}/outputs/{name}", Summary: "Keep a file that becomes part of the result of work", File: true}, func(ctx context.Context, a *app.App, in *EntryPut) (entry.Output, error) {
			return put(ctx, a, in, leases.Put)
		}),
		leased(Operation{Name: "task.claim", Path: "/v1/tasks/{state}/claims", Summary: "Take the work of a state of jobs, which their profile leaves to workers outside"}, leases.TakeTask),
		leased(Operation{Name: "task.heartbeat", Path: "/v1/tasks/{state}/claims/{token}/heartbeat", Summary: "Let the lease of a task begin again", Often: true}, leases.RenewTask),
		leased(Operation{Name: "task.put", Method: http.MethodPut, Path: "/v1/tasks/{state}/claims/{token}/outputs/{name}", Summary: "Keep a file that becomes part of the result of a task", File: true}, func(ctx context.Context, a *app.App, in *TaskPut) (entry.Output, error) {
			return put(ctx, a, &in.EntryPut, func(ctx context.Context, a *app.App, out *leases.Output, content io.Reader) (entry.Output, error) {
				return leases.PutTask(ctx, a, in.State, out, content)
			})
		}),
		leased(Operation{Name: "task.complete", Path: "/v1/tasks/{state}/claims/{token}/complete", Summary: "Complete a task with its result"}, leases.CompleteTask),
		leased(Operation{Name: "task.fail", Path: "/v1/tasks/{state}/claims/{token}/fail", Summary: "End a task without a result"}, leases.FailTask),
		stream(Operation{Name: "compute.input", Method: http.MethodGet, Path: "/v1/compute/claims/{token}/input", Summary: "Get a file that work is about", Need: access.Act, On: OnInstallation,
			Awaits: true, Sends: []string{"application/octet-stream"}}, func(ctx context.Context, c *Call, in *leases.Wanted) (send, error) {
			return leases.Content(ctx, c.App, in)
		}),
	}
}

// leased returns the row of a request of a worker that has a lease, or asks for one.
func leased[I, O any](op Operation, do func(context.Context, *app.App, *I) (O, error)) *Operation {
	op.Method, op.Need, op.On, op.Write = cmp.Or(op.Method, http.MethodPost), access.Act, OnInstallation, true
	return row(op, func(ctx context.Context, c *Call, in *I) (O, error) { return do(ctx, c.App, in) })
}

// put keeps an output of work, whose digest it compares.
func put(ctx context.Context, a *app.App, in *EntryPut, keep func(context.Context, *app.App, *leases.Output, io.Reader) (entry.Output, error)) (out entry.Output, err error) {
	sum, err := sending.ReprDigest(in.Repr)
	if err == nil {
		out, err = keep(ctx, a, &in.Output, drops.Checked(in.body, a.Open.UploadLimit, sum))
	}
	return out, err
}
