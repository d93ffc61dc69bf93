package record

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Identifier is what was reserved for a job.
type Identifier struct {
	Name string
	Done bool // it is known to exist; false: it was reserved and may exist
}

// ReserveIdentifier reserves a name for a job. The first name that a job reserved
// stays its name: every later call gives that one, whatever it asks for.
// CodeIdentifierTaken: the name is another job's.
func (r *Records) ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (Identifier, error) {
	const op = "reserve identifier for"
	crash.Point("record/identifier/before-reserve")
	err := r.q.InsertIdentifier(ctx, pgdb.InsertIdentifierParams{JobID: string(job), Name: name})
	crash.Point("record/identifier/after-reserve")
	if err != nil {
		return Identifier{}, wrap(err, op, string(job))
	}
	row, err := r.q.Identifier(ctx, string(job))
	if errors.Is(err, pgx.ErrNoRows) {
		owner, err := r.q.IdentifierOwner(ctx, name)
		if err != nil {
			return Identifier{}, wrap(err, op, string(job))
		}
		return Identifier{}, refuse(CodeIdentifierTaken, op, string(job),
			"%s belongs to %s: give this installation a shoulder of its own", name, owner)
	}
	if err != nil {
		return Identifier{}, wrap(err, op, string(job))
	}
	return Identifier{Name: row.Name, Done: row.State == stateDone}, nil
}

// ConfirmIdentifier notes that a reserved name exists. CodeNotFound: it was not
// reserved for this job.
func (r *Records) ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error {
	const op = "confirm identifier of"
	crash.Point("record/identifier/before-confirm")
	n, err := r.q.ConfirmIdentifier(ctx, pgdb.ConfirmIdentifierParams{JobID: string(job), Name: name})
	crash.Point("record/identifier/after-confirm")
	if err == nil && n == 0 {
		return refuse(CodeNotFound, op, string(job), "%s was not reserved for it", name)
	}
	return wrap(err, op, string(job))
}

// The states of a reservation and of an effect.
const (
	stateIntent = "intent"
	stateDone   = "done"
)
