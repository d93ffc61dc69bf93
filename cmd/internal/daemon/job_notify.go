package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// What a completed job says of its callback.
const (
	callbackNone      = "none"
	callbackDelivered = "delivered"
)

// jobNotify calls back if the profile says whom (J14, J15). The receiver sees the
// same idempotency key on every attempt, those after a requeue included.
func (s *steps) jobNotify(ctx context.Context, t *JobTask) Outcome {
	p, out := s.profile(t)
	if out != nil {
		return *out
	}
	if p.Callback.URL == "" {
		return nextJob(domain.CompleteJob{Callback: callbackNone})
	}
	object, err := s.storedObject(ctx, t.Job)
	if err != nil {
		return s.trouble(err, "find what was stored")
	}
	key := record.EffectKey(t.Job.ID, int64(object.Version), "notify")
	d, err := s.cfg.Records.BeginDelivery(ctx, record.Message{Key: key, Channel: record.ChannelCallback, About: "job",
		Batch: t.Job.Configuration.BatchID, Job: t.Job.ID, Recipients: []string{fetch.Redact(p.Callback.URL)}})
	if err != nil {
		return s.trouble(err, "note the callback before it is made")
	}
	if d.State == record.DeliveryDelivered {
		return nextJob(domain.CompleteJob{Callback: callbackDelivered})
	}
	crash.Point("daemon/notify/before-callback")
	failure := s.callback(ctx, p, t, key, object)
	crash.Point("daemon/notify/after-callback")
	if ctx.Err() != nil {
		return handBack(ctx.Err())
	}
	if err := s.cfg.Records.EndDelivery(ctx, key, failure, true); err != nil {
		return s.trouble(err, "note the fate of the callback")
	}
	if failure != nil {
		return fail(reasonOf(failure, "the callback failed"))
	}
	return nextJob(domain.CompleteJob{Callback: callbackDelivered})
}
