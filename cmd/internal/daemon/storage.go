package daemon

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

// storage opens the object stores and working directories that profiles name, each
// once.
type storage struct {
	objects      *store.Store
	workDir      *store.Work
	installation string

	mu     sync.Mutex
	stores map[string]*store.Store
	works  map[string]*store.Work
	opened []io.Closer // not those of the installation
}

// storageDefault is the name of the installation's store in a profile.
const storageDefault = "default"

func newStorage(cfg Config) *storage {
	return &storage{objects: cfg.Objects, workDir: cfg.Work, installation: cfg.Installation,
		stores: map[string]*store.Store{"": cfg.Objects, storageDefault: cfg.Objects}, works: map[string]*store.Work{"": cfg.Work}}
}

// once returns what was opened under a name, or opens it.
func once[T io.Closer](s *storage, by map[string]T, name string, open func() (T, error)) (T, error) {
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

// store returns the object store of a profile.
func (s *storage) store(ctx context.Context, of profile.Profile) (*store.Store, error) {
	return once(s, s.stores, of.Storage, func() (*store.Store, error) { return store.Open(context.WithoutCancel(ctx), of.Storage) })
}

// work returns the working directory of a profile.
func (s *storage) work(of profile.Profile) (*store.Work, error) {
	return once(s, s.works, of.WorkingDir, func() (*store.Work, error) { return store.OpenWork(of.WorkingDir, s.installation) })
}

// workingDir returns where a job of the profile will work, without opening it.
func (s *storage) workingDir(of profile.Profile, b domain.BatchID, j domain.JobID) string {
	if of.WorkingDir == "" {
		return s.workDir.Path(b, j)
	}
	return filepath.Join(of.WorkingDir, string(b), string(j))
}

// allWork returns every working directory that was opened, that of the installation
// included.
func (s *storage) allWork() []*store.Work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.works))
}

// close closes what was opened here.
func (s *storage) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, o := range s.opened {
		errs = append(errs, o.Close())
	}
	return errors.Join(errs...)
}
