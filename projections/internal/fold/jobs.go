package fold

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// jobState is the state of a job, and further columns.
type jobState struct {
	domain.Job
	rowState
	row pgdb.AccessionJob
}

func (s *jobState) state() *rowState { return &s.rowState }

// ended reports whether no event follows but those of an operator or of the clean-up;
// they load the state again.
func (s *jobState) ended() bool { return s.Cleaned || s.State == domain.JobDeleted }

func newJob(id domain.JobID) *jobState { return &jobState{Job: domain.Job{ID: id}} }

func (f *Fold) loadJobs(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadJobs(ctx, ids)
	if err != nil {
		return err
	}
	for _, row := range rows {
		j, err := JobOf(row)
		if err != nil {
			return err
		}
		f.jobs.load(row.ID, &jobState{j, rowState{}, row}, f.round)
	}
	return nil
}

// job folds a job's event into its state, its batch's counters, its transitions and its
// retries.
func (f *Fold) job(r domain.Recorded) error {
	s := f.jobs.byKey[r.Aggregate.ID]
	from := s.State
	next, err := domain.EvolveJob(s.Job, r)
	if err != nil {
		return err
	}
	s.Job, s.dirty = next, true
	if m, _ := domain.MoveOfJob(r.Data); m.Collection != "" {
		s.row.Collection = m.Collection
	}
	s.outputs(r)
	if from == domain.JobNone {
		f.nameSubmitter(s.Job)
	}
	if from == s.State {
		return nil
	}
	batch := f.batches.byKey[string(s.Configuration.BatchID)]
	if batch == nil {
		return fmt.Errorf("it names batch %q, its job belongs to %s", r.BatchID, s.Configuration.BatchID)
	}
	f.transition(r, from, s)
	f.retries.fold(r, from, s.Job, batch.State)
	batch.count(from, s.State)
	s.row.StatusSince = timeOrNull(r.Time)
	if s.State == domain.JobDeleted {
		return f.deleteFiles(r)
	}
	return nil
}

// outputs sets the columns that a step's event fills.
func (s *jobState) outputs(r domain.Recorded) {
	switch d := r.Data.(type) {
	case *domain.JobCreated:
		s.row.CreatedAt = timeOrNull(r.Time)
	case *domain.JobEstimated:
		s.row.Files, s.row.Bytes = new(int64(d.Files)), &d.Bytes
	case *domain.JobDownloaded:
		s.row.Files, s.row.Bytes = new(int64(d.Files)), &d.Bytes
	case *domain.JobIdentified:
		s.row.IdentifierMinted = &d.Minted
	case *domain.JobProcessed:
		s.row.ObjectVersion = new(int64(d.Object.Version))
		s.row.ManifestKey, s.row.ManifestSha256 = &d.Object.ManifestKey, &d.Object.ManifestSHA256
	case *domain.JobDone:
		s.row.Callback, s.row.CompletedAt = &d.Callback, timeOrNull(r.Time)
	}
}

func (f *Fold) transition(r domain.Recorded, from domain.JobState, s *jobState) {
	c := columnsOf(s.Reason)
	f.transitions = append(f.transitions, pgdb.AccessionJobTransition{
		JobID: string(s.ID), Version: r.Version, BatchID: string(s.Configuration.BatchID),
		FromStatus: string(from), ToStatus: string(s.State), FromSince: s.row.StatusSince, At: r.Time.Time,
		Actor: string(r.Actor), RetryCount: int64(s.RetryCount),
		ReasonClass: c.class, ReasonCode: c.code, ReasonMessage: c.message, ReasonHost: c.host, Seq: int64(r.Seq),
	})
}

// columns returns the row, with all that [JobOf] needs.
func (s *jobState) columns() pgdb.AccessionJob {
	row, j := s.row, s.Job
	row.ID, row.Version, row.Status = string(j.ID), j.Version, string(j.State)
	row.LastSuccessfulStatus, row.LastModified = textOrNull(j.LastSuccessful), timeOrNull(j.Modified)
	row.RetryCount, row.Priority, row.SpaceNeeded = int64(j.RetryCount), int64(j.Priority), j.SpaceNeeded
	row.CommandID, row.Cleaned = j.CommandID, j.Cleaned
	c := j.Configuration
	row.BatchID, row.ProfileName, row.Submitter = string(c.BatchID), c.ProfileName, c.Submitter
	row.PayloadUrl, row.PayloadType, row.ResponseType = c.PayloadURL, string(c.PayloadType), c.ResponseType
	row.SubmissionMode, row.WorkingDir = c.SubmissionMode, c.WorkingDir
	row.DigestAlgorithm, row.DigestValue, row.FileName, row.Size = c.DigestAlgorithm, c.DigestValue, c.FileName, c.Size
	row.ManifestRow, row.RowFault = int64(c.Row), jsonOf(c.RowFault)
	row.ObjectKey, row.ProfileVersion, row.Host = c.ObjectKey, c.ProfileVersion, c.Host
	row.PrimaryIdentifier, row.LocalID = j.Identifiers.Primary, j.Identifiers.LocalID
	m := j.Metadata
	row.ErcWho, row.ErcWhat, row.ErcWhen, row.ErcWhere = m.ErcWho, m.ErcWhat, m.ErcWhen, m.ErcWhere
	why := columnsOf(j.Reason)
	row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonAttempt, row.ReasonWorker = why.class, why.code, why.message, why.attempt, why.worker
	row.ReasonHost, row.ReasonWhoActs = why.host, why.whoActs
	return row
}

// JobOf returns the job of a row; it is the inverse of [jobState.columns].
func JobOf(row pgdb.AccessionJob) (domain.Job, error) {
	j := domain.Job{
		ID: domain.JobID(row.ID), Version: row.Version, State: domain.JobState(row.Status),
		LastSuccessful: domain.JobState(value(row.LastSuccessfulStatus)),
		RetryCount:     int(row.RetryCount), Priority: int(row.Priority), SpaceNeeded: row.SpaceNeeded,
		Configuration: domain.Configuration{
			BatchID: domain.BatchID(row.BatchID), ProfileName: row.ProfileName, Submitter: row.Submitter,
			PayloadURL: row.PayloadUrl, PayloadType: domain.SubmissionType(row.PayloadType), ResponseType: row.ResponseType,
			SubmissionMode: row.SubmissionMode, WorkingDir: row.WorkingDir,
			DigestAlgorithm: row.DigestAlgorithm, DigestValue: row.DigestValue, FileName: row.FileName, Size: row.Size,
			Row: int(row.ManifestRow), ObjectKey: row.ObjectKey, ProfileVersion: row.ProfileVersion, Host: row.Host,
		},
		Identifiers: domain.Identifiers{Primary: row.PrimaryIdentifier, LocalID: row.LocalID},
		Metadata:    domain.Metadata{ErcWho: row.ErcWho, ErcWhat: row.ErcWhat, ErcWhen: row.ErcWhen, ErcWhere: row.ErcWhere},
		Reason:      reasonColumns{row.ReasonClass, row.ReasonCode, row.ReasonMessage, row.ReasonWorker, row.ReasonHost, row.ReasonWhoActs, row.ReasonAttempt}.reason(),
		Cleaned:     row.Cleaned, Modified: timeOf(row.LastModified), CommandID: row.CommandID,
	}
	if row.RowFault != nil {
		j.Configuration.RowFault = &domain.Reason{}
		if err := json.Unmarshal(row.RowFault, j.Configuration.RowFault); err != nil {
			return j, fmt.Errorf("row fault of %s: %w", row.ID, err)
		}
	}
	return j, nil
}
