package zklive_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/fair/settings"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// BenchmarkGrab measures grabs, one after the other, beside so many waiting batches of so
// many users. Each batch that is grabbed is replaced. of-few is the rate compared with that
// of the first tree in the same run; requests are those to ZooKeeper for a grab and for the
// release and the deposit after it; operations are those of the multi of a grab.
//
// ACCESSION_BENCH_WAITING says beside how many. 100,000 take a minute to fill.
func BenchmarkGrab(b *testing.B) {
	few := 0.0
	for text := range strings.SplitSeq(cmp.Or(os.Getenv("ACCESSION_BENCH_WAITING"), "10,1000,100000"), ",") {
		waiting, err := strconv.Atoi(text)
		if err != nil || waiting < 1 {
			b.Fatalf("ACCESSION_BENCH_WAITING: %q is not a list of numbers", text)
		}
		for _, users := range []int{1, 100, 10_000} {
			if users > waiting {
				continue
			}
			s, h := ringStore(b)
			if err := s.FillWaiting(b.Context(), waiting, users, userOf); err != nil {
				b.Fatal(err)
			}
			grab(b, s, h) // reads who waits
			most := operationsOfAGrab(b, s)
			b.Run(fmt.Sprintf("waiting=%d/users=%d", waiting, users), func(b *testing.B) {
				before := requests(b)
				const some = 5
				for range some {
					grab(b, s, h)
				}
				asked := float64(requests(b)-before) / some
				b.ResetTimer()
				for b.Loop() {
					grab(b, s, h)
				}
				rate := float64(b.N) / b.Elapsed().Seconds()
				few = cmp.Or(few, rate)
				b.ReportMetric(asked, "requests")
				b.ReportMetric(most, "operations")
				b.ReportMetric(rate, "grabs/s")
				b.ReportMetric(rate/few, "of-few")
			})
			remove(b, s.Above())
		}
	}
}

// operationsOfAGrab returns of how many operations the multi is by which another process grabs
// a batch. The batch is replaced.
func operationsOfAGrab(b *testing.B, s *zklive.Store) (n float64) {
	b.Helper()
	l := newLoser(b, s.Above())
	other := s.Beside(b, l.addresses()...)
	h := handlerOf(other)
	h.Rings = other.Rings
	for _, request := range l.hears(func() { grab(b, other, h) }) {
		if strings.Contains(request, "set /queues/metadata/ring") {
			n = max(n, float64(strings.Count(request, ", ")+1))
		}
	}
	return n
}

func userOf(n int) string { return fmt.Sprintf("user%05d", n) }

// ringStore returns a store with a handler that uses deposit queues. Any number of batches
// of a user may run.
func ringStore(b *testing.B) (*zklive.Store, *eventstore.Handler) {
	b.Helper()
	unbounded, v := 1_000_000_000, settings.New()
	v.Queue.Concurrency = &unbounded
	s := benchStore(b, zklive.Config{QueueLimit: 1_000_000, GroupCommit: true, DepositQueues: map[string]settings.Values{fair.QueueMetadata: v}})
	h := handlerOf(s)
	h.Rings = s.Rings
	return s, h
}

// grab grabs a batch. While the clock is stopped it ends the claim, and deposits another
// batch of the user.
func grab(b *testing.B, s *zklive.Store, h *eventstore.Handler) {
	b.Helper()
	ctx, meta := b.Context(), eventstore.Meta{Actor: "bench"}
	res, err := h.Grab(ctx, fair.QueueMetadata, settings.Default, meta)
	if err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	if err := s.Release(ctx, res.Claim, time.Hour); err != nil {
		b.Fatal(err)
	}
	if _, err := depositOf(ctx, s, h, res.State.Submission.Submitter); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

func depositOf(ctx context.Context, s *zklive.Store, h *eventstore.Handler, user string) (domain.BatchID, error) {
	id, err := s.ReserveBatchID(ctx)
	if err == nil {
		_, err = h.Batch(ctx, id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Submitter: user, Type: domain.TypeFileBatchManifest,
			PayloadURL: "https://files.example.org/deposits/2026/batch.checkm", SubmissionMode: "add"}}, eventstore.Meta{Actor: "bench"})
	}
	return id, err
}

var received = regexp.MustCompile(`(?m)^Received: ([0-9]+)$`)

// requests returns how many requests the server has had.
func requests(b *testing.B) int {
	b.Helper()
	conn, err := net.Dial("tcp", os.Getenv("ACCESSION_TEST_ZOOKEEPER")) //nolint:noctx // it answers at once
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // only read
	_, _ = io.WriteString(conn, "srvr")
	answer, err := io.ReadAll(conn)
	if err != nil {
		b.Fatal(err)
	}
	n, err := strconv.Atoi(string(received.FindSubmatch(answer)[1]))
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkGrabbers measures grabs by two processes at once beside few and many batches of
// one user. of-few compares the rates of one run.
func BenchmarkGrabbers(b *testing.B) {
	few, rate := 0.0, 0.0
	for _, waiting := range []int{1000, 50_000} {
		s, h := ringStore(b)
		if err := s.FillWaiting(b.Context(), waiting, 1, userOf); err != nil {
			b.Fatal(err)
		}
		other := s.Beside(b)
		second := handlerOf(other)
		second.Rings = other.Rings
		grab(b, s, h)
		grab(b, other, second)
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			var begun atomic.Int64
			var g errgroup.Group
			for _, h := range []*eventstore.Handler{h, second} {
				g.Go(func() error {
					for begun.Add(1) <= int64(b.N) {
						if _, err := h.Grab(b.Context(), fair.QueueMetadata, settings.Default, eventstore.Meta{Actor: "bench"}); err != nil {
							return err
						}
					}
					return nil
				})
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
			rate = float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "grabs/s")
			b.ReportMetric(rate/cmp.Or(few, rate), "of-few")
		})
		few = cmp.Or(few, rate)
		remove(b, s.Above())
	}
}
