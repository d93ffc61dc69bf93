package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// batchPending reads the batch's manifest, if it has one, and makes the jobs (B2, B3).
// For a batch that an earlier worker has listed it continues where that worker stopped,
// with the stored copy of the manifest.
func (s *steps) batchPending(ctx context.Context, t *BatchTask) Outcome {
	p, err := s.cfg.Profiles.Get(t.Batch.Submission.ProfileName)
	if err != nil {
		if t.Batch.Listing != nil {
			return release(fmt.Errorf("the batch was listed, and now its profile is gone: %w", err))
		}
		return nextBatch(domain.StartBatch{Problem: &domain.Reason{Class: domain.ClassContent,
			Code: domain.CodeProfileUnknown, Message: err.Error(), Worker: t.Claim.Worker}})
	}
	if t.Batch.Listing == nil {
		if why, err := s.held(ctx, p); err != nil {
			return release(err)
		} else if why != nil {
			return nextBatch(domain.HoldBatch{Reason: *why})
		}
	}
	rows, err := s.list(ctx, p, t)
	if err == nil {
		err = s.createJobs(ctx, p, t, rows)
	}
	var why *reason.Problem
	switch {
	case errors.As(err, &why) && t.Batch.Listing == nil:
		return nextBatch(domain.StartBatch{Problem: signed(why.Reason, t.Claim.Worker)})
	case errors.Is(err, eventstore.ErrFull):
		return release(err)
	case errors.Is(err, eventstore.ErrConflict) || isRefused(err):
		return release(nil) // a hold was set meanwhile, or a commit whose answer was lost made the rows
	case err != nil:
		return release(err)
	}
	return s.mailQueued(ctx, p, t)
}

// held returns the reason why batches and jobs of the profile must wait, nil
// when its collection is open.
func (s *steps) held(ctx context.Context, p Profile) (*domain.Reason, error) {
	holds, err := s.live.Holds(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for holds: %w", err)
	}
	if h, ok := holds.Collections[p.Collection]; ok {
		return domain.Held(p.Collection, h), nil
	}
	return nil, nil
}

// list returns the rows of the batch, nil for a batch of one job, and lists the batch
// unless an earlier worker did.
func (s *steps) list(ctx context.Context, p Profile, t *BatchTask) ([]manifest.Row, error) {
	sub, listing := t.Batch.Submission, domain.Listing{Rows: 1}
	var rows []manifest.Row
	if sub.Type.Batch() {
		data, err := s.batchManifest(ctx, p, t)
		if err != nil {
			return nil, err
		}
		m, err := parseBatch(data, p, sub.Type)
		if err != nil {
			return nil, err
		}
		rows, listing.Rows = m.Rows, len(m.Rows)
		if t.Batch.Listing == nil {
			kept, err := effect("batch-pending/keep-manifest", func() (store.Blob, error) { return s.cfg.Objects.KeepManifest(ctx, t.Batch.ID, data) })
			if err != nil {
				return nil, err
			}
			listing.ManifestURL, listing.ManifestSHA256 = store.URL(kept.Key), kept.SHA256
		}
	}
	if t.Batch.Listing != nil {
		if t.Batch.Listing.Rows != listing.Rows {
			return nil, fmt.Errorf("the kept manifest has %d rows, the batch was listed with %d: compare it with its digest %s",
				listing.Rows, t.Batch.Listing.Rows, t.Batch.Listing.ManifestSHA256)
		}
		return rows, nil
	}
	var err error
	listing.FirstJID, err = effect("batch-pending/reserve-ids", func() (domain.JobID, error) {
		return s.cfg.Handler.Catalog.ReserveJobIDs(ctx, listing.Rows)
	})
	if err != nil {
		return nil, fmt.Errorf("reserve job ids: %w", err)
	}
	return rows, crash.Around("daemon/batch-pending/list", func() error { return t.Keep(ctx, domain.ListBatch{Listing: listing}) })
}

// batchManifest gets the manifest: for a listed batch its copy, else from the
// depositor. If the depositor must correct it, or a server cannot be reached, the error
// is a *reason.Problem.
func (s *steps) batchManifest(ctx context.Context, p Profile, t *BatchTask) ([]byte, error) {
	if l := t.Batch.Listing; l != nil {
		key, ok := store.KeyOf(l.ManifestURL)
		if !ok {
			return nil, fmt.Errorf("the batch's listing names no copy of its manifest: %q", l.ManifestURL)
		}
		return s.Kept(ctx, key)
	}
	sub := t.Batch.Submission
	data, err := s.FetchManifest(ctx, t.Log, p, payload.Payload{URL: sub.PayloadURL, Algorithm: sub.DigestAlgorithm, Digest: sub.DigestValue, Size: sub.Size})
	if err != nil && ctx.Err() == nil && payload.Theirs(err) {
		return nil, &reason.Problem{Reason: reason.Of(err, "the batch manifest could not be read")}
	}
	return data, err
}

func parseBatch(data []byte, p Profile, t domain.SubmissionType) (*manifest.Manifest, error) {
	m, err := manifest.Parse(data, manifest.Limits{MaxBytes: int(p.Limits.MaxManifestBytes), MaxRows: p.Limits.MaxRows})
	if err != nil {
		return nil, reason.Content(domain.CodeManifestInvalid, "%s", reason.Bounded(err.Error()))
	}
	if m.Profile.SubmissionType() != string(t) {
		return nil, reason.Content(domain.CodeManifestInvalid, "the manifest's profile is %s, which does not fit a submission of type %s: submit it as %s",
			m.Profile, t, m.Profile.SubmissionType())
	}
	return m, nil
}

