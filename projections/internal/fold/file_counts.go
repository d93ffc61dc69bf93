package fold

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// countState is the counters of a job or a batch.
type countState struct {
	pgdb.AccessionFileCount
	rowState
}

func (s *countState) state() *rowState                 { return &s.rowState }
func (s *countState) ended() bool                      { return s.FilesInProgress == 0 }
func (s *countState) columns() pgdb.AccessionFileCount { return s.AccessionFileCount }

// countsOf returns the keys of the counters that an event changes: those of the job and
// the batch whose files, or whose deletion, it describes. A file's events may be in the
// log before those of its job, because they do not pass through the outbox. Hence
// counters have rows of their own. Those of a new job say whether it has files already.
func countsOf(r domain.Recorded) []string {
	var job domain.JobID
	if m, ok := domain.MoveOfFile(r.Data); ok {
		job = m.JobID
	} else if r.Type == domain.EventJobDeleted || r.Type == domain.EventJobCreated {
		job = domain.JobID(r.Aggregate.ID)
	}
	if job == "" {
		return nil
	}
	return []string{string(job), string(r.BatchID)}
}

func (f *Fold) loadFileCounts(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadFileCounts(ctx, ids)
	for _, row := range rows {
		f.counts.load(row.ID, &countState{row, rowState{}}, f.round)
	}
	return err
}

// countFile moves a file from the counter of its state before to that of its state now.
func (f *Fold) countFile(before, now domain.File) error {
	if now.Spec.JobID == "" {
		return nil
	}
	job, batch := f.counts.byKey[string(now.Spec.JobID)], f.counts.byKey[string(now.Spec.BatchID)]
	if job == nil || batch == nil {
		return fmt.Errorf("it does not name job %q and batch %q, which its file was discovered with", now.Spec.JobID, now.Spec.BatchID)
	}
	for _, c := range []*countState{job, batch} {
		c.dirty = true
		if before.State != domain.FileNone {
			addFile(&c.AccessionFileCount, before, job.Deleted, -1)
		}
		addFile(&c.AccessionFileCount, now, job.Deleted, +1)
	}
	return nil
}

// addFile counts one file in (+1) or out (-1).
func addFile(c *pgdb.AccessionFileCount, f domain.File, deleted bool, n int64) {
	c.FilesListed += n
	c.BytesListed += n * f.Size
	if f.SHA256 != "" {
		c.FilesDownloaded += n
		c.BytesDownloaded += n * f.Size
	}
	switch {
	case deleted:
		c.FilesDeleted += n
	case f.State == domain.FileProcessed:
		c.FilesProcessed += n
	case f.State == domain.FileSkipped:
		c.FilesSkipped += n
	case f.State.Terminal():
		c.FilesGivenUp += n
	default:
		c.FilesInProgress += n
	}
}

// deleteFiles counts the files of a deleted job as deleted, whatever their states.
func (f *Fold) deleteFiles(r domain.Recorded) error {
	job, batch := f.counts.byKey[r.Aggregate.ID], f.counts.byKey[string(r.BatchID)]
	if job == nil || batch == nil {
		return fmt.Errorf("%s does not delete a job", r.Type)
	}
	for _, at := range []func(*pgdb.AccessionFileCount) *int64{
		func(c *pgdb.AccessionFileCount) *int64 { return &c.FilesProcessed },
		func(c *pgdb.AccessionFileCount) *int64 { return &c.FilesSkipped },
		func(c *pgdb.AccessionFileCount) *int64 { return &c.FilesGivenUp },
		func(c *pgdb.AccessionFileCount) *int64 { return &c.FilesInProgress },
	} {
		n := *at(&job.AccessionFileCount)
		*at(&batch.AccessionFileCount) -= n
		*at(&job.AccessionFileCount) = 0
		job.FilesDeleted += n
		batch.FilesDeleted += n
	}
	job.Deleted, job.dirty, batch.dirty = true, true, true
	return nil
}
