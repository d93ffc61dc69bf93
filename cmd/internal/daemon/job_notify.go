package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/daemon/version"
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

// jobNotify makes the callback if the profile has one and no worker outside has (J14, J15). The receiver sees the
// same idempotency key on every attempt, those after a requeue included.
func (s *steps) jobNotify(ctx context.Context, t *JobTask) Outcome {
	object, recorded, err := s.cfg.Records.RecordedObject(ctx, t.Job.ID)
	if err == nil && !recorded && (t.Profile.Callback.URL != "" || len(t.results) > 0) { // the records may be older than the job
		object, err = version.Stored(ctx, s.cfg.Records, t.Job)
	}
	if err != nil {
		return s.errorOutcome(err, "find what was stored")
	}
	if len(t.results) > 0 {
		return nextJob(domain.CompleteJob{Callback: callbackDelivered, Object: &object})
	}
	if t.Profile.Callback.URL == "" {
		done := domain.CompleteJob{Callback: callbackNone}
		if recorded {
			done.Object = &object
		}
		return nextJob(done)
	}
	key := record.EffectKey(t.Job.ID, int64(object.Version), "notify")
	m := record.Message{Key: key, Channel: record.ChannelCallback, About: "job",
		Batch: t.Job.Configuration.BatchID, Job: t.Job.ID, Recipients: []string{fetch.Redact(t.Profile.Callback.URL)}}
	records := delivery.Repeated{Records: s.cfg.Records, More: t.more}
	made, err := delivery.Make(ctx, records, "notify/callback", m, func(record.Delivery) error { return s.callback(ctx, t, key, object) },
		func(error) error { return ctx.Err() })
	switch {
	case ctx.Err() != nil:
		return release(ctx.Err())
	case err != nil:
		return s.errorOutcome(err, "make the callback")
	case made.Failure != nil:
		return t.callbackFailed(made.Failure, object)
	}
	return nextJob(domain.CompleteJob{Callback: callbackDelivered, Object: &object})
}

// callbackFailed returns the outcome of a callback that was not made, about an object.
func (t *JobTask) callbackFailed(failure error, object domain.StoredObject) Outcome {
	out := t.theirs(t.Profile.Callback.URL, "the callback to "+fetch.Host(t.Profile.Callback.URL)+" failed", failure)
	out.object = &object
	return out
}

// theirs returns the outcome of a request to a server that the profile names.
func (t *JobTask) theirs(url, doing string, failure error) Outcome {
	why := reason.Of(failure, doing)
	why.Host = fetch.Host(url)
	if fetch.Ours(failure) {
		return Outcome{verb: verbTrouble, reason: why, err: failure}
	}
	return retry(why, failure, t.Profile.Fetch.Attempts)
}

// more reports whether a delivery that failed is tried again.
func (t *JobTask) more(failure error) bool {
	again, _ := fetch.MayRetry(failure)
	return again && (fetch.Ours(failure) || !t.lastTry(t.Profile.Fetch.Attempts, true))
}

// callback makes the request.
func (s *steps) callback(ctx context.Context, t *JobTask, key string, o domain.StoredObject) error {
	j, p := t.Job, t.Profile
	content, err := delivery.Callback{Batch: j.Configuration.BatchID, Job: j.ID, State: string(domain.JobCompleted),
		Primary: o.Primary, LocalID: j.Identifiers.LocalID, Version: o.Version, Files: o.Files, Bytes: o.Bytes, Name: report.JobName(j)}.Content(j.Configuration.ResponseType)
	if err != nil {
		return err
	}
	c, err := s.ClientOf(p)
	if err != nil {
		return err
	}
	return notify.Callback(ctx, c, p.Callback.URL, key, content, s.cfg.CallbackSecrets[p.Name])
}
