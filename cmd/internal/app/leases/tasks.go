package leases

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// State names a state in which there are tasks.
type State struct {
	State string `path:"state" enum:"pending,estimating,provisioning,processing,recording,notify" example:"recording" doc:"State of the jobs"`
}

// TaskClaim asks for the work of a state of jobs.
type TaskClaim struct {
	State
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"The same for every try of one request: while it lasts, the lease that the first one took is the answer to all"`
	Body struct {
		Worker string `json:"worker" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._@-]+$" example:"node7" doc:"What the worker is called; it is shown"`
		Wait   int    `json:"wait,omitempty" minimum:"0" maximum:"60" doc:"For how many seconds to wait if there is no work"`
		Lease  int    `json:"lease,omitempty" minimum:"5" maximum:"3600" doc:"For how many seconds the work is the worker's if it sends no heartbeat; absent = 60"`
	}
}

// What workers send under the lease of a task.
type (
	// TaskHeartbeat lets the lease of a task begin again.
	TaskHeartbeat struct {
		State
		Heartbeat
	}
	// TaskDone is the result of a task.
	TaskDone struct {
		State
		Done
	}
	// TaskFailed says why there is none.
	TaskFailed struct {
		State
		Failed
	}
)

// Job is the job for whose step or state work is.
type Job struct {
	ID             string   `json:"id"`
	Batch          string   `json:"batch"`
	Status         string   `json:"status"`
	Profile        string   `json:"profile"`
	Submitter      string   `json:"submitter"`
	PayloadURL     string   `json:"payload_url"` // without user name, password and query
	PayloadType    string   `json:"payload_type"`
	SubmissionMode string   `json:"submission_mode"`
	RetryCount     int      `json:"retry_count"`
	Priority       int      `json:"priority"` // lower runs first
	SpaceNeeded    int64    `json:"space_needed,omitempty"`
	Primary        string   `json:"primary,omitempty"` // identifier of the object
	LocalID        []string `json:"local_id,omitempty"`
}

func jobOf(j domain.Job) *Job {
	c := j.Configuration
	return &Job{ID: string(j.ID), Batch: string(c.BatchID), Status: string(j.State), Profile: c.ProfileName, Submitter: c.Submitter, PayloadURL: fetch.Redact(c.PayloadURL),
		PayloadType: string(c.PayloadType), SubmissionMode: c.SubmissionMode, RetryCount: j.RetryCount, Priority: j.Priority, SpaceNeeded: j.SpaceNeeded,
		Primary: j.Identifiers.Primary, LocalID: j.Identifiers.LocalID}
}

// TakeTask waits for the work of a state and takes it.
func TakeTask(ctx context.Context, a *app.App, in *TaskClaim) (w Work, err error) {
	defer app.Explained(&err, "take work")
	b := in.Body
	r, err := newRequest(a, in.State.State, in.Key, b)
	if err != nil {
		return w, err
	}
	return take(ctx, a, compute.Wants{Datasets: []string{compute.StateDataset(domain.JobState(in.State.State))}, PassLimit: compute.PassLimit}, r, b.Worker, b.Wait, b.Lease)
}

// RenewTask lets the lease of a task begin again.
func RenewTask(ctx context.Context, a *app.App, in *TaskHeartbeat) (l Lease, err error) {
	if err := in.State.has(ctx, a, in.Token); err != nil {
		return l, err
	}
	return Renew(ctx, a, &in.Heartbeat)
}

// CompleteTask ends a task with its result, as [Complete] does.
func CompleteTask(ctx context.Context, a *app.App, in *TaskDone) (l Lease, err error) {
	if err := in.State.has(ctx, a, in.Token); err != nil {
		return l, err
	}
	return Complete(ctx, a, &in.Done)
}

// FailTask ends a task without a result, as [Fail] does.
func FailTask(ctx context.Context, a *app.App, in *TaskFailed) (l Lease, err error) {
	if err := in.State.has(ctx, a, in.Token); err != nil {
		return l, err
	}
	return Fail(ctx, a, &in.Failed)
}

// PutTask keeps an output of a task, as [Put] does.
func PutTask(ctx context.Context, a *app.App, s State, in *Output, content io.Reader) (out entry.Output, err error) {
	if err := s.has(ctx, a, in.Token); err != nil {
		return out, err
	}
	return Put(ctx, a, in, content)
}

// has returns an error if a token is that of work of another kind. An entry that is gone is for
// the use case, which says so.
func (s State) has(ctx context.Context, a *app.App, t Token) (err error) {
	defer app.Explained(&err, "find the work")
	id, _, err := parse(t.Token)
	if err != nil {
		return err
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return err
	}
	at, err := handler.Entries.LoadEntry(ctx, id)
	switch {
	case errors.Is(err, eventstore.ErrNotFound):
		return nil
	case err == nil && at.State.Work.Dataset != compute.StateDataset(domain.JobState(s.State)):
		return &app.Error{Kind: app.NotFound, Err: fmt.Errorf("%s is no work of the state %q", id, s.State), Hint: "send it where the work was claimed"}
	}
	return err
}
