package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/notify"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
)

// The callback of a completed job.
const (
	callbackNone      = "none"
	callbackDelivered = "delivered"
)

// jobNotify makes the callback if the profile has one (J14, J15). The receiver sees the
// same idempotency key on every attempt, those after a requeue included.
func (s *steps) jobNotify(ctx context.Context, t *JobTask) Outcome {
	if t.Profile.Callback.URL == "" {
		return nextJob(domain.CompleteJob{Callback: callbackNone})
	}
	object, err := s.storedObject(ctx, t.Job)
	if err != nil {
		return s.trouble(err, "find what was stored")
	}
	key := record.EffectKey(t.Job.ID, int64(object.Version), "notify")
	m := record.Message{Key: key, Channel: record.ChannelCallback, About: "job",
		Batch: t.Job.Configuration.BatchID, Job: t.Job.ID, Recipients: []string{fetch.Redact(t.Profile.Callback.URL)}}
	made, err := deliver(ctx, s.cfg.Records, "notify/callback", m, func(record.Delivery) error { return s.callback(ctx, t, key, object) },
		func(error) error { return ctx.Err() })
	switch {
	case ctx.Err() != nil:
		return release(ctx.Err())
	case err != nil:
		return s.trouble(err, "make the callback")
	case made.failure != nil:
		return fail(reason.Of(made.failure, "the callback failed"))
	}
	return nextJob(domain.CompleteJob{Callback: callbackDelivered})
}

// CallbackBody is the body of a callback about a job whose object is stored and in the
// inventory.
type CallbackBody struct {
	Batch   domain.BatchID `json:"batch_id"`
	Job     domain.JobID   `json:"job_id"`
	State   string         `json:"state"` // completed
	Primary string         `json:"primary_id"`
	LocalID []string       `json:"local_id"`
	Version int            `json:"version"` // of the object
	Files   int            `json:"files"`
	Bytes   int64          `json:"bytes"`
	Name    string         `json:"name"`
}

// callback makes the request, as often as the profile allows.
func (s *steps) callback(ctx context.Context, t *JobTask, key string, o domain.StoredObject) error {
	j, p := t.Job, t.Profile
	body := CallbackBody{Batch: j.Configuration.BatchID, Job: j.ID, State: string(domain.JobCompleted),
		Primary: o.Primary, LocalID: j.Identifiers.LocalID, Version: o.Version, Files: o.Files, Bytes: o.Bytes, Name: jobName(j)}
	c, err := s.ClientOf(p)
	if err != nil {
		return err
	}
	return s.Attempts(ctx, t.Log, p, func() error { return notify.Callback(ctx, c, p.Callback.URL, key, body) })
}
