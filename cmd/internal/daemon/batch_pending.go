package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/daemon/naming"
	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
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
		if t.Batch.Listing != nil && profile.Missing(err) {
			return release(fmt.Errorf("the batch was listed, and now its profile is gone: %w", err))
		}
		if !profile.Missing(err) {
			return release(err)
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
	var rows []manifest.Row
	is, warnings, err := s.TypeOf(ctx, p, t.Batch)
	switch {
	case err != nil:
	case is == domain.TypeMetadata:
		err = s.listMetadata(ctx, p, t)
	default:
		rows, err = s.list(ctx, p, t, is, warnings)
	}
	if err == nil {
		err = s.createJobs(ctx, p, t, rows)
	}
	var why *reason.Problem
	switch {
	case errors.As(err, &why) && t.Batch.Listing == nil:
		return nextBatch(domain.StartBatch{Problem: signed(why.Reason, t.Claim.Worker)})
	case payload.IsRemote(err) && t.Batch.Listing == nil:
		return s.manifestUnread(t, err, p.Fetch.Attempts)
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

// list returns the rows of the batch, nil for a batch of one job, and lists the batch with its
// type unless an earlier worker did.
func (s *steps) list(ctx context.Context, p Profile, t *BatchTask, is domain.SubmissionType, warnings []string) ([]manifest.Row, error) {
	listing := domain.Listing{Rows: 1, Type: is}
	var rows []manifest.Row
	if is.Batch() {
		data, err := s.batchManifest(ctx, p, t)
		if err != nil {
			return nil, err
		}
		m, err := parseBatch(data, p, is)
		if err != nil {
			return nil, err
		}
		rows, listing.Rows = m.Rows, len(m.Rows)
		if t.Batch.Listing == nil {
			if err := s.keepManifest(ctx, t.Batch.ID, ".checkm", data, &listing); err != nil {
				return nil, err
			}
			warnings = m.Sentences(payload.MaxWarnings)
		}
	}
	if t.Batch.Listing != nil {
		if t.Batch.Listing.Rows != listing.Rows {
			return nil, fmt.Errorf("the kept manifest has %d rows, the batch was listed with %d: compare it with its digest %s",
				listing.Rows, t.Batch.Listing.Rows, t.Batch.Listing.ManifestSHA256)
		}
		return rows, nil
	}
	return rows, s.keepListing(ctx, t, domain.ListBatch{Listing: listing, Warnings: warnings})
}

// keepListing keeps the warnings, reserves the ids of the jobs and lists the batch.
func (s *steps) keepListing(ctx context.Context, t *BatchTask, cmd domain.ListBatch) (err error) {
	if t.Batch.Submission.Type != "" {
		cmd.Listing.Type = "" // the submission says it
	}
	cmd.Warnings = append(s.Repeated(ctx, t.Batch.ID, t.Batch.Submission, cmd.Listing.ManifestSHA256), cmd.Warnings...)
	if err := s.keepWarnings(ctx, t.Batch.ID, report.OfBatch, cmd.Warnings); err != nil {
		return err
	}
	cmd.Listing.FirstJID, err = effect("batch-pending/reserve-ids", func() (domain.JobID, error) {
		return s.cfg.Handler.Catalog.ReserveJobIDs(ctx, cmd.Listing.Rows)
	})
	if err != nil {
		return fmt.Errorf("reserve job ids: %w", err)
	}
	return crash.Around("daemon/batch-pending/list", func() error { return t.Keep(ctx, cmd) })
}

// keepManifest keeps a copy of the manifest from which the batch is listed, and notes it
// in the listing.
func (s *steps) keepManifest(ctx context.Context, b domain.BatchID, extension string, data []byte, l *domain.Listing) error {
	return s.InTime(ctx, int64(len(data)), "keep the manifest of the batch", string(b), func(ctx context.Context) error {
		kept, err := effect("batch-pending/keep-manifest", func() (store.Blob, error) { return s.cfg.Objects.KeepManifest(ctx, b, extension, data) })
		l.ManifestURL, l.ManifestSHA256 = store.URL(kept.Key), kept.SHA256
		return err
	})
}

// batchManifest gets the manifest: for a listed batch its copy, else from the
// depositor. If the depositor must correct it the error is a *reason.Problem.
func (s *steps) batchManifest(ctx context.Context, p Profile, t *BatchTask) ([]byte, error) {
	if l := t.Batch.Listing; l != nil {
		key, ok := store.KeyOf(l.ManifestURL)
		if !ok {
			return nil, fmt.Errorf("the batch's listing names no copy of its manifest: %q", l.ManifestURL)
		}
		return s.Kept(ctx, key)
	}
	sub := t.Batch.Submission
	return s.FetchManifest(ctx, p, payload.Payload{URL: sub.PayloadURL, Algorithm: sub.DigestAlgorithm, Digest: sub.DigestValue, Size: sub.Size})
}

// manifestUnread returns the outcome of an attempt at a depositor's manifest that
// failed: the batch waits for another, and is reported as failed after the last.
func (s *steps) manifestUnread(t *BatchTask, err error, most int) Outcome {
	why := reason.Of(err, "the deposit could not be read")
	last := nextBatch(domain.StartBatch{Problem: signed(why, t.Claim.Worker)})
	out := retry(why, err, most)
	if out.verb == verbFail {
		return last
	}
	out.then = &last
	return out
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
		room, nodes := maxCommitBytes, maxCommitKeys
		for i := t.Batch.NextRow; i < t.Batch.Listing.Rows && len(cmds) < eventstore.MaxJobsPerCommit; i++ {
			cmd, size := s.createJob(p, t.Batch, rows, i)
			nodes -= len(cmd.Identifiers.ObjectKeys)
			if room -= size; (room < 0 || nodes < 0) && len(cmds) > 0 {
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
	// maxCommitKeys is how many object entries a write may have beside the nodes of
	// [eventstore.MaxJobsPerCommit] jobs.
	maxCommitKeys = 160
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
			PayloadType: b.Type().PayloadType(), ResponseType: p.ResponseType, SubmissionMode: sub.SubmissionMode,
			WorkingDir: s.WorkingDir(p, b.ID, jid), Row: i,
		},
	}
	if rows == nil {
		c := &cmd.Configuration
		cmd.Identifiers.Primary = sub.Primary
		cmd.Identifiers.LocalID = append(cmd.Identifiers.LocalID, sub.LocalIDs...)
		c.PayloadURL, c.Size, c.DigestAlgorithm, c.DigestValue = sub.PayloadURL, sub.Size, sub.DigestAlgorithm, sub.DigestValue
		c.FileName = cmp.Or(sub.FileName, manifest.PayloadName(sub.PayloadURL)) // unless the submission names it, the name that the payload will have
		if l := b.Listing; b.Type() == domain.TypeMetadata {                    // what is stored is what was checked
			c.PayloadURL, c.Size, c.DigestAlgorithm, c.DigestValue = l.ManifestURL, 0, string(manifest.SHA256), l.ManifestSHA256
		}
	} else {
		payload.FillJob(&cmd, rows[i])
	}
	cmd.Configuration.ProfileVersion, cmd.Configuration.Host = p.Version, fetch.Host(cmd.Configuration.PayloadURL)
	size := payload.JobSize(cmd)
	if size > maxRowBytes {
		// The data of a refused row is bounded too: its job must fit as well.
		c := cmd.Configuration
		c.PayloadURL, c.FileName = "", ""
		c.RowFault = &domain.Reason{Class: domain.ClassContent, Code: domain.CodeRowFault,
			Message: fmt.Sprintf("row %d holds %d bytes of URL, identifiers and description, more than %d: shorten it", i+1, size, maxRowBytes)}
		cmd.Configuration, cmd.Metadata, cmd.Identifiers.Primary, cmd.Identifiers.LocalID = c, domain.Metadata{}, "", []string{}
		size = payload.JobSize(cmd)
	}
	if keys := naming.Keys(p, cmd.Identifiers); len(keys) > 0 && cmd.Configuration.RowFault == nil {
		cmd.Identifiers.ObjectKeys, cmd.Configuration.ObjectKey = keys, string(keys[0])
	}
	return cmd, 2*size + 2048 + 512*len(cmd.Identifiers.ObjectKeys)
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
