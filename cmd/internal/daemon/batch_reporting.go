package daemon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/history"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// reportParallel is how many jobs are read at once for a report.
const reportParallel = 16

// batchReporting makes the report, or the second one, keeps it, mails it to the
// depositor, and ends the batch (B6, B7, B9, B10). The jobs do not change meanwhile:
// the rules refuse requeues and deletions in these states.
func (s *steps) batchReporting(ctx context.Context, t *BatchTask) Outcome {
	status, body, err := s.report(ctx, t.Batch)
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

// report lists the batch's jobs, for the status-report and in full.
func (s *steps) report(ctx context.Context, b domain.Batch) (domain.Report, report.Body, error) {
	body := report.Body{Batch: b.ID, Kind: "report", Made: domain.At(s.cfg.Handler.Clock()),
		Profile: b.Submission.ProfileName, Submitter: b.Submission.Submitter, Unexplained: []report.Job{}}
	if b.Reason.Failure() {
		body.Problem = b.Reason
	}
	completed, err1 := s.live.BatchJobs(ctx, b.ID, domain.SubCompleted)
	failed, err2 := s.live.BatchJobs(ctx, b.ID, domain.SubFailed)
	if err := errors.Join(err1, err2); err != nil {
		return domain.Report{}, body, err
	}
	var before *domain.Report
	if b.State == domain.BatchUpdateReporting {
		body.Kind = "update-report"
		prev, err := s.previous(ctx, b)
		if err != nil {
			return domain.Report{}, body, err
		}
		before = &prev
	}
	status := domain.NewReport(completed, failed, before, body.Made)
	jobs, err := s.reportJobs(ctx, completed, failed, status.NewlySuccessfulJobs)
	if err != nil {
		return status, body, err
	}
	gone, err := s.history().Of(ctx, history.Missing(b.Listing, completed, failed))
	if err != nil {
		return status, body, err
	}
	if err := s.addedVersions(ctx, jobs); err != nil {
		return status, body, err
	}
	left, err := report.LeftOut(ctx, s.Source, b.ID)
	if err != nil {
		return status, body, err
	}
	warnings, err := report.Warnings(ctx, s.Source, b.ID)
	body.Warnings = warnings[report.OfBatch]
	for i, j := range jobs {
		if j.State == domain.JobCompleted {
			jobs[i].LeftOut = left[string(j.ID)]
		}
		jobs[i].Warnings = warnings[string(j.ID)]
	}
	if b.Listing != nil {
		body.Listed = b.Listing.Rows
		if b.Submission.Type == domain.TypeMetadata && err == nil {
			body.MetadataRecords, err = report.ReadMetadataRecords(ctx, s.Source, b.ID)
		}
	}
	for _, j := range gone {
		if j.State == domain.JobDeleted {
			body.Deleted++
			jobs = append(jobs, report.JobOf(j))
		} else {
			body.Unexplained = append(body.Unexplained, report.JobOf(j))
		}
	}
	slices.SortFunc(jobs, func(a, b report.Job) int { return cmp.Compare(a.ID, b.ID) })
	body.Jobs, body.Completed, body.Failed = jobs, len(completed), len(failed)
	return status, body, err
}

// previous returns the previous report, with complete lists.
func (s *steps) previous(ctx context.Context, b domain.Batch) (domain.Report, error) {
	if b.Report == nil {
		return domain.Report{}, nil
	}
	prev := *b.Report
	if !prev.Truncated {
		return prev, nil
	}
	body, err := report.Kept(ctx, s.Read, prev)
	if err != nil {
		return prev, fmt.Errorf("the report before: %w", err)
	}
	prev.SuccessfulJobs = nil
	for _, j := range body.Jobs {
		if j.State == domain.JobCompleted {
			prev.SuccessfulJobs = append(prev.SuccessfulJobs, j.ID)
		}
	}
	return prev, nil
}

// reportJobs reads the jobs, ordered by id.
func (s *steps) reportJobs(ctx context.Context, completed, failed, newly []domain.JobID) ([]report.Job, error) {
	ids := slices.Concat(completed, failed)
	slices.Sort(ids)
	isNew := setOf(newly)
	jobs := make([]report.Job, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(reportParallel)
	for i, id := range ids {
		g.Go(func() error {
			at, err := s.live.Job(gctx, id)
			jobs[i] = report.JobOf(at.State)
			jobs[i].ID, jobs[i].New = id, isNew[id]
			return err
		})
	}
	return jobs, g.Wait()
}

// addedVersions fills in the versions of jobs that have added one to an object. A job
// whose object has the name that was made for this job has not: it is not asked for.
func (s *steps) addedVersions(ctx context.Context, jobs []report.Job) error {
	var ask []string
	for _, j := range jobs {
		if j.State == domain.JobCompleted && !mint.MadeFor(j.Primary, string(j.ID)) {
			ask = append(ask, string(j.ID))
		}
	}
	if len(ask) == 0 {
		return nil
	}
	versions, err := s.cfg.Records.RecordedVersions(ctx, ask)
	for i, j := range jobs {
		if v := versions[j.ID]; v > 1 {
			jobs[i].Version = v
		}
	}
	return err
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

func setOf(ids []domain.JobID) map[domain.JobID]bool {
	set := make(map[domain.JobID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}
