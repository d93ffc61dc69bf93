package daemon

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// reportParallel is how many jobs are read at once for a report.
const reportParallel = 16

// ReportBody is the whole report of a batch, as it is kept in the object store and
// named by the batch's status-report. Listed = Completed + Failed + Deleted, or the
// jobs that are not among them are in Unexplained.
type ReportBody struct {
	Batch     domain.BatchID `json:"batch_id"`
	Kind      string         `json:"kind"` // report or update-report
	Made      domain.Time    `json:"made"`
	Profile   string         `json:"profile_name"`
	Submitter string         `json:"submitter"`
	Problem   *domain.Reason `json:"problem"` // with the batch's manifest, null = none
	Listed    int            `json:"listed"`
	Completed int            `json:"completed"`
	Failed    int            `json:"failed"`
	Deleted   int            `json:"deleted"`
	Jobs      []ReportJob    `json:"jobs"` // ordered by id: those three
	// Unexplained are jobs that the batch listed and that are neither there nor
	// deleted: each in its last state in the history, "" = none. Not empty only after a
	// fault.
	Unexplained []ReportJob `json:"unexplained"`
}

// ReportJob is one job of a report.
type ReportJob struct {
	ID      domain.JobID    `json:"job_id"`
	Row     int             `json:"row"` // of the batch manifest, from 0
	State   domain.JobState `json:"state"`
	Name    string          `json:"name"`
	Title   string          `json:"title"`
	URL     string          `json:"payload_url"` // without its query
	Primary string          `json:"primary_id"`
	LocalID []string        `json:"local_id"`
	Reason  *domain.Reason  `json:"reason"` // why it failed or was deleted, else null
	New     bool            `json:"newly_successful,omitempty"`
	// LeftOut names the files that an operator kept out of the stored object.
	LeftOut []string `json:"left_out,omitempty"`
}

// batchReporting makes the report, or the second one, keeps it, mails it to the
// depositor, and ends the batch (B6, B7, B9, B10). The jobs do not change meanwhile:
// the rules refuse requeues and deletions in these states.
func (s *steps) batchReporting(ctx context.Context, t *BatchTask) Outcome {
	report, body, err := s.report(ctx, t.Batch)
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
	key := fmt.Sprintf("reports/%s/%d-%s.json", t.Batch.ID, t.Batch.Version, sha256Hex(data))
	kept, err := effect("reporting/keep-report", func() (store.Blob, error) { return s.cfg.Objects.PutIfAbsent(ctx, key, bytes.NewReader(data)) })
	if err != nil {
		return release(fmt.Errorf("keep the report: %w", err))
	}
	if report.TooLong() {
		report = report.Cut(store.URL(kept.Key), kept.SHA256)
	} else {
		report.ReportURL, report.ReportSHA256 = store.URL(kept.Key), kept.SHA256
	}
	note, err := s.mailReport(ctx, t, body)
	if err != nil {
		return release(err)
	}
	return nextBatch(domain.FinishReport{Report: report, Mailed: note})
}

