package zklive_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
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
			c, _, err := s.NextJob(ctx, domain.JobPending)
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Release(ctx, c, 0); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			for b.Loop() {
				c, _, err := s.NextJob(ctx, domain.JobPending)
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

// BenchmarkTransition makes claim and transition with many workers, beside the
// raw rate of an equal multi sent by as many.
func BenchmarkTransition(b *testing.B) {
	for _, workers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			s := benchStore(b, zklive.Config{QueueLimit: 1_000_000})
			raw := rawRate(b, workers)
			fill(b, s, b.N)
			h := handlerOf(s)
			ctx, stop := context.WithCancel(b.Context())
			defer stop()
			var left atomic.Int64
			left.Store(int64(b.N))
			var wg sync.WaitGroup
			b.ResetTimer()
			for range workers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for left.Add(-1) >= 0 {
						c, at, err := s.NextJob(ctx, domain.JobPending)
						if err == nil {
							_, err = h.Job(ctx, at.State.ID, domain.AcceptJob{}, eventstore.Order{Actor: "bench", Claim: c, Known: &at})
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				}()
			}
			wg.Wait()
			rate := float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "transitions/s")
			b.ReportMetric(raw, "raw-multis/s")
			b.ReportMetric(100*rate/raw, "%ofraw")
		})
	}
}

// rawRate sends multis of the same shape as a transition's.
func rawRate(b *testing.B, workers int) float64 {
	b.Helper()
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	root, acl := "/test-"+uuid.NewString(), zk.WorldACL(zk.PermAll)
	for _, n := range []string{"", "/s", "/a", "/b", "/o"} {
		if _, err := conn.Create(root+n, nil, 0, acl); err != nil {
			b.Fatal(err)
		}
	}
	const total = 4000
	status, event := make([]byte, 250), make([]byte, 700)
	for i := range total {
		if _, err := conn.Multi(&zk.CreateRequest{Path: fmt.Sprintf("%s/s/%d", root, i), Data: status, Acl: acl},
			&zk.CreateRequest{Path: fmt.Sprintf("%s/a/%d", root, i), Acl: acl},
			&zk.CreateRequest{Path: fmt.Sprintf("%s/s/%d/lock", root, i), Acl: acl}); err != nil {
			b.Fatal(err)
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := next.Add(1) - 1
				if i >= total {
					return
				}
				if _, err := conn.Multi(&zk.CheckVersionRequest{Path: root, Version: -1}, &zk.CheckVersionRequest{Path: root + "/o", Version: 0},
					&zk.DeleteRequest{Path: fmt.Sprintf("%s/a/%d", root, i), Version: -1},
					&zk.SetDataRequest{Path: fmt.Sprintf("%s/s/%d", root, i), Data: status, Version: 0},
					&zk.CreateRequest{Path: fmt.Sprintf("%s/b/%d", root, i), Acl: acl},
					&zk.DeleteRequest{Path: fmt.Sprintf("%s/s/%d/lock", root, i), Version: -1},
					&zk.CreateRequest{Path: root + "/o/e-", Data: event, Acl: acl, Flags: zk.FlagSequence}); err != nil {
					b.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	return total / time.Since(begin).Seconds()
}

func benchStore(b *testing.B, cfg zklive.Config) *zklive.Store {
	b.Helper()
	server := os.Getenv("ACCESSION_TEST_ZOOKEEPER")
	if server == "" {
		b.Fatal("ACCESSION_TEST_ZOOKEEPER is not set: run the benchmarks through `make bench`")
	}
	cfg.Servers, cfg.Root = []string{server}, "/test-"+uuid.NewString()
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
	ctx, h, o := b.Context(), handlerOf(s), eventstore.Order{Actor: "bench"}
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
