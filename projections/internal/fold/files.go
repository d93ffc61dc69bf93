package fold

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// fileState is the state of a file, and further columns.
type fileState struct {
	domain.File
	rowState
	row pgdb.AccessionFile
}

func (s *fileState) state() *rowState { return &s.rowState }

func (s *fileState) ended() bool { return s.State.Terminal() }

func newFile(id domain.FileHash) *fileState { return &fileState{File: domain.File{Hash: id}} }

func (f *Fold) loadFiles(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadFiles(ctx, ids)
	if err != nil {
		return err
	}
	for _, row := range rows {
		f.files.load(row.RawFileHash, &fileState{FileOf(row), rowState{}, row}, f.round)
	}
	return nil
}

// file folds a file's event into its state, its transitions, its failed attempts and
// the counters. All times but the event's own are the log's: one clock for all workers.
func (f *Fold) file(r domain.Recorded) error {
	s := f.files.byKey[r.Aggregate.ID]
	before := s.File
	next, err := domain.EvolveFile(before, r)
	if err != nil {
		return err
	}
	s.File, s.dirty = next, true
	at := domain.At(r.Stored).Time
	if before.State == domain.FileNone {
		s.row.Seq, s.row.DiscoveredAt = int64(r.Seq), at
		if job := f.jobs.byKey[string(next.Spec.JobID)]; job != nil {
			s.row.Submitter = job.Configuration.Submitter
		}
	}
	if err := f.countFile(before, next); err != nil {
		return err
	}
	f.fileTransition(r, before, s, at)
	f.fileRetries(r, before.State, s, at)
	s.row.StatusSince = at
	return nil
}

// lateJobs are jobs whose events come after those of their files, with their submitters.
type lateJobs struct{ ids, submitters []string }

// nameSubmitter sets the submitter of files that were discovered before their job was
// created.
func (f *Fold) nameSubmitter(job domain.Job) {
	c := f.counts.byKey[string(job.ID)]
	if c == nil || c.FilesListed == 0 {
		return
	}
	for _, s := range f.files.byKey {
		if s.Spec.JobID == job.ID {
			s.row.Submitter = job.Configuration.Submitter
		}
	}
	f.lateJobs.ids = append(f.lateJobs.ids, string(job.ID))
	f.lateJobs.submitters = append(f.lateJobs.submitters, job.Configuration.Submitter)
}

// steps returns the step that writes the submitters to the files in the tables.
func (l lateJobs) steps(in func(pgx.Tx) *pgdb.Queries) []Step {
	if len(l.ids) == 0 {
		return nil
	}
	return []Step{func(ctx context.Context, tx pgx.Tx) error {
		if err := in(tx).NameSubmitters(ctx, pgdb.NameSubmittersParams{Jobs: l.ids, Submitters: l.submitters}); err != nil {
			return fmt.Errorf("name the submitters of files of %d jobs: %w", len(l.ids), err)
		}
		return nil
	}}
}

func (f *Fold) fileTransition(r domain.Recorded, before domain.File, s *fileState, at time.Time) {
	c := columnsOf(s.Reason)
	row := pgdb.AccessionFileTransition{
		RawFileHash: string(s.Hash), Version: r.Version, BatchID: string(s.Spec.BatchID), JobID: string(s.Spec.JobID),
		FromStatus: string(before.State), ToStatus: string(s.State), At: at, Actor: string(r.Actor),
		Worker:           before.Worker + s.Worker, // an attempt ends or begins; no event does both
		DownloadAttempts: int64(s.DownloadAttempts), ProcessingAttempts: int64(s.ProcessingAttempts), Size: s.Size,
		ReasonClass: c.class, ReasonCode: c.code, ReasonMessage: c.message, ReasonHost: c.host, Seq: int64(r.Seq),
	}
	if before.State != domain.FileNone {
		row.FromSince = new(s.row.StatusSince)
	}
	if d, ok := r.Data.(*domain.FileFailed); ok {
		row.Quarantine, row.Uncounted = d.Quarantine, d.Uncounted
	}
	f.fileTransitions = append(f.fileTransitions, row)
}

// columns returns the row, with all that [FileOf] needs.
func (s *fileState) columns() pgdb.AccessionFile {
	row, f := s.row, s.File
	row.RawFileHash, row.Version, row.Status = string(f.Hash), f.Version, string(f.State)
	p := f.Spec
	row.BatchID, row.JobID, row.Source, row.Path, row.ByVersion = string(p.BatchID), string(p.JobID), p.Source, p.Path, p.ByVersion
	row.Url, row.ListedSize, row.SourceModified = p.URL, p.Size, timeOrNull(p.Modified)
	row.DigestAlgorithm, row.DigestValue = p.DigestAlgorithm, p.DigestValue
	row.Collection, row.ProfileName, row.Dataset, row.GroupName, row.Host = p.Collection, p.Profile, p.Dataset, p.Group, p.Host
	row.Size, row.Sha256 = f.Size, f.SHA256
	row.DownloadAttempts, row.ProcessingAttempts = int64(f.DownloadAttempts), int64(f.ProcessingAttempts)
	row.DownloadStartedAt, row.ProcessingStartedAt = timeOrNull(f.DownloadStarted), timeOrNull(f.ProcessingStarted)
	row.FailedAt, row.Fence, row.Worker = timeOrNull(f.Failed), f.Fence, f.Worker
	row.OutputKey, row.OutputSha256, row.OutputSize = nil, nil, nil
	if o := f.Output; o != nil {
		row.OutputKey, row.OutputSha256, row.OutputSize = &o.Key, &o.SHA256, &o.Size
	}
	why := columnsOf(f.Reason)
	row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonAttempt, row.ReasonWorker = why.class, why.code, why.message, why.attempt, why.worker
	row.ReasonHost, row.ReasonWhoActs = why.host, why.whoActs
	row.LastModified, row.CommandID = timeOrNull(f.Modified), f.CommandID
	return row
}

// FileOf returns the file of a row; it is the inverse of [fileState.columns].
func FileOf(row pgdb.AccessionFile) domain.File {
	f := domain.File{
		Hash: domain.FileHash(row.RawFileHash), Version: row.Version, State: domain.FileState(row.Status),
		Spec: domain.FileSpec{
			Source: row.Source, Path: row.Path, ByVersion: row.ByVersion,
			BatchID: domain.BatchID(row.BatchID), JobID: domain.JobID(row.JobID),
			URL: row.Url, Size: row.ListedSize, Modified: timeOf(row.SourceModified),
			DigestAlgorithm: row.DigestAlgorithm, DigestValue: row.DigestValue,
			Collection: row.Collection, Profile: row.ProfileName, Dataset: row.Dataset, Group: row.GroupName, Host: row.Host,
		},
		Size: row.Size, SHA256: row.Sha256,
		DownloadAttempts: int(row.DownloadAttempts), ProcessingAttempts: int(row.ProcessingAttempts),
		DownloadStarted: timeOf(row.DownloadStartedAt), ProcessingStarted: timeOf(row.ProcessingStartedAt), Failed: timeOf(row.FailedAt),
		Fence: row.Fence, Worker: row.Worker,
		Reason:   reasonColumns{row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonWorker, row.ReasonHost, row.ReasonWhoActs, row.ReasonAttempt}.reason(),
		Modified: timeOf(row.LastModified), CommandID: row.CommandID,
	}
	if row.OutputKey != nil {
		f.Output = &domain.FileOutput{Key: *row.OutputKey, SHA256: value(row.OutputSha256), Size: value(row.OutputSize)}
	}
	return f
}
