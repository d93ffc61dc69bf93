package eventstore

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// RepairJob makes the nodes of a job what they should be, and tells so in the job's
// history. want is what the history gives, found what lies there. ErrConflict: the
// job, or its batch, has changed since it was looked at; ErrLocked: somebody works
// on it.
func (h *Handler) RepairJob(ctx context.Context, want domain.Job, found Observed, mended []domain.Mended, o Meta) (domain.Recorded, error) {
	h.complete(&o)
	dec, err := domain.DecideJob(want, domain.RepairJob{Mended: mended}, domain.Facts{})
	if err != nil {
		return domain.Recorded{}, err
	}
	batch, err := h.Live.Batch(ctx, want.Configuration.BatchID)
	if err != nil && !o.DryRun { // tried only, it may be a batch that is mended before
		return domain.Recorded{}, err
	}
	c := Change{Token: found.Token, Observed: &found, BatchToken: batch.Token,
		Require: domain.Require{Batch: true, Unlocked: found.Dir && found.Lock == nil}}
	if c.Events, err = h.stamp(dec.Events, want.Configuration.BatchID, o); err != nil {
		return domain.Recorded{}, err
	}
	after, err := domain.EvolveJob(want, c.Events[0])
	if err != nil {
		return domain.Recorded{}, err
	}
	c.Job = &Transition[domain.Job]{From: want, To: after}
	_, err = h.commit(ctx, c, o)
	return c.Events[0], err
}

// RepairBatch is the same for a batch. The rows that have their jobs are part of
// want.
func (h *Handler) RepairBatch(ctx context.Context, want domain.Batch, found Observed, mended []domain.Mended, o Meta) (domain.Recorded, error) {
	h.complete(&o)
	dec, err := domain.DecideBatch(want, domain.RepairBatch{Mended: mended}, domain.Facts{})
	if err != nil {
		return domain.Recorded{}, err
	}
	c := Change{Token: found.Token, Observed: &found, Require: domain.Require{Unlocked: found.Dir && found.Lock == nil}}
	if c.Events, err = h.stamp(dec.Events, want.ID, o); err != nil {
		return domain.Recorded{}, err
	}
	after, err := domain.EvolveBatch(want, c.Events[0])
	if err != nil {
		return domain.Recorded{}, err
	}
	c.Batch = &Transition[domain.Batch]{From: want, To: after}
	_, err = h.commit(ctx, c, o)
	return c.Events[0], err
}

// RepairSetting is the same for a setting; for that of [domain.Audit] the found
// nodes may be any that belong to nothing: they are deleted.
func (h *Handler) RepairSetting(ctx context.Context, want domain.Setting, found Observed, mended []domain.Mended, o Meta) (domain.Recorded, error) {
	h.complete(&o)
	c := Change{Token: found.Token, Observed: &found}
	var err error
	if c.Events, err = h.stamp(domain.DecideRepair(want, mended).Events, "", o); err != nil {
		return domain.Recorded{}, err
	}
	after, err := domain.EvolveSetting(want, c.Events[0])
	if err != nil {
		return domain.Recorded{}, err
	}
	c.Setting = &Transition[domain.Setting]{From: want, To: after}
	_, err = h.commit(ctx, c, o)
	return c.Events[0], err
}
