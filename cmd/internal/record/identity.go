package record

import (
	"cmp"
	"context"
	"errors"
	"slices"

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
// stays its name: every later call returns that one, whatever it asks for.
// CodeIdentifierTaken: the name is another job's.
func (r *Records) ReserveIdentifier(ctx context.Context, job domain.JobID, name string) (Identifier, error) {
	const op = "reserve identifier for"
	err := crash.Around("record/identifier/reserve", func() error {
		return r.q.InsertIdentifier(ctx, pgdb.InsertIdentifierParams{JobID: string(job), Name: name})
	})
	var row pgdb.RecordIdentifier
	if err == nil {
		row, err = r.q.Identifier(ctx, string(job))
	}
	if errors.Is(err, pgx.ErrNoRows) {
		var owner string
		if owner, err = r.q.IdentifierOwner(ctx, name); err == nil {
			err = refuse(CodeIdentifierTaken, op, string(job), "%s belongs to %s: give this installation a shoulder of its own", name, owner)
		}
	}
	return Identifier{Name: row.Name, Done: row.State == stateDone}, wrap(err, op, string(job))
}

// ConfirmIdentifier keeps that a reserved name exists. CodeNotFound: it was not
// reserved for this job.
func (r *Records) ConfirmIdentifier(ctx context.Context, job domain.JobID, name string) error {
	const op = "confirm identifier of"
	n, err := change("identifier/confirm", func() (int64, error) {
		return r.q.ConfirmIdentifier(ctx, pgdb.ConfirmIdentifierParams{JobID: string(job), Name: name})
	})
	if err == nil && n == 0 {
		return refuse(CodeNotFound, op, string(job), "%s was not reserved for it", name)
	}
	return wrap(err, op, string(job))
}

// stateDone is the state of a reservation or an effect that is no longer an intent.
const stateDone = "done"

// Use is a job that is about to use an identifier for an object of a collection.
type Use struct {
	Job        domain.JobID
	Primary    string
	Collection string
	// Fresh says that the object may be new; otherwise it must exist, or another job
	// must have used the identifier before.
	Fresh bool
	// Minted says that the name is this job's alone.
	Minted bool
}

// UseIdentifier keeps to which collection an object belongs: the first that uses its
// identifier. CodeIdentifierForeign: it belongs to another one. CodeNotFound: it is not
// fresh, and there is no such object. CodeIdentifierTaken: the minted name is in use.
func (r *Records) UseIdentifier(ctx context.Context, u Use) error {
	const op = "use the identifier of"
	kept, err := change("identifier/use", func() (pgdb.KeepCollectionRow, error) {
		return r.q.KeepCollection(ctx, pgdb.KeepCollectionParams{PrimaryIdentifier: u.Primary, Collection: u.Collection, JobID: string(u.Job), Fresh: u.Fresh})
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return refuse(CodeNotFound, op, string(u.Job), "there is no object %s", u.Primary)
	case err != nil:
		return wrap(err, op, string(u.Job))
	case u.Minted && kept.JobID != string(u.Job):
		return refuse(CodeIdentifierTaken, op, string(u.Job), "%s is in use since %s, in collection %s: give the profile a shoulder of its own",
			u.Primary, kept.JobID, kept.Collection)
	case kept.Collection != u.Collection:
		return refuse(CodeIdentifierForeign, op, string(u.Job), "%s is an object of collection %s, and the deposit is for collection %s: correct the identifier, or the profile",
			u.Primary, kept.Collection, u.Collection)
	}
	return nil
}

// Scope is where local ids are names: an owner's, within a collection.
type Scope struct{ Owner, Collection string }

// LookupLocalID returns the object to which names lead, "" = none yet.
// CodeIdentifierMismatch: they lead to different objects.
func (r *Records) LookupLocalID(ctx context.Context, within Scope, localIDs []string) (primary string, err error) {
	primary, _, err = lookupLocalID(ctx, r.q, within, localIDs)
	return primary, wrap(err, "look up local ids of", within.Owner)
}

// BindLocalID makes names lead to an object, unless one of them leads
// to an object already: then the others are bound to that one. It returns the
// object that all of them lead to, which is the same for every job that asks.
// CodeIdentifierMismatch: they lead to different objects.
func (r *Records) BindLocalID(ctx context.Context, within Scope, localIDs []string, primary string, job domain.JobID) (string, error) {
	localIDs = distinct(localIDs)
	if len(localIDs) == 0 {
		return primary, nil
	}
	err := r.inTx(ctx, func(q *pgdb.Queries) error {
		if err := q.LockLocalIDs(ctx, pgdb.LockLocalIDsParams{Owner: within.Owner, LocalIds: localIDs}); err != nil {
			return err
		}
		bound, known, err := lookupLocalID(ctx, q, within, localIDs)
		if err != nil {
			return err
		}
		primary = cmp.Or(bound, primary)
		if known == len(localIDs) {
			return nil
		}
		return q.InsertLocalIDs(ctx, pgdb.InsertLocalIDsParams{Owner: within.Owner, Collection: within.Collection, LocalIds: localIDs,
			PrimaryIdentifier: primary, JobID: string(job)})
	})
	return primary, wrap(err, "bind local ids for", string(job))
}

// lookupLocalID returns where names lead, and how many of them lead anywhere.
func lookupLocalID(ctx context.Context, q *pgdb.Queries, within Scope, localIDs []string) (primary string, known int, err error) {
	if len(localIDs) == 0 {
		return "", 0, nil
	}
	rows, err := q.LocalIDs(ctx, pgdb.LocalIDsParams{Owner: within.Owner, Collection: within.Collection, LocalIds: localIDs})
	if err != nil || len(rows) == 0 {
		return "", 0, err
	}
	primary = rows[0].PrimaryIdentifier
	names := make(map[string]bool, len(rows))
	for _, row := range rows {
		if row.PrimaryIdentifier != primary {
			return "", 0, refuse(CodeIdentifierMismatch, "look up local ids of", within.Owner,
				"local id %q leads to %s and %q to %s: one object cannot have both", rows[0].LocalID, primary, row.LocalID, row.PrimaryIdentifier)
		}
		names[row.LocalID] = true
	}
	return primary, len(names), nil
}

func distinct(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// ReservedVersion returns the version that a job has reserved, 0 = none.
func (r *Records) ReservedVersion(ctx context.Context, job domain.JobID) (version int, err error) {
	had, err := r.q.VersionReservation(ctx, string(job))
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return int(had.Version), wrap(err, "look for the version of", string(job))
}

// ReserveVersion returns the version of an object that this job alone may write:
// the next one at the first call, the same at every later one.
// CodeIdentifierMismatch: the job reserved a version of another object. CodeObjectWithdrawn:
// the object has no further versions.
func (r *Records) ReserveVersion(ctx context.Context, job domain.JobID, primary string) (version int, err error) {
	const op = "reserve a version for"
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		// One at a time for each object, so that versions follow each other.
		if err := q.LockObject(ctx, primary); err != nil {
			return err
		}
		if err := notWithdrawn(ctx, q, op, job, primary); err != nil {
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
