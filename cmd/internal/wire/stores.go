package wire

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/audit"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/replica"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// VerifyConfig implements app.Effects.
func (in *Installation) VerifyConfig(ctx context.Context, o audit.Options) (cfg audit.Config, err error) {
	var records *record.Records
	var at *stores
	s := consistency.Config{Wait: o.Wait, OutboxLimit: o.OutboxLimit, Progress: o.Progress, WorkDirs: in.WorkDirs}
	err = openAll(ctx, into(&s.Live, in.Inspect), into(&s.Log, in.Log), into(&s.DB, in.DB), into(&s.HighWater, in.HighWater), into(&records, in.Records), into(&at, in.allStores))
	if err != nil {
		return cfg, err
	}
	s.Used, s.Attempts = records.HighestIDs, ends{in}
	return audit.Config{Range: o.Objects, Deep: o.Deep, Rate: o.Rate, Servers: s, Records: records, Stores: at, Profiles: at.profiles,
		Replicas: replica.Keeper{Records: records, Open: at.At, Log: in.log}}, nil
}

// ObjectStore implements app.Effects.
func (in *Installation) ObjectStore(ctx context.Context, profile string) (*store.Store, error) {
	all, err := in.allStores(ctx)
	if err != nil {
		return nil, err
	}
	return all.ProfileStore(ctx, profile)
}

func (in *Installation) allStores(ctx context.Context) (*stores, error) {
	return in.stores.get(ctx, func(ctx context.Context) (*stores, error) {
		var objects *store.Store
		var profiles *profile.Set
		err := openAll(ctx, into(&objects, in.Uploads), into(&profiles, in.profileSet))
		return &stores{profiles: profiles, own: objects, opened: map[string]*store.Store{}}, err
	})
}

// stores are the object stores of an installation; those that only profiles name are
// opened when they are first needed.
type stores struct {
	profiles *profile.Set
	own      *store.Store

	mu     sync.Mutex
	opened map[string]*store.Store // by location
}

// ProfileStore implements audit.Stores.
func (s *stores) ProfileStore(ctx context.Context, name string) (*store.Store, error) {
	p, err := s.profiles.Get(name)
	if err != nil && !profile.Missing(err) {
		return nil, err
	}
	if err != nil || p.Bucket() == profile.DefaultBucket {
		return s.own, nil //nolint:nilerr // as documented
	}
	at, err := s.At(ctx, p.Bucket())
	if err != nil {
		return nil, failed("open the object store of profile "+name, err, "storage in "+p.File+" names it")
	}
	return at, nil
}

// At implements audit.Stores.
func (s *stores) At(ctx context.Context, location string) (*store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.opened[location]; ok {
		return at, nil
	}
	at, err := store.Open(context.WithoutCancel(ctx), location)
	if err == nil {
		s.opened[location] = at
	}
	return at, err
}

// AllStores implements audit.Stores.
func (s *stores) AllStores(ctx context.Context) ([]*store.Store, error) {
	all := []*store.Store{s.own}
	for _, name := range s.profiles.Names() {
		at, err := s.ProfileStore(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all, nil
}

// close closes those that only profiles name, replicas included.
func (s *stores) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, at := range s.opened {
		errs = append(errs, at.Close())
	}
	return errors.Join(errs...)
}
