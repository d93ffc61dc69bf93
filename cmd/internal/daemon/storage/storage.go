// Package storage opens the object stores and working directories that profiles name.
package storage

import (
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// Storage opens the object stores and working directories that profiles name, each
// once.
type Storage struct {
	workDir      *store.Work
	installation string

	mu     sync.Mutex
	stores map[string]*store.Store
	works  map[string]*store.Work
	opened []io.Closer // not those of the installation
}

// New returns a storage with the object store and the working directory of the
// installation, which it does not close.
func New(objects *store.Store, work *store.Work, installation string) *Storage {
	return &Storage{workDir: work, installation: installation,
		stores: map[string]*store.Store{profile.DefaultBucket: objects}, works: map[string]*store.Work{"": work}}
}

// once returns what was opened under a name, or opens it.
func once[T io.Closer](s *Storage, by map[string]T, name string, open func() (T, error)) (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is, ok := by[name]; ok {
		return is, nil
	}
	is, err := open()
	if err == nil {
		by[name], s.opened = is, append(s.opened, is)
	}
	return is, err
}

// Store returns the object store of a profile.
func (s *Storage) Store(ctx context.Context, of profile.Profile) (*store.Store, error) {
	return s.At(ctx, of.Bucket())
}

// At returns the object store at a location.
func (s *Storage) At(ctx context.Context, location string) (*store.Store, error) {
	return once(s, s.stores, location, func() (*store.Store, error) { return store.Open(context.WithoutCancel(ctx), location) })
}

// OwnStore reports whether a profile has an object store other than the installation's.
func (s *Storage) OwnStore(of profile.Profile) bool {
	return of.Bucket() != profile.DefaultBucket
}

// Work returns the working directory of a profile.
func (s *Storage) Work(of profile.Profile) (*store.Work, error) {
	return once(s, s.works, of.WorkingDir, func() (*store.Work, error) { return store.OpenWork(of.WorkingDir, s.installation) })
}

// WorkingDir returns where a job of the profile will work, without opening it.
func (s *Storage) WorkingDir(of profile.Profile, b domain.BatchID, j domain.JobID) string {
	if of.WorkingDir == "" {
		return s.workDir.Path(b, j)
	}
	return filepath.Join(of.WorkingDir, string(b), string(j))
}

// AllWork returns every working directory that was opened, that of the installation
// included.
func (s *Storage) AllWork() []*store.Work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.works))
}

// Close closes what was opened here.
func (s *Storage) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, o := range s.opened {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}
