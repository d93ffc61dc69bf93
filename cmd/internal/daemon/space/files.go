package space

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Files promises working space to downloads of files without a job, beside what is promised to
// jobs. Each process promises by itself: it notes the promise first, so that the others see it,
// and then looks whether it fits.
type Files struct {
	in    eventstore.Space
	dirOf func(profile string) string

	mu   sync.Mutex
	jobs map[domain.JobID]eventstore.Promise // that were read before
}

// NewFiles returns what promises space to files; dirOf names the working directory of a profile.
func NewFiles(in eventstore.Space, dirOf func(profile string) string) *Files {
	return &Files{in: in, dirOf: dirOf, jobs: map[domain.JobID]eventstore.Promise{}}
}

// ErrShort is the error of a file for which there is no working space now.
var ErrShort = errors.New("there is no working space for the file now")

// Promise promises a file the bytes that it needs, if they fit beside what is promised to others
// and the reserve; end ends the promise. ErrShort: they do not fit. [eventstore.ErrLocked]:
// they are promised already.
func (f *Files) Promise(ctx context.Context, p eventstore.FilePromise, reserve int64, free func() (int64, error)) (end func(), err error) {
	end, err = f.in.PromiseFile(ctx, p)
	if err != nil {
		return nil, err
	}
	others, err := f.others(ctx, p)
	if err == nil {
		var bytes int64
		if bytes, err = free(); err == nil && bytes-reserve-others < p.Bytes {
			err = fmt.Errorf("%w: it needs %d bytes; %d are free, of which %d stay in reserve and %d are promised to others", ErrShort, p.Bytes, bytes, reserve, others)
		}
	}
	if err != nil {
		end()
		return nil, err
	}
	return end, nil
}

// others returns how much of the working directory of a promise is promised to others.
func (f *Files) others(ctx context.Context, p eventstore.FilePromise) (bytes int64, err error) {
	dir := f.dirOf(p.Profile)
	all, err := f.in.FilePromises(ctx)
	if err != nil {
		return 0, err
	}
	for _, other := range all {
		if other.File != p.File && f.dirOf(other.Profile) == dir {
			bytes += other.Bytes
		}
	}
	ids, err := f.in.Promised(ctx)
	if err != nil {
		return 0, err
	}
	now, err := f.read(ctx, ids)
	for _, job := range now {
		if f.dirOf(job.Profile) == dir {
			bytes += job.Bytes
		}
	}
	return bytes, err
}

// read returns the promises to jobs. What was read before is not read again: it is of another size
// only if its job was estimated anew between two looks.
func (f *Files) read(ctx context.Context, ids []domain.JobID) (map[domain.JobID]eventstore.Promise, error) {
	f.mu.Lock()
	known := f.jobs
	f.mu.Unlock()
	var mu sync.Mutex
	now := make(map[domain.JobID]eventstore.Promise, len(ids))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(promisesParallel)
	for _, id := range ids {
		if is, there := known[id]; there {
			mu.Lock()
			now[id] = is
			mu.Unlock()
			continue
		}
		g.Go(func() error {
			is, err := f.in.Promise(ctx, id)
			if errors.Is(err, eventstore.ErrNotFound) || errors.Is(err, eventstore.ErrBroken) {
				return nil // it has ended, or `verify` mends it
			}
			mu.Lock()
			defer mu.Unlock()
			now[id] = is
			return err
		})
	}
	err := g.Wait()
	if err == nil {
		f.mu.Lock()
		f.jobs = now
		f.mu.Unlock()
	}
	return now, err
}