// report lists the batch's jobs, for the status-report and in full.
func (s *steps) report(ctx context.Context, b domain.Batch) (domain.Report, ReportBody, error) {
	body := ReportBody{Batch: b.ID, Kind: "report", Made: domain.At(s.cfg.Handler.Clock()),
		Profile: b.Submission.ProfileName, Submitter: b.Submission.Submitter, Unexplained: []ReportJob{}}
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
	report := domain.NewReport(completed, failed, before, body.Made)
	jobs, err := s.reportJobs(ctx, completed, failed, report.NewlySuccessfulJobs)
	if err != nil {
		return report, body, err
	}
	gone, err := s.historyOf(ctx, missing(b.Listing, completed, failed))
	if err != nil {
		return report, body, err
	}
	left, err := s.leftOut(ctx, b.ID)
	for i, j := range jobs {
		if j.State == domain.JobCompleted {
			jobs[i].LeftOut = left[j.ID]
		}
	}
	if b.Listing != nil {
		body.Listed = b.Listing.Rows
	}
	for _, j := range gone {
		if j.State == domain.JobDeleted {
			body.Deleted++
			jobs = append(jobs, reportJob(j))
		} else {
			body.Unexplained = append(body.Unexplained, reportJob(j))
		}
	}
	slices.SortFunc(jobs, func(a, b ReportJob) int { return cmp.Compare(a.ID, b.ID) })
	body.Jobs, body.Completed, body.Failed = jobs, len(completed), len(failed)
	return report, body, err
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
	body, err := keptReport(ctx, s.cfg.Objects, prev)
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

// keptReport reads a whole report from the object store.
func keptReport(ctx context.Context, objects *store.Store, r domain.Report) (ReportBody, error) {
	var body ReportBody
	key, ok := store.KeyOf(r.ReportURL)
	if !ok {
		return body, fmt.Errorf("it names no object: %q", r.ReportURL)
	}
	data, err := payload.ReadAll(ctx, objects, key)
	if err != nil {
		return body, err
	}
	if sha := sha256Hex(data); sha != r.ReportSHA256 {
		return body, fmt.Errorf("%s has the SHA-256 %s and had %s: restore it", key, sha, r.ReportSHA256)
	}
	if err := json.Unmarshal(data, &body); err != nil {
		return body, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return body, nil
}

// reportJobs reads the jobs, ordered by id.
func (s *steps) reportJobs(ctx context.Context, completed, failed, newly []domain.JobID) ([]ReportJob, error) {
	ids := slices.Concat(completed, failed)
	slices.Sort(ids)
	isNew := setOf(newly)
	jobs := make([]ReportJob, len(ids))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(reportParallel)
	for i, id := range ids {
		g.Go(func() error {
			at, err := s.live.Job(gctx, id)
			jobs[i] = reportJob(at.State)
			jobs[i].ID, jobs[i].New = id, isNew[id]
			return err
		})
	}
	return jobs, g.Wait()
}

func reportJob(j domain.Job) ReportJob {
	r := ReportJob{ID: j.ID, Row: j.Configuration.Row, State: j.State, Name: jobName(j), Title: j.Metadata.ErcWhat,
		URL: fetch.Redact(j.Configuration.PayloadURL), Primary: j.Identifiers.Primary, LocalID: j.Identifiers.LocalID}
	if j.State == domain.JobFailed || j.State == domain.JobDeleted {
		r.Reason = j.Reason
	}
	return r
}

// jobName returns the name by which a person knows the job's payload.
func jobName(j domain.Job) string {
	c := j.Configuration
	if c.FileName == "" && c.PayloadURL == "" {
		return fmt.Sprintf("row %d", c.Row+1)
	}
	return cmp.Or(c.FileName, manifest.PayloadName(c.PayloadURL))
}

// leftOutPrefix returns the prefix of the keys under which the names of left-out files
// of a batch are stored.
func leftOutPrefix(b domain.BatchID) string { return "left-out/" + string(b) + "/" }

// keepLeftOut stores the names of the files that are left out of the object, for the
// report. An earlier attempt may have left out others.
func (s *steps) keepLeftOut(ctx context.Context, j domain.Job, names []string) error {
	key := leftOutPrefix(j.Configuration.BatchID) + string(j.ID) + ".json"
	if names == nil {
		if j.RetryCount == 0 {
			return nil
		}
		return s.cfg.Objects.Delete(ctx, key)
	}
	data, err := json.Marshal(names)
	if err == nil {
		_, err = s.cfg.Objects.Put(ctx, key, bytes.NewReader(data))
	}
	return err
}

// leftOut returns the names of the files that were left out of the objects of a batch,
// by job.
func (s *steps) leftOut(ctx context.Context, b domain.BatchID) (map[domain.JobID][]string, error) {
	all := map[domain.JobID][]string{}
	for info, err := range s.cfg.Objects.List(ctx, leftOutPrefix(b)) {
		if err != nil {
			return nil, fmt.Errorf("list the files left out: %w", err)
		}
		data, err := s.Kept(ctx, info.Key)
		if err != nil {
			return nil, err
		}
		var names []string
		if err := json.Unmarshal(data, &names); err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", info.Key, err)
		}
		all[domain.JobID(strings.TrimSuffix(path.Base(info.Key), ".json"))] = names
	}
	return all, nil
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
