package record

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/record/internal/pgdb"
	"github.com/accession-ingest/accession/domain"
)

// The states of a replica.
const (
	ReplicaPending = "pending" // there is no complete copy yet
	ReplicaStored  = "stored"
)

// Replicated is a stored version that has copies in other stores.
type Replicated struct {
	Stored
	ProfileName    string
	ManifestKey    string // in either store
	ManifestSHA256 string
}

// Replica is the copy of a stored version in one store.
type Replica struct {
	Replicated
	Location string // URL of the store
	State    string
	Since    domain.Time // in this state
	Attempts int64
	Error    string // of the last attempt, "" = it had none
}

func replicas(rows []pgdb.RecordReplica) []Replica {
	all := make([]Replica, len(rows))
	for i, r := range rows {
		all[i] = Replica{Replicated: Replicated{Stored: Stored{VersionID: VersionID{r.PrimaryIdentifier, int(r.Version)}, Job: domain.JobID(r.JobID)},
			ProfileName: r.ProfileName, ManifestKey: r.ManifestKey, ManifestSHA256: r.ManifestSha256},
			Location: r.Location, State: r.State, Since: domain.At(r.Since), Attempts: r.Attempts, Error: r.Error}
	}
	return all
}

// RequireReplicas keeps that a version is to be copied to stores; those to which it was
// copied stay as they are.
func (r *Records) RequireReplicas(ctx context.Context, v Replicated, locations []string) error {
	_, err := change("replica/require", func() (struct{}, error) {
		return struct{}{}, r.q.RequireReplicas(ctx, pgdb.RequireReplicasParams{PrimaryIdentifier: v.Object, Version: int64(v.Version), JobID: string(v.Job),
			ProfileName: v.ProfileName, ManifestKey: v.ManifestKey, ManifestSha256: v.ManifestSHA256, Locations: locations})
	})
	return wrap(err, "require replicas of", v.Object)
}

// SettleReplica keeps how an attempt to copy a version ended, nil = every byte is there.
func (r *Records) SettleReplica(ctx context.Context, v Replicated, location string, failed error) error {
	const op = "settle a replica of"
	if failed != nil {
		_, err := change("replica/fail", func() (struct{}, error) {
			return struct{}{}, r.q.ReplicaFailed(ctx, pgdb.ReplicaFailedParams{Error: failed.Error(),
				PrimaryIdentifier: v.Object, Version: int64(v.Version), Location: location, ManifestSha256: v.ManifestSHA256})
		})
		return wrap(err, op, v.Object)
	}
	_, err := change("replica/settle", func() (struct{}, error) {
		return struct{}{}, r.q.ReplicaStored(ctx, pgdb.ReplicaStoredParams{PrimaryIdentifier: v.Object, Version: int64(v.Version), Location: location, ManifestSha256: v.ManifestSHA256})
	})
	return wrap(err, op, v.Object)
}

// RepeatReplica keeps that a copy that was complete is not what it should be, so that it is
// made again.
func (r *Records) RepeatReplica(ctx context.Context, v Replicated, location, why string) error {
	_, err := change("replica/repeat", func() (struct{}, error) {
		return struct{}{}, r.q.RepeatReplica(ctx, pgdb.RepeatReplicaParams{Error: why,
			PrimaryIdentifier: v.Object, Version: int64(v.Version), Location: location, ManifestSha256: v.ManifestSHA256})
	})
	return wrap(err, "repeat a replica of", v.Object)
}

// ForgetReplica removes a replica that no profile names any more; what was copied stays there.
func (r *Records) ForgetReplica(ctx context.Context, v VersionID, location string) error {
	_, err := change("replica/forget", func() (struct{}, error) {
		return struct{}{}, r.q.ForgetReplica(ctx, pgdb.ForgetReplicaParams{PrimaryIdentifier: v.Object, Version: int64(v.Version), Location: location})
	})
	return wrap(err, "forget a replica of", v.Object)
}

// PendingReplicas returns up to most replicas that are to be tried now.
func (r *Records) PendingReplicas(ctx context.Context, most int) ([]Replica, error) {
	rows, err := r.q.PendingReplicas(ctx, int32(min(most, 1<<20))) //nolint:gosec // bounded
	return replicas(rows), wrap(err, "read what is", "to be copied")
}

// ReplicasOf returns the replicas of an object's versions.
func (r *Records) ReplicasOf(ctx context.Context, object string) ([]Replica, error) {
	rows, err := r.q.ReplicasOfObject(ctx, object)
	return replicas(rows), wrap(err, "read the replicas of", object)
}

// LeadReplicas makes this process the only one that copies what is pending, until release is
// called; false when another one is.
func (r *Records) LeadReplicas(ctx context.Context) (release func(), leads bool, err error) {
	return r.leads.take(ctx, "accession replicas")
}
