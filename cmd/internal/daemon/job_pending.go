package daemon

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
)

// jobPending checks for a hold, and the payload's manifest (J2, J4, J5). A manifest
// that cannot be reached is not corrupt: the job continues, and if the manifest stays
// unreachable it fails in a later state, where it can be requeued.
func (s *steps) jobPending(ctx context.Context, t *JobTask) Outcome {
	if why, err := s.held(ctx, t.Profile); err != nil {
		return release(err)
	} else if why != nil {
		return nextJob(domain.HoldJob{Reason: *why})
	}
	if fault := t.Job.Configuration.RowFault; fault != nil {
		return fail(*fault)
	}
	warnings, err := s.Warnings(ctx, t.Profile, t.Job, s.live.Batch)
	var why *reason.Problem
	switch {
	case err == nil:
		if err := s.keepWarnings(ctx, t.Job.Configuration.BatchID, string(t.Job.ID), warnings); err != nil {
			return s.errorOutcome(err, "keep the warnings about the manifest")
		}
	case errors.As(err, &why):
		return fail(why.Reason)
	case payload.IsRemote(err):
		t.Log.Info("the manifest cannot be reached for now", "error", err)
	default:
		return s.errorOutcome(err, "keep the manifest")
	}
	return nextJob(domain.AcceptJob{Warnings: warnings})
}
