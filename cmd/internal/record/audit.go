package record

import (
	"context"
	"encoding/json"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// Kept is what is kept of the version that a job has stored; the parts that are missing
// are zero.
type Kept struct {
	Version    Version
	Files      []File // of the version in the inventory, ordered by kind and name
	Object     ObjectRow
	Reserved   VersionID // reserved for the job
	Identifier string    // reserved for the job and known to exist
	Stored     bool      // the effect of storing is known to have happened
	LocalIDs   []string  // that lead to the object
	Replicas   []Replica
	Withdrawal string // state of that of the object, "" = it was not withdrawn
}

// VersionID names a version of an object, the zero value none.
type VersionID struct {
	Object  string
	Version int
}

// Version is a row of the inventory, the zero value none.
type Version struct {
	VersionID
	Job                    domain.JobID
	Batch                  domain.BatchID
	ProfileName, Submitter string
	ManifestKey            string
	ManifestSHA256         string
	Files, Bytes           int64
	Stored                 domain.Time
}

// ObjectRow is the row of an object in the inventory, the zero value none.
type ObjectRow struct {
	Owner, Collection string
	Current           int // version
	Metadata          domain.Metadata
	LocalIDs          []string
}

// Stored names a version that the history of a job says that it stored.
type Stored struct {
	VersionID
	Job domain.JobID
}

// Kept returns what is kept of stored versions, in their order.
func (r *Records) Kept(ctx context.Context, stored []Stored) ([]Kept, error) {
	kept, at := make([]Kept, len(stored)), make(map[string]*Kept, len(stored))
	objects := map[string][]*Kept{}
	effects := map[string]*Kept{}
	jobs, primaries, keys := make([]string, len(stored)), make([]string, len(stored)), make([]string, len(stored))
	for i, s := range stored {
		jobs[i], primaries[i], keys[i] = string(s.Job), s.Object, StoreKey(s.Job, s.Version)
		at[jobs[i]], effects[keys[i]] = &kept[i], &kept[i]
		objects[s.Object] = append(objects[s.Object], &kept[i])
	}
	err := inOrder(
		func() error {
			return eachRow(r.q.VersionsOfJobs, jobs)(ctx, func(v pgdb.RecordObjectVersion) {
				at[v.JobID].Version = Version{VersionID: VersionID{v.PrimaryIdentifier, int(v.Version)}, Job: domain.JobID(v.JobID), Batch: domain.BatchID(v.BatchID),
					ProfileName: v.ProfileName, Submitter: v.Submitter, ManifestKey: v.ManifestKey, ManifestSHA256: v.ManifestSha256,
					Files: v.Files, Bytes: v.Bytes, Stored: domain.At(v.StoredAt)}
			})
		},
		func() error {
			return eachRow(r.q.FilesOfJobs, jobs)(ctx, func(f pgdb.FilesOfJobsRow) {
				k := at[f.JobID]
				k.Files = append(k.Files, File{Kind: f.Kind, Name: f.Name, Key: f.Key, Size: f.Size, SHA256: f.Sha256, MimeType: f.MimeType})
			})
		},
		func() error {
			return eachRow(r.q.ReservationsOfJobs, jobs)(ctx, func(v pgdb.RecordVersionReservation) {
				at[v.JobID].Reserved = VersionID{v.PrimaryIdentifier, int(v.Version)}
			})
		},
		func() error {
			return eachRow(r.q.IdentifiersOfJobs, jobs)(ctx, func(v pgdb.RecordIdentifier) {
				if v.State == stateDone {
					at[v.JobID].Identifier = v.Name
				}
			})
		},
		func() error {
			return eachRow(r.q.FinishedEffects, keys)(ctx, func(key string) { effects[key].Stored = true })
		},
		func() error {
			return eachRow(r.q.ReplicasOfJobs, jobs)(ctx, func(row pgdb.RecordReplica) {
				k := at[row.JobID]
				k.Replicas = append(k.Replicas, replicas([]pgdb.RecordReplica{row})...)
			})
		},
		func() error {
			return eachRow(r.q.ObjectsByID, primaries)(ctx, func(o pgdb.RecordObject) {
				for _, k := range objects[o.PrimaryIdentifier] {
					k.Object = ObjectRow{Owner: o.Owner, Collection: o.Collection, Current: int(o.CurrentVersion), LocalIDs: o.LocalID,
						Metadata: domain.Metadata{ErcWho: o.ErcWho, ErcWhat: o.ErcWhat, ErcWhen: o.ErcWhen}}
				}
			})
		},
		func() error {
			return eachRow(r.q.WithdrawnObjects, primaries)(ctx, func(w pgdb.WithdrawnObjectsRow) {
				for _, k := range objects[w.PrimaryIdentifier] {
					k.Withdrawal = w.State
				}
			})
		},
		func() error {
			return eachRow(r.q.LocalIDsOfObjects, primaries)(ctx, func(l pgdb.LocalIDsOfObjectsRow) {
				for _, k := range objects[l.PrimaryIdentifier] {
					k.LocalIDs = append(k.LocalIDs, l.LocalID)
				}
			})
		})
	return kept, wrap(err, "read what is kept of", "stored versions")
}

// eachRow returns a function that runs a query and calls do with each row.
func eachRow[R any](ask func(context.Context, []string) ([]R, error), about []string) func(context.Context, func(R)) error {
	return func(ctx context.Context, do func(R)) error {
		rows, err := ask(ctx, about)
		for _, row := range rows {
			do(row)
		}
		return err
	}
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// VersionsAfter returns up to limit versions of the inventory, in the order of their
// jobs, after the job given.
func (r *Records) VersionsAfter(ctx context.Context, after domain.JobID, limit int) ([]Version, error) {
	rows, err := r.q.VersionsAfter(ctx, pgdb.VersionsAfterParams{After: string(after), MaxRows: int32(limit)})
	all := make([]Version, len(rows))
	for i, v := range rows {
		all[i] = Version{VersionID: VersionID{v.PrimaryIdentifier, int(v.Version)}, Job: domain.JobID(v.JobID), Batch: domain.BatchID(v.BatchID)}
	}
	return all, wrap(err, "read the versions after", string(after))
}

// EmptyObjects returns up to limit objects of the inventory that have no version, in
// their order, after the object given.
func (r *Records) EmptyObjects(ctx context.Context, after string, limit int) ([]string, error) {
	rows, err := r.q.EmptyObjects(ctx, pgdb.EmptyObjectsParams{After: after, MaxRows: int32(limit)})
	return rows, wrap(err, "read the objects after", after)
}

// Restoration is what is known of a stored version from its storage manifest and the
// history of its job.
type Restoration struct {
	Object
	Recorded bool                // the inventory should have it
	Minted   bool                // its identifier was minted for the job
	Result   domain.StoredObject // of the effect of storing
}

// RestoreVersion makes the records what they should be for a stored version: its
// reservation, its identifier, its collection, the effect of storing, its local ids and, once it is
// recorded, its rows in the inventory. Whatever the records say instead is replaced, but
// for local ids that lead to another object, which is CodeIdentifierMismatch.
func (r *Records) RestoreVersion(ctx context.Context, v Restoration) error {
	const op = "restore the version of"
	m, about := v.Manifest, string(v.Manifest.Job)
	result, err := json.Marshal(v.Result)
	if err != nil {
		return wrap(err, op, about)
	}
	err = r.inTx(ctx, func(q *pgdb.Queries) error {
		if err := q.LockObject(ctx, m.Object); err != nil {
			return err
		}
		of := pgdb.TakeReservationParams{PrimaryIdentifier: m.Object, Version: int64(m.Version), JobID: about}
		return inOrder(
			func() error { return q.TakeReservation(ctx, of) },
			func() error {
				return q.PutReservation(ctx, pgdb.PutReservationParams{JobID: about, PrimaryIdentifier: m.Object, Version: int64(m.Version)})
			},
			func() error { return restoreIdentifier(ctx, q, v) },
			func() error {
				_, err := q.BeginEffect(ctx, pgdb.BeginEffectParams{Key: StoreKey(m.Job, m.Version), Kind: EffectStore})
				return err
			},
			func() error {
				_, err := q.FinishEffect(ctx, pgdb.FinishEffectParams{Key: StoreKey(m.Job, m.Version), Result: result})
				return err
			},
			func() error { return restoreObject(ctx, q, v) },
			func() error {
				_, err := q.KeepCollection(ctx, pgdb.KeepCollectionParams{PrimaryIdentifier: m.Object, Collection: v.Collection, JobID: about, Fresh: true})
				return err
			})
	})
	if err != nil {
		return wrap(err, op, about)
	}
	_, err = r.BindLocalID(ctx, Scope{v.Owner, v.Collection}, m.LocalIDs, m.Object, m.Job)
	return err
}

func restoreIdentifier(ctx context.Context, q *pgdb.Queries, v Restoration) error {
	if !v.Minted {
		return nil
	}
	m := v.Manifest
	if err := q.InsertIdentifier(ctx, pgdb.InsertIdentifierParams{JobID: string(m.Job), Name: m.Object}); err != nil {
		return err
	}
	n, err := q.ConfirmIdentifier(ctx, pgdb.ConfirmIdentifierParams{JobID: string(m.Job), Name: m.Object})
	if err == nil && n == 0 {
		return refuse(CodeIdentifierTaken, "restore the identifier of", string(m.Job), "%s is kept as another job's, or another one as the job's", m.Object)
	}
	return err
}

func restoreObject(ctx context.Context, q *pgdb.Queries, v Restoration) error {
	m, e := v.Manifest, v.Metadata
	if !v.Recorded {
		return nil
	}
	if m.LocalIDs == nil {
		m.LocalIDs = []string{}
	}
	of := pgdb.RemoveFilesOfParams{JobID: string(m.Job), PrimaryIdentifier: m.Object, Version: int64(m.Version)}
	return inOrder(
		func() error { return q.RemoveFilesOf(ctx, of) },
		func() error { return q.RemoveVersionOf(ctx, pgdb.RemoveVersionOfParams(of)) },
		func() error {
			return q.PutObject(ctx, pgdb.PutObjectParams{PrimaryIdentifier: m.Object, Owner: v.Owner, Collection: v.Collection, Version: int64(m.Version),
				ErcWho: e.ErcWho, ErcWhat: e.ErcWhat, ErcWhen: e.ErcWhen, LocalID: m.LocalIDs})
		},
		func() error { return insertObject(ctx, q, v.Object) })
}

// Reservations returns every version that is reserved.
func (r *Records) Reservations(ctx context.Context) ([]VersionID, error) {
	rows, err := r.q.Reservations(ctx)
	all := make([]VersionID, len(rows))
	for i, v := range rows {
		all[i] = VersionID{v.PrimaryIdentifier, int(v.Version)}
	}
	return all, wrap(err, "read the reserved", "versions")
}
