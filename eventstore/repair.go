package eventstore

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// RepairJob makes the nodes of a job what they should be, by an event in the job's
// history. want is what the history folds to, observed what is there. ErrConflict: the
// job, or its batch, has changed since it was inspected; ErrLocked: a worker holds it.
func (h *Handler) RepairJob(ctx context.Context, want domain.Job, observed Observed, repaired []domain.Repaired, m Meta) (domain.Recorded, error) {
	batch, err := h.Live.Batch(ctx, want.Configuration.BatchID)
	if err != nil && !m.DryRun { // in a dry run the batch is perhaps not repaired yet
		return domain.Recorded{}, err
	}
	dec, err := domain.DecideJob(want, domain.RepairJob{Repaired: repaired}, domain.Facts{Collection: h.Collection(want.Configuration.ProfileName)})
	if err != nil {
		return domain.Recorded{}, err
	}
	dec.Require = domain.Require{Batch: true, Unlocked: observed.Unlocked()}
	return repair(ctx, h, jobKind, decided[domain.Job]{from: Loaded[domain.Job]{want, observed.Token}, batchID: want.Configuration.BatchID, Decision: dec,
		change: Change{Observed: &observed, BatchToken: batch.Token}}, m)
}

// RepairBatch is like RepairJob, for a batch. The rows that have their jobs are part of
// want.
func (h *Handler) RepairBatch(ctx context.Context, want domain.Batch, observed Observed, repaired []domain.Repaired, m Meta) (domain.Recorded, error) {
	dec, err := domain.DecideBatch(want, domain.RepairBatch{Repaired: repaired}, domain.Facts{Collection: h.Collection(want.Submission.ProfileName)})
	if err != nil {
		return domain.Recorded{}, err
	}
	dec.Require = domain.Require{Unlocked: observed.Unlocked()}
	return repair(ctx, h, batchKind, decided[domain.Batch]{from: Loaded[domain.Batch]{want, observed.Token}, batchID: want.ID, Decision: dec,
		change: Change{Observed: &observed}}, m)
}

// RepairSetting is like RepairJob, for a setting; for that of [domain.Audit] the
// observed nodes may be any that belong to nothing: they are deleted.
func (h *Handler) RepairSetting(ctx context.Context, want domain.Setting, observed Observed, repaired []domain.Repaired, m Meta) (domain.Recorded, error) {
	return repair(ctx, h, settingKind, decided[domain.Setting]{from: Loaded[domain.Setting]{want, observed.Token},
		Decision: domain.DecideRepair(want, repaired), change: Change{Observed: &observed}}, m)
}

// NoteRestore writes into the history of maintenance that the live state or the log
// was restored.
func (h *Handler) NoteRestore(ctx context.Context, what string, epoch, events int64, m Meta) (domain.Recorded, error) {
	from, err := h.Live.Setting(ctx, domain.SettingAudit, domain.AuditMaintenance)
	if err != nil {
		return domain.Recorded{}, err
	}
	return repair(ctx, h, settingKind, decided[domain.Setting]{from: from, Decision: domain.DecideRestored(from.State, what, epoch, events)}, m)
}

// Unlocked reports whether a repair must require that the aggregate is not locked: its
// node exists, and no lock was observed.
func (o Observed) Unlocked() bool { return o.Dir && o.Lock == nil }

// repair commits a decision without trying again, and returns its event.
func repair[S any](ctx context.Context, h *Handler, k kind[S], d decided[S], m Meta) (domain.Recorded, error) {
	h.ensureCommandID(&m)
	res, err := k.commit(ctx, h, d, m)
	if err != nil {
		return domain.Recorded{}, err
	}
	return res.Events[0], nil
}
