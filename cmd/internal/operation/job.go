package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/app/failures"
	"github.com/accession-ingest/accession/cmd/internal/app/look"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sending"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// JobList chooses jobs.
type JobList struct {
	Page
	Filter
	Batch string `query:"batch" maxLength:"40" doc:"Only of this batch"`
	State string `query:"state" maxLength:"40" doc:"Only in this state"`
	Order
}

// FailureList chooses failed jobs.
type FailureList struct {
	Limit int `query:"limit" default:"200" minimum:"1" maximum:"1000" doc:"How many groups at most"`
	Filter
	Batch string `query:"batch" maxLength:"40" doc:"Only of this batch"`
}

// JobShow shows one job.
type JobShow struct {
	JobID
	At
}

// JobChange is a command about one job.
type JobChange struct {
	JobID
	Match
}

// JobStored names a file of the version that a job has stored.
type JobStored struct {
	JobID
	FileName
}

// JobPriority changes the priority of a job.
type JobPriority struct {
	JobChange
	To int `query:"to" required:"true" minimum:"0" maximum:"99" doc:"The new priority: lower runs first"`
}

// unplaced lets jobs name their working directories from that of the batch on: no answer says
// where the directories of the service are.
func unplaced(jobs []app.JobRow) []app.JobRow {
	for i := range jobs {
		j := &jobs[i]
		j.WorkingDir = event.WorkingDir(domain.BatchID(j.BatchID), j.WorkingDir)
	}
	return jobs
}

func jobs() []*Operation {
	all := []*Operation{
		get("job.ls", "/v1/jobs", "List jobs", OnSeen, false, func(ctx context.Context, c *Call, in *JobList) (p app.Page[app.JobRow], err error) {
			f := app.JobFilter{Filter: in.of(c), Limit: in.Limit}
			if f.State, err = among(in.State, domain.JobStates, domain.JobDeleted); err != nil {
				return p, err
			}
			if f.Batch, err = c.batch(ctx, in.Batch); err != nil {
				return p, err
			}
			p, err = c.App.Jobs(ctx, f, app.Cursor(in.Cursor), in.Sort)
			unplaced(p.Items)
			return orUnknown(ctx, c, in.named(""), p, err)
		}),
		get("job.failures", "/v1/failures", "Group failed jobs by reason, server, collection and profile", OnSeen, false, func(ctx context.Context, c *Call, in *FailureList) (p app.Page[failures.Failure], err error) {
			f := app.JobFilter{Filter: in.of(c), Limit: in.Limit}
			if f.Batch, err = c.batch(ctx, in.Batch); err != nil {
				return p, err
			}
			p, err = failures.Ls(ctx, c.App, f)
			chosen := in.named("")
			chosen.Batch = in.Batch
			return orUnknown(ctx, c, chosen, p, err)
		}),
		get("job.show", "/v1/jobs/{id}", "Show a job, its files and its history", OnThing, true, func(ctx context.Context, c *Call, in *JobShow) (v app.JobView, err error) {
			then, err := in.moment()
			switch {
			case err != nil:
				return v, err
			case then.IsNow():
				if v, err = c.App.Job(ctx, domain.JobID(in.ID)); err == nil {
					v.Steps, err = entries.StepsOf(ctx, c.App, domain.JobID(in.ID))
				}
			default:
				v, err = c.App.JobAt(ctx, domain.JobID(in.ID), then)
			}
			v.JobRow = unplaced([]app.JobRow{v.JobRow})[0]
			return v, err
		}),
		stream(Operation{Name: "job.stored", Method: http.MethodGet, Path: "/v1/jobs/{id}/stored/{name}", Summary: "Get a file of the version that a job has stored, recorded or not, or a range of it",
			Need: access.See, On: OnThing, Sends: []string{"application/octet-stream"}}, func(ctx context.Context, c *Call, in *JobStored) (send, error) {
			file, err := objects.OpenStored(ctx, c.App, domain.JobID(in.ID), in.Kind, in.Name)
			if err != nil {
				return nil, err
			}
			return sending.File(file)
		}),
		row(Operation{Name: "job.look", Method: http.MethodGet, Path: "/v1/jobs/{id}/inside", Summary: "Look into a job: its manifest, metadata and working files, and its nodes in ZooKeeper",
			Need: access.Act, On: OnThing}, func(ctx context.Context, c *Call, in *JobID) (look.Inside, error) {
			return look.Into(ctx, c.App, domain.JobID(in.ID))
		}),
		row(Operation{Name: "job.priority", Method: http.MethodPost, Path: "/v1/jobs/{id}/priority", Summary: "Change the priority of a waiting job",
			Need: access.Act, On: OnThing, Write: true}, func(ctx context.Context, c *Call, in *JobPriority) (app.Changed, error) {
			return c.App.Reprioritise(ctx, domain.JobID(in.ID), in.To, in.Why())
		}),
	}
	for _, v := range []verb[domain.JobID]{
		{"hold", "Hold a pending job", method((*app.App).HoldJob)},
		{"release", "Release a held job", method((*app.App).ReleaseJob)},
		{"fail", "End a job that has neither completed nor failed", method((*app.App).FailJob)},
		{"requeue", "Requeue a failed job in the state where it failed", method((*app.App).Requeue)},
		{"delete", "Delete a job that has not completed", method((*app.App).DeleteJob)},
	} {
		all = append(all, change("job", "/v1/jobs", v, func(in *JobChange) (domain.JobID, string) { return domain.JobID(in.ID), in.Why() }))
	}
	return all
}
