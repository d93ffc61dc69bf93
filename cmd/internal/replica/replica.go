// Package replica keeps copies of stored versions in the stores that profiles name as
// replicas. That a version is to be copied is kept in the records before it is: what a process
// leaves undone, another one does. A copy has the same bytes under the same keys as the store
// that it is of, so that either can take the place of the other.
package replica

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Records keeps which versions are to be copied, and which were.
type Records interface {
	RequireReplicas(ctx context.Context, v record.Replicated, locations []string) error
	SettleReplica(ctx context.Context, v record.Replicated, location string, failed error) error
	Withdrawn(ctx context.Context, object string) (bool, error)
	ForgetReplica(ctx context.Context, v record.VersionID, location string) error
}

// Keeper copies stored versions.
type Keeper struct {
	Records Records
	Open    func(ctx context.Context, location string) (*store.Store, error)
	Log     *slog.Logger
}

// Keep requires that what a job has stored is copied to the replicas of its profile, and copies
// it to each. What is not copied in time stays pending. An error says that it is not known to
// be required.
func (k Keeper) Keep(ctx context.Context, from *store.Store, job domain.JobID, o domain.StoredObject, of profile.Profile) error {
	locations := of.Replicas
	if len(locations) == 0 {
		return nil
	}
	v := record.Replicated{Stored: record.Stored{VersionID: record.VersionID{Object: o.Primary, Version: o.Version}, Job: job},
		ProfileName: of.Name, ManifestKey: o.ManifestKey, ManifestSHA256: o.ManifestSHA256}
	if err := k.Records.RequireReplicas(ctx, v, locations); err != nil {
		return err
	}
	inTime, cancel := context.WithTimeout(ctx, within(o.Bytes))
	defer cancel()
	for _, location := range locations {
		if err := k.copy(inTime, from, v, location); err != nil && ctx.Err() == nil {
			k.Log.Warn("a replica is pending", "object", v.Object, "version", v.Version, "location", location, "error", err)
		}
	}
	return ctx.Err()
}

// Copy is Keep for one store, without a limit; an error says that it was not copied.
func (k Keeper) Copy(ctx context.Context, from *store.Store, v record.Replicated, location string) error {
	if err := k.Records.RequireReplicas(ctx, v, []string{location}); err != nil {
		return err
	}
	return k.copy(ctx, from, v, location)
}

func (k Keeper) copy(ctx context.Context, from *store.Store, v record.Replicated, location string) error {
	gone, err := k.Records.Withdrawn(ctx, v.Object)
	if err != nil {
		return err
	}
	if gone { // there is nothing to be copied
		return k.Records.ForgetReplica(ctx, v.VersionID, location)
	}
	to, err := k.Open(ctx, location)
	if err == nil {
		err = crash.Around("replica/version/copy", func() error { return to.CopyVersion(ctx, from, v.Object, v.ManifestKey, v.ManifestSHA256) })
	}
	// It ends also after the time for copying.
	settling, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if to != nil {
		gone, bad := k.Records.Withdrawn(settling, v.Object)
		if gone { // meanwhile
			if _, err := to.RemoveContent(settling, v.Object); err != nil {
				return err
			}
			return k.Records.ForgetReplica(settling, v.VersionID, location)
		}
		err = errors.Join(err, bad)
	}
	return errors.Join(err, k.Records.SettleReplica(settling, v, location, err))
}

const (
	// A job waits for its copies for so long, and as long as their bytes take at this rate
	// per second.
	leastTime = 30 * time.Second
	leastRate = 10 << 20
	// patience is how often that time is doubled at most for what is pending, once for each
	// attempt that failed: a slow store gets its copies, and one that hangs keeps no other
	// one from them for long.
	patience = 7

	settleTimeout = 10 * time.Second
	look          = 10 * time.Second // how often a process looks for what is pending
	aPage         = 100
)

// within returns how long a job waits for its copies of so many bytes.
func within(bytes int64) time.Duration {
	return leastTime + time.Duration(bytes/leastRate)*time.Second
}

// Pending copies what is pending. One process does at a time.
type Pending struct {
	Keeper
	All interface {
		PendingReplicas(ctx context.Context, most int) ([]record.Replica, error)
		ForgetReplica(ctx context.Context, v record.VersionID, location string) error
		LeadReplicas(ctx context.Context) (release func(), leads bool, err error)
	}
	Profiles interface {
		Get(name string) (profile.Profile, error)
	}
	// From opens the store that has the versions of a profile.
	From func(ctx context.Context, profile string) (*store.Store, error)
}

// Run copies until ctx ends.
func (p *Pending) Run(ctx context.Context) error {
	for {
		if err := p.Once(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("copying of replicas stopped; it is continued later", "error", err)
		}
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return nil
		}
	}
}

// Once copies what is to be tried now, unless another process does.
func (p *Pending) Once(ctx context.Context) error {
	release, leads, err := p.All.LeadReplicas(ctx)
	if err != nil || !leads {
		return err
	}
	defer release()
	for {
		list, err := p.All.PendingReplicas(ctx, aPage)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			if err := p.one(ctx, r); err != nil {
				return err
			}
		}
	}
}

// one tries one replica. One whose profile does not name it any more is forgotten.
func (p *Pending) one(ctx context.Context, r record.Replica) error {
	of, err := p.Profiles.Get(r.ProfileName)
	if err != nil && !profile.Missing(err) {
		return err
	}
	if !slices.Contains(of.Replicas, r.Location) {
		return p.All.ForgetReplica(ctx, r.VersionID, r.Location)
	}
	from, err := p.From(ctx, r.ProfileName)
	if err != nil {
		return p.Records.SettleReplica(ctx, r.Replicated, r.Location, err)
	}
	inTime, cancel := context.WithTimeout(ctx, p.timeFor(ctx, from, r))
	defer cancel()
	if err := p.copy(inTime, from, r.Replicated, r.Location); err != nil && ctx.Err() == nil {
		p.Log.Warn("a replica stays pending", "object", r.Object, "version", r.Version, "location", r.Location, "error", err)
	}
	return ctx.Err()
}

// timeFor returns how long an attempt at a replica may take. A version whose size cannot be
// read counts as one without bytes: its copy fails in any case.
func (p *Pending) timeFor(ctx context.Context, from *store.Store, r record.Replica) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, leastTime)
	defer cancel()
	m, _, _ := from.ReadManifest(ctx, r.ManifestKey)
	return within(m.Bytes) << min(r.Attempts, patience)
}
