package record

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// LookupLocalID tells to which object an owner's names lead, "" = to none yet.
// CodeIdentifierMismatch: they lead to different objects.
func (r *Records) LookupLocalID(ctx context.Context, owner string, localIDs []string) (primary string, err error) {
	primary, _, err = lookupLocalID(ctx, r.q, owner, localIDs)
	return primary, wrap(err, "look up local ids of", owner)
}

// BindLocalID makes an owner's names lead to an object, unless one of them leads
// to an object already: then the others are bound to that one. It gives the
// object that all of them lead to, which is the same for every job that asks.
// CodeIdentifierMismatch: they lead to different objects.
func (r *Records) BindLocalID(ctx context.Context, owner string, localIDs []string, primary string, job domain.JobID) (string, error) {
	localIDs = distinct(localIDs)
	if len(localIDs) == 0 {
		return primary, nil
	}
	err := r.inTx(ctx, func(q *pgdb.Queries) error {
		if err := q.LockLocalIDs(ctx, pgdb.LockLocalIDsParams{Owner: owner, LocalIds: localIDs}); err != nil {
			return err
		}
		bound, known, err := lookupLocalID(ctx, q, owner, localIDs)
		if err != nil {
			return err
		}
		if bound != "" {
			primary = bound
		}
		if known == len(localIDs) {
			return nil
		}
		return q.InsertLocalIDs(ctx, pgdb.InsertLocalIDsParams{Owner: owner, LocalIds: localIDs, PrimaryIdentifier: primary, JobID: string(job)})
	})
	return primary, wrap(err, "bind local ids for", string(job))
}

func lookupLocalID(ctx context.Context, q *pgdb.Queries, owner string, localIDs []string) (primary string, known int, err error) {
	if len(localIDs) == 0 {
		return "", 0, nil
	}
	rows, err := q.LocalIDs(ctx, pgdb.LocalIDsParams{Owner: owner, LocalIds: localIDs})
	if err != nil {
		return "", 0, err
	}
	for _, row := range rows {
		if primary == "" {
			primary = row.PrimaryIdentifier
		}
		if row.PrimaryIdentifier != primary {
			return "", 0, refuse(CodeIdentifierMismatch, "look up local ids of", owner,
				"local id %q leads to %s and %q to %s: one object cannot have both", rows[0].LocalID, primary, row.LocalID, row.PrimaryIdentifier)
		}
	}
	return primary, len(rows), nil
}

func distinct(list []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(list)))
}
