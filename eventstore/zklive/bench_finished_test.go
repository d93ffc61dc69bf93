package zklive_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// BenchmarkFinished measures transitions beside finished jobs of other batches, in one
// tree that grows: of-empty is the rate compared with that of the empty tree in the same
// run. Meanwhile the batches are watched and the load is measured as in a service.
//
// ACCESSION_BENCH_FINISHED says beside how many, in ascending order. 100,000 take 0.3 GB
// of ZooKeeper's heap, so 1,000,000 need a larger one than the private server has.
func BenchmarkFinished(b *testing.B) {
	const live, jobsOfBatch = 2_000, 10
	var counts []int
	for text := range strings.SplitSeq(cmp.Or(os.Getenv("ACCESSION_BENCH_FINISHED"), "0,10000,100000"), ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n%jobsOfBatch != 0 || len(counts) > 0 && n <= counts[len(counts)-1] {
			b.Fatalf("ACCESSION_BENCH_FINISHED: %q is not an ascending list of multiples of %d", text, jobsOfBatch)
		}
		counts = append(counts, n)
	}
	s := benchStore(b, zklive.Config{GroupCommit: true})
	fill(b, s, live)
	beside(b, s)
	have, empty := 0, 0.0
	var made atomic.Int64
	for _, finished := range counts {
		if err := s.FillFinished(b.Context(), int64(1_000_000+have/jobsOfBatch), (finished-have)/jobsOfBatch, jobsOfBatch); err != nil {
			b.Fatal(err)
		}
		have = finished
		b.Run(fmt.Sprintf("finished=%d", finished), func(b *testing.B) {
			rate := reprioritise(b, s, live, &made)
			if finished == 0 {
				empty = rate
			}
			b.ReportMetric(rate, "transitions/s")
			if empty > 0 {
				b.ReportMetric(rate/empty, "of-empty")
			}
		})
	}
	removedAfter(b, s.Above()) // other benchmarks use the same server
}

// reprioritise changes the priorities of the first jobs in turn, each time round to
// another one, and returns how many changes a second were made.
func reprioritise(b *testing.B, s *zklive.Store, jobs int64, made *atomic.Int64) float64 {
	b.Helper()
	const workers = 64
	h, o := handlerOf(s), eventstore.Meta{Actor: "bench"}
	end := made.Load() + int64(b.N)
	g, ctx := errgroup.WithContext(b.Context())
	b.ResetTimer()
	for range workers {
		g.Go(func() error {
			for n := made.Add(1); n <= end; n = made.Add(1) {
				_, err := h.Job(ctx, domain.NewJobID(1+n%jobs), domain.ReprioritiseJob{Priority: 6 + int(n/jobs%2)}, o)
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	return float64(b.N) / b.Elapsed().Seconds()
}

// beside does what a service does all the time beside its work.
func beside(b *testing.B, s *zklive.Store) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var g errgroup.Group
	g.Go(func() error { _, _, err := s.NextBatch(ctx, domain.BatchReporting, nil); return err })
	g.Go(func() error {
		for tick := time.NewTicker(500 * time.Millisecond); ctx.Err() == nil; {
			if _, err := s.Load(ctx); err != nil {
				return err
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
		return nil
	})
	b.Cleanup(func() { cancel(); _ = g.Wait() })
}
