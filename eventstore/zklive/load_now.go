package zklive

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Load tells how much of the live state is in use. Directories are counted, not
// listed.
func (s *Store) Load(ctx context.Context) (l eventstore.Load, err error) {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		d, err := s.Depth(gctx)
		l.Unsent = d.Unsent
		return err
	})
	g.Go(func() (err error) { l.Batches, err = s.count(gctx, s.paths.at("/batches")); return err })
	g.Go(func() (err error) { l.Queues, err = s.queued(gctx); return err })
	return l, g.Wait()
}

// queued counts the jobs by state.
func (s *Store) queued(ctx context.Context) (map[domain.JobState]int, error) {
	counts := make([]int, len(domain.JobStates))
	g, gctx := errgroup.WithContext(ctx)
	for i, state := range domain.JobStates {
		g.Go(func() (err error) { counts[i], err = s.count(gctx, s.paths.queue(state)); return err })
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	queues := make(map[domain.JobState]int, len(counts))
	for i, state := range domain.JobStates {
		queues[state] = counts[i]
	}
	return queues, nil
}

// count gives how many children a node has.
func (s *Store) count(ctx context.Context, path string) (int, error) {
	stat, err := s.exists(ctx, path)
	if err != nil || stat == nil {
		return 0, err
	}
	return int(stat.NumChildren), nil
}
