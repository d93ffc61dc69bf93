package zklive_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
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
// of ZooKeeper's heap, so that 1,000,000 need a larger one than the private server has by itself.
func BenchmarkFinished(b *testing.B) {
	const jobsOfBatch = 10
	var counts []int
	for text := range strings.SplitSeq(cmp.Or(os.Getenv("ACCESSION_BENCH_FINISHED"), "0,100000,1000000"), ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n%jobsOfBatch != 0 || len(counts) > 0 && n <= counts[len(counts)-1] {
			b.Fatalf("ACCESSION_BENCH_FINISHED: %q is not an ascending list of multiples of %d", text, jobsOfBatch)
		}
		counts = append(counts, n)
	}
	s := benchStore(b, zklive.Config{GroupCommit: true})
	f := toAndFro{workers: 64, jobs: 32}
	fill(b, s, f.workers*f.jobs)
	beside(b, s)
	have, empty := 0, 0.0
	for _, finished := range counts {
		if err := s.FillFinished(b.Context(), int64(1_000_000+have/jobsOfBatch), (finished-have)/jobsOfBatch, jobsOfBatch); err != nil {
			b.Fatal(err)
		}
		have = finished
		b.Run(fmt.Sprintf("finished=%d", finished), func(b *testing.B) {
			rate := f.rate(b, s)
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

// toAndFro holds jobs, and releases them again, from several workers that have jobs of
// their own. done is how many transitions each has made.
type toAndFro struct{ workers, jobs, done int }

// rate returns how many transitions a second are made, at least b.N in all.
func (f *toAndFro) rate(b *testing.B, s *zklive.Store) float64 {
	b.Helper()
	h, o := handlerOf(s), eventstore.Meta{Actor: "bench"}
	why := domain.Reason{Class: domain.ClassWait, Code: domain.CodeHeldByOperator, Message: "a bench"}
	each := (b.N + f.workers - 1) / f.workers
	g, ctx := errgroup.WithContext(b.Context())
	b.ResetTimer()
	for worker := range f.workers {
		g.Go(func() error {
			for n := f.done; n < f.done+each; n++ {
				var cmd domain.JobCommand = domain.HoldJob{Reason: why}
				if n/f.jobs%2 == 1 {
					cmd = domain.ReleaseJob{}
				}
				if _, err := h.Job(ctx, domain.NewJobID(int64(1+worker*f.jobs+n%f.jobs)), cmd, o); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		b.Fatal(err)
	}
	f.done += each
	return float64(each*f.workers) / b.Elapsed().Seconds()
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
