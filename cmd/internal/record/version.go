package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// ReserveVersion gives the version of an object that this job alone may write:
// the next one at the first call, the same at every later one.
// CodeIdentifierMismatch: the job reserved a version of another object.
func (r *Records) ReserveVersion(ctx context.Context, job domain.JobID, primary string) (version int, err error) {
	const op = "reserve a version for"
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		// One at a time for each object, so that versions follow each other.
		if err := q.LockObject(ctx, primary); err != nil {
			return err
		}
		had, err := q.VersionReservation(ctx, string(job))
		switch {
		case err == nil && had.PrimaryIdentifier != primary:
			return refuse(CodeIdentifierMismatch, op, string(job),
				"it has version %d of %s and cannot have one of %s", had.Version, had.PrimaryIdentifier, primary)
		case err == nil:
			version = int(had.Version)
			return nil
		case !errors.Is(err, pgx.ErrNoRows):
			return err
		}
		next, err := q.ReserveVersion(ctx, pgdb.ReserveVersionParams{JobID: string(job), PrimaryIdentifier: primary})
		version = int(next)
		return err
	})
	return version, wrap(err, op, string(job))
}
