package zklive

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive/internal/layout"
)

// Load returns what is in use. Directories are counted, and listed by package statuses alone.
func (s *Store) Load(ctx context.Context) (l eventstore.Load, err error) {
	unsent := 0
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		d, err := s.Depth(gctx)
		unsent = d.Unsent
		return err
	})
	g.Go(func() (err error) { l, err = s.reader.load(gctx); return err })
	if err := g.Wait(); err != nil {
		return l, err
	}
	l.Unsent, l.Heap = unsent, l.Heap+layout.Counts{Items: unsent}.Heap()
	l.Unended, err = s.unended.Count(ctx, l.Batches+l.Queries)
	return l, err
}

// load counts batches, queries, entries and jobs.
func (r *reader) load(ctx context.Context) (l eventstore.Load, err error) {
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) { l.Batches, err = r.conn.Count(gctx, r.root.Batches()); return err })
	g.Go(func() (err error) { l.Queries, err = r.conn.Count(gctx, r.root.Queries()); return err })
	g.Go(func() (err error) { l.Entries, err = r.conn.Count(gctx, r.root.Entries()); return err })
	g.Go(func() (err error) { l.Jobs, err = r.conn.Count(gctx, r.root.Jobs()); return err })
	g.Go(func() (err error) { l.Queues, err = r.queued(gctx); return err })
	if err := g.Wait(); err != nil {
		return l, err
	}
	queued := 0
	for _, n := range l.Queues {
		queued += n
	}
	l.Jobs = max(l.Jobs-1, queued) // the directory of the queues is no job
	counts := layout.Counts{Batches: l.Batches, Queries: l.Queries, Entries: l.Entries, Queued: queued, Finished: l.Jobs - queued}
	if r.compact {
		counts.Finished, counts.Compact = 0, counts.Finished
	}
	l.Heap = counts.Heap()
	return l, nil
}

// roomForRows returns an error if the jobs of a listing do not fit the server's heap. A
// listing is begun if all of its jobs fit. One that was begun is continued a little
// beyond the limit: otherwise several of them could wait for each other.
func (w *committer) roomForRows(l eventstore.Load, rows *layout.NextRows) error {
	need, most := l.Heap+layout.Counts{Queued: rows.Now.Rows}.Heap(), w.heapLimit
	if rows.Now.NextRow > 0 {
		need, most = l.Heap, most+most/4
	}
	if w.heapLimit == 0 || need <= most {
		return nil
	}
	return &eventstore.Error{Op: "make jobs of", Aggregate: rows.Batch.Aggregate(), Err: eventstore.ErrFull,
		Hint: fmt.Sprintf("its %d jobs would take %d MiB of ZooKeeper's heap together with the %d batches and %d jobs there, and may take %d",
			rows.Now.Rows, need>>20, l.Batches, l.Jobs, most>>20)}
}
