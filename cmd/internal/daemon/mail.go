package daemon

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/daemon/delivery"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// mailQueued starts the batch, and mails that to the depositor if the profile wants it:
// one mail a batch.
func (s *steps) mailQueued(ctx context.Context, p Profile, t *BatchTask) Outcome {
	note, err := s.mails().Queued(ctx, p, t.Batch)
	if err != nil {
		return release(err)
	}
	return nextBatch(domain.StartBatch{Mailed: note})
}

// mailReport mails the report if the profile wants it: one mail for each report,
// however often the step runs.
func (s *steps) mailReport(ctx context.Context, t *BatchTask, r report.Body) (*domain.NoteDelivery, error) {
	p, err := s.cfg.Profiles.Get(t.Batch.Submission.ProfileName)
	if err != nil && !profile.Missing(err) {
		return nil, err
	}
	if err != nil {
		t.Log.Warn("no report mail can be sent without the profile", "error", err)
		return s.mails().Unsent(ctx, err, t.Batch, r)
	}
	return s.mails().Report(ctx, p, t.Batch, r)
}

func (s *steps) mails() delivery.Mails {
	return delivery.Mails{Records: s.cfg.Records, Drop: s.cfg.Mail}
}
