package eventstore

import (
	"context"

	"github.com/accession-ingest/accession/domain"
)

// Space keeps what working space is promised to which jobs, for all processes
// together, and who may promise more: one of them at a time. The promises are part
// of the live state: each begins and ends in the write that moves its job.
type Space interface {
	// LeadSpace waits until the caller leads provisioning; the context given ends when
	// the lead is lost or resign is called. The term is for [Change.SpaceTerm]: a write
	// under it is refused (ErrFenced) once another lead has begun, so that nothing is
	// promised that the new leader has not counted.
	LeadSpace(ctx context.Context) (lead context.Context, term Token, resign func(), err error)
	// Promised lists the jobs to which space is promised. Of those there may be some
	// that [Space.Promise] does not find.
	Promised(ctx context.Context) ([]domain.JobID, error)
	// Promise tells what is promised to a job, ErrNotFound = nothing.
	Promise(ctx context.Context, id domain.JobID) (Promise, error)
}

// Promise is working space that is kept for a job.
type Promise struct {
	Bytes   int64
	Profile string // of the job: it names the working directory
	Version int64  // of the job when it was read
}
