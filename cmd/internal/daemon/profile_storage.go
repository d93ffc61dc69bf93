package daemon

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// places opens the object stores and working directories that profiles name, each
// once.
type places struct {
	objects      *store.Store
	workDir      *store.Work
	installation string

	mu     sync.Mutex
	stores map[string]*store.Store
	works  map[string]*store.Work
}

// storageDefault is how a profile names the store of the installation.
const storageDefault = "default"

func newPlaces(cfg Config) *places {
	return &places{objects: cfg.Objects, workDir: cfg.Work, installation: cfg.Installation,
		stores: map[string]*store.Store{}, works: map[string]*store.Work{}}
}

// store gives the object store of a profile.
func (p *places) store(ctx context.Context, of profile.Profile) (*store.Store, error) {
	if of.Storage == "" || of.Storage == storageDefault {
		return p.objects, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.stores[of.Storage]; s != nil {
		return s, nil
	}
	s, err := store.Open(context.WithoutCancel(ctx), of.Storage)
	if err == nil {
		p.stores[of.Storage] = s
	}
	return s, err
}

// work gives the working directory of a profile.
func (p *places) work(of profile.Profile) (*store.Work, error) {
	if of.WorkingDir == "" {
		return p.workDir, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.works[of.WorkingDir]; w != nil {
		return w, nil
	}
	w, err := store.OpenWork(of.WorkingDir, p.installation)
	if err == nil {
		p.works[of.WorkingDir] = w
	}
	return w, err
}

// workingDir gives where a job of the profile will work, without opening it.
func (p *places) workingDir(of profile.Profile, b domain.BatchID, j domain.JobID) string {
	if of.WorkingDir == "" {
		return p.workDir.Path(b, j)
	}
	return filepath.Join(of.WorkingDir, string(b), string(j))
}

// workingRoot names the working directory of a profile, to tell one from another.
func workingRoot(of profile.Profile) string { return of.WorkingDir }

// all gives every working directory that was opened, the default one first.
func (p *places) all() []*store.Work {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []*store.Work{p.workDir}
	for _, w := range p.works {
		all = append(all, w)
	}
	return all
}

// close closes what was opened here.
func (p *places) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, s := range p.stores {
		errs = append(errs, s.Close())
	}
	for _, w := range p.works {
		errs = append(errs, w.Close())
	}
	clear(p.stores)
	clear(p.works)
	return errors.Join(errs...)
}