// createJobs makes the jobs that do not exist yet, a bounded number in each write.
func (s *steps) createJobs(ctx context.Context, p Profile, t *BatchTask, rows []manifest.Row) error {
	if err := s.hideQueries(ctx, t.Batch, rows); err != nil {
		return err
	}
	for !t.Batch.AllJobsExist() {
		var cmds []domain.CreateJob
		room := maxCommitBytes
		for i := t.Batch.NextRow; i < t.Batch.Listing.Rows && len(cmds) < eventstore.MaxJobsPerCommit; i++ {
			cmd, size := s.createJob(p, t.Batch, rows, i)
			if room -= size; room < 0 && len(cmds) > 0 {
				break
			}
			cmds = append(cmds, cmd)
		}
		if err := crash.Around("daemon/batch-pending/create-jobs", func() error { return t.CreateJobs(ctx, cmds) }); err != nil {
			return fmt.Errorf("create the jobs from row %d on: %w", t.Batch.NextRow, err)
		}
	}
	return nil
}

func signed(r domain.Reason, worker string) *domain.Reason {
	r.Worker = worker
	return &r
}

// Limits in bytes. A job's data is in its nodes and again in its event, and a whole
// write must stay far below ZooKeeper's limit.
const (
	maxRowBytes    = 8 << 10
	maxCommitBytes = 400 << 10
)

// createJob returns the command that makes the job of row i, and about how many
// bytes it adds to a write. rows is nil for a batch of one job.
func (s *steps) createJob(p Profile, b domain.Batch, rows []manifest.Row, i int) (domain.CreateJob, int) {
	sub, jid := b.Submission, b.Listing.FirstJID.Plus(i)
	cmd := domain.CreateJob{
		Priority:    p.Priority.ForBatch(b.Listing.Rows),
		Identifiers: domain.Identifiers{LocalID: []string{}},
		Metadata:    domain.Metadata{ErcWho: sub.ErcWho, ErcWhat: sub.ErcWhat, ErcWhen: sub.ErcWhen, ErcWhere: sub.ErcWhere},
		Configuration: domain.Configuration{
			BatchID: b.ID, ProfileName: sub.ProfileName, Submitter: sub.Submitter,
			PayloadType: sub.Type.PayloadType(), ResponseType: p.ResponseType, SubmissionMode: sub.SubmissionMode,
			WorkingDir: s.workingDir(p, b.ID, jid), Row: i,
		},
	}
	if rows == nil {
		c := &cmd.Configuration
		c.PayloadURL, c.Size, c.DigestAlgorithm, c.DigestValue = sub.PayloadURL, sub.Size, sub.DigestAlgorithm, sub.DigestValue
		c.FileName = cmp.Or(sub.FileName, manifest.PayloadName(sub.PayloadURL)) // unless the submission names it, the name that the payload will have
	} else {
		fromRow(&cmd, rows[i])
	}
	size := encodedSize(cmd)
	if size > maxRowBytes {
		// The data of a refused row is bounded too: its job must fit as well.
		c := cmd.Configuration
		c.PayloadURL, c.FileName = "", ""
		c.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault,
			Message: fmt.Sprintf("row %d holds %d bytes of URL, identifiers and description, more than %d: shorten it", i+1, size, maxRowBytes)}
		cmd.Configuration, cmd.Metadata, cmd.Identifiers.Primary, cmd.Identifiers.LocalID = c, domain.Metadata{}, "", []string{}
		size = encodedSize(cmd)
	}
	return cmd, 2*size + 2048
}

// fromRow sets the fields of a command from a row.
func fromRow(cmd *domain.CreateJob, r manifest.Row) {
	c := &cmd.Configuration
	c.PayloadURL, c.FileName, c.Size = r.FileURL, r.FileName, max(r.Size, 0)
	c.DigestAlgorithm, c.DigestValue = string(r.HashAlgorithm), r.HashValue
	cmd.Identifiers.Primary = r.PrimaryIdentifier
	if r.LocalIdentifiers != nil {
		cmd.Identifiers.LocalID = r.LocalIdentifiers
	}
	m := &cmd.Metadata
	m.ErcWho, m.ErcWhat, m.ErcWhen = cmp.Or(r.Creator, m.ErcWho), cmp.Or(r.Title, m.ErcWhat), cmp.Or(r.Date, m.ErcWhen)
	if r.Fault != nil {
		c.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault, Message: reason.Bounded(r.Fault.Error())}
	}
}

// encodedSize returns how many bytes a command takes as JSON.
func encodedSize(cmd domain.CreateJob) int {
	b, err := json.Marshal(cmd)
	if err != nil {
		return maxRowBytes + 1 // plain data can always be encoded; else the row is refused
	}
	return len(b)
}

// hideQueries stores the whole URLs of the rows that become jobs in the records and
// replaces them by their public forms in the rows, because every reader of the log can
// see a job's events.
func (s *steps) hideQueries(ctx context.Context, b domain.Batch, rows []manifest.Row) error {
	if b.NextRow >= len(rows) {
		return nil
	}
	rows = rows[b.NextRow:]
	full := make([]string, len(rows))
	for i, r := range rows {
		full[i] = r.FileURL
	}
	if !slices.ContainsFunc(full, record.Revealing) {
		return nil
	}
	public, err := s.cfg.Records.KeepURLs(ctx, full)
	if err != nil {
		return fmt.Errorf("keep the URLs of the rows: %w", err)
	}
	for i, url := range public {
		rows[i].FileURL = url
	}
	return nil
}
