package zklive_test

import (
	"cmp"
	"fmt"
	"os"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// BenchmarkClaim takes the head of a queue with many waiting behind it. The
// figure must not grow with the backlog.
func BenchmarkClaim(b *testing.B) {
	for _, waiting := range []int{100, 1_000, 50_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			s := benchStore(b, zklive.Config{QueueLimit: 100_000})
			fill(b, s, waiting)
			ctx := b.Context()
			// The first claim lists the queue once.
			c, _, err := s.NextJob(ctx, domain.JobPending, nil)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Release(ctx, c, 0); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				c, _, err := s.NextJob(ctx, domain.JobPending, nil)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := s.Release(ctx, c, 0); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		})
	}
}

func benchStore(b *testing.B, cfg zklive.Config) *zklive.Store {
	b.Helper()
	server := os.Getenv("ACCESSION_TEST_ZOOKEEPER")
	if server == "" {
		b.Fatal("ACCESSION_TEST_ZOOKEEPER is not set: run the benchmarks through `make bench`")
	}
	cfg.Servers, cfg.Root = []string{server}, cmp.Or(cfg.Root, "/test-"+uuid.NewString())
	s, err := zklive.Open(b.Context(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// fill makes n pending jobs.
func fill(b *testing.B, s *zklive.Store, n int) {
	b.Helper()
	ctx, h, o := b.Context(), handlerOf(s), eventstore.Meta{Actor: "bench"}
	id, err := s.ReserveBatchID(ctx)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(err)
	_, err = h.Batch(ctx, id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Type: domain.TypeBatchManifest}}, o)
	must(err)
	first, err := s.ReserveJobIDs(ctx, n)
	must(err)
	_, err = h.Batch(ctx, id, domain.ListBatch{Listing: domain.Listing{Rows: n, FirstJID: first}}, o)
	must(err)
	for row := 0; row < n; row += eventstore.MaxJobsPerCommit {
		cmds := make([]domain.CreateJob, min(eventstore.MaxJobsPerCommit, n-row))
		for i := range cmds {
			cmds[i] = domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: id, ProfileName: "maps", Row: row + i}}
		}
		_, err := h.CreateJobs(ctx, first, row, cmds, o)
		must(err)
	}
}
