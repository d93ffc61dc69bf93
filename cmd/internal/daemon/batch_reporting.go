package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// batchReporting makes the report, or the second one, keeps it, mails it to the
// depositor, and ends the batch (B6, B7, B9, B10). The jobs do not change meanwhile:
// the rules refuse requeues and deletions in these states.
func (s *steps) batchReporting(ctx context.Context, t *BatchTask) Outcome {
	status, body, err := s.reports().Make(ctx, t.Batch)
	if err != nil {
		return release(fmt.Errorf("make the report: %w", err))
	}
	if n := len(body.Unexplained); n > 0 {
		t.Log.Error("jobs of the batch are gone, and no event tells why: run accession verify", "jobs", n, "first", body.Unexplained[0].ID)
	}
	data, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return release(fmt.Errorf("encode the report: %w", err))
	}
	key := fmt.Sprintf("reports/%s/%d-%s.json", t.Batch.ID, t.Batch.Version, report.SHA256(data))
	var kept store.Blob
	err = s.InTime(ctx, int64(len(data)), "keep the report", key, func(ctx context.Context) (err error) {
		kept, err = effect("reporting/keep-report", func() (store.Blob, error) { return s.cfg.Objects.PutIfAbsent(ctx, key, bytes.NewReader(data)) })
		return err
	})
	if err != nil {
		return release(fmt.Errorf("keep the report: %w", err))
	}
	if status.TooLong() {
		status = status.Cut(store.URL(kept.Key), kept.SHA256)
	} else {
		status.ReportURL, status.ReportSHA256 = store.URL(kept.Key), kept.SHA256
	}
	note, err := s.mailReport(ctx, t, body)
	if err != nil {
		return release(err)
	}
	return nextBatch(domain.FinishReport{Report: status, Mailed: note})
}

// keepWarnings keeps the warnings about a manifest, if there are any, for the report.
func (s *steps) keepWarnings(ctx context.Context, b domain.BatchID, of string, warnings []string) error {
	if len(warnings) == 0 {
		return nil
	}
	return s.InTime(ctx, 0, "keep the warnings about a manifest", string(b), func(ctx context.Context) error {
		return report.KeepWarnings(ctx, s.cfg.Objects, b, of, warnings)
	})
}
