package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/history"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/mint"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// parallel is how many jobs are read at once for a report.
const parallel = 16

// Maker makes reports from what is known of the batches.
type Maker struct {
	Live interface {
		BatchJobs(ctx context.Context, id domain.BatchID, sub domain.Sub) ([]domain.JobID, error)
		Job(ctx context.Context, id domain.JobID) (eventstore.Loaded[domain.Job], error)
	}
	Source  *payload.Source
	History history.Source // of jobs that are gone
	// Versions returns the versions of objects that jobs have recorded.
	Versions func(ctx context.Context, jobs []string) (map[domain.JobID]int, error)
	Clock    func() time.Time
}

// Make lists the batch's jobs, for the status-report and in full.
func (m Maker) Make(ctx context.Context, b domain.Batch) (domain.Report, Body, error) {
	body := Body{Batch: b.ID, Kind: "report", Made: domain.At(m.Clock()),
		Profile: b.Submission.ProfileName, Submitter: b.Submission.Submitter, Unexplained: []Job{}}
	if b.Reason.Failure() {
		body.Problem = b.Reason
	}
	completed, err1 := m.Live.BatchJobs(ctx, b.ID, domain.SubCompleted)
	failed, err2 := m.Live.BatchJobs(ctx, b.ID, domain.SubFailed)
	if err := errors.Join(err1, err2); err != nil {
		return domain.Report{}, body, err
	}
	var before *domain.Report
	if b.State == domain.BatchUpdateReporting {
		body.Kind = "update-report"
		prev, err := Previous(ctx, m.Source.Read, b)
		if err != nil {
			return domain.Report{}, body, err
		}
		before = &prev
	}
	status := domain.NewReport(completed, failed, before, body.Made)
	jobs, err := m.jobs(ctx, completed, failed, status.NewlySuccessfulJobs)
	if err != nil {
		return status, body, err
	}
	gone, err := m.History.Of(ctx, history.Missing(b.Listing, completed, failed))
	if err != nil {
		return status, body, err
	}
	if err := m.addedVersions(ctx, jobs); err != nil {
		return status, body, err
	}
	left, err := LeftOut(ctx, m.Source, b.ID)
	if err != nil {
		return status, body, err
	}
	warnings, err := Warnings(ctx, m.Source, b.ID)
	body.Warnings = warnings[OfBatch]
	for i, j := range jobs {
		if j.State == domain.JobCompleted {
			jobs[i].LeftOut = left[string(j.ID)]
		}
		jobs[i].Warnings = warnings[string(j.ID)]
	}
	if b.Listing != nil {
		body.Listed = b.Listing.Rows
		if b.Type() == domain.TypeMetadata && err == nil {
			body.MetadataRecords, err = ReadMetadataRecords(ctx, m.Source, b.ID)
		}
	}
	for _, j := range gone {
		if j.State == domain.JobDeleted {
			body.Deleted++
			jobs = append(jobs, JobOf(j))
		} else {
			body.Unexplained = append(body.Unexplained, JobOf(j))
		}
	}
	slices.SortFunc(jobs, func(a, b Job) int { return cmp.Compare(a.ID, b.ID) })
	body.Jobs, body.Completed, body.Failed = jobs, len(completed), len(failed)
	return status, body, err
}

// Previous returns the previous report of a batch, with complete lists, which read reads
// from the object store.
func Previous(ctx context.Context, read func(ctx context.Context, key string) ([]byte, error), b domain.Batch) (domain.Report, error) {
	if b.Report == nil {
		return domain.Report{}, nil
	}
	prev := *b.Report
	if !prev.Truncated {
		return prev, nil
	}
	body, err := Kept(ctx, read, prev)
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

// jobs reads the jobs, ordered by id.
func (m Maker) jobs(ctx context.Context, completed, failed, newly []domain.JobID) ([]Job, error) {
	ids := slices.Concat(completed, failed)
	slices.Sort(ids)
	isNew := map[domain.JobID]bool{}
	for _, id := range newly {
		isNew[id] = true
	}
	jobs := make([]Job, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(parallel)
	for i, id := range ids {
		g.Go(func() error {
			at, err := m.Live.Job(gctx, id)
			jobs[i] = JobOf(at.State)
			jobs[i].ID, jobs[i].New = id, isNew[id]
			return err
		})
	}
	return jobs, g.Wait()
}

// addedVersions fills in the versions of jobs that have added one to an object. A job
// whose object has the name that was made for this job has not: it is not asked for.
func (m Maker) addedVersions(ctx context.Context, jobs []Job) error {
	var ask []string
	for _, j := range jobs {
		if j.State == domain.JobCompleted && !mint.MadeFor(j.Primary, string(j.ID)) {
			ask = append(ask, string(j.ID))
		}
	}
	if len(ask) == 0 {
		return nil
	}
	versions, err := m.Versions(ctx, ask)
	for i, j := range jobs {
		if v := versions[j.ID]; v > 1 {
			jobs[i].Version = v
		}
	}
	return err
}
