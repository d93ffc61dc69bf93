package zklive_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// BenchmarkEntryClaim takes work of the compute queue, one after the other, by a worker that has
// the data of one dataset of a thousand, and gives it back untimed. The figure must not grow
// with what waits. Beside it stands a worker that lists what waits, and chooses from that, before
// each claim.
func BenchmarkEntryClaim(b *testing.B) {
	root := "/test-" + uuid.NewString()
	s := benchStore(b, zklive.Config{QueueLimit: 1_000_000, Root: root})
	conn, _, err := zk.Connect([]string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	h, m := handlerOf(s), eventstore.Meta{Actor: "bench"}
	h.Entries = s
	there := 0
	for _, waiting := range []int{100, 10_000, 100_000} {
		requests, ctx := errgroup.WithContext(b.Context())
		requests.SetLimit(8) // more of them only repeat the reservation of an id
		for ; there < waiting; there++ {
			i := there
			requests.Go(func() error {
				_, err := h.RequestEntry(ctx, compute.Request{Work: entry.Work{Dataset: fmt.Sprint("d", i%1000), Priority: 100, Key: fmt.Sprint(i)},
					Request: entry.Request{Submitter: "bench", Inputs: []string{"https://data.example.org/a"}}}, m)
				return err
			})
		}
		if err := requests.Wait(); err != nil {
			b.Fatal(err)
		}
		wants := compute.Wants{Cached: func(g entry.Group) bool { return g.Dataset == "d7" }, PassLimit: compute.PassLimit}
		listed := func(b *testing.B) {
			names, _, err := conn.Children(root + "/unowned")
			if err != nil {
				b.Fatal(err)
			}
			var queue compute.Queue
			for _, name := range names {
				n, err := entry.ParseName(name)
				if err != nil {
					b.Fatal(err)
				}
				queue.Put(compute.Waiting{Name: n})
			}
			if _, ok := queue.Choose(wants); !ok {
				b.Fatal("nothing waits")
			}
		}
		claims := func(b *testing.B, before func(b *testing.B)) {
			take := func() {
				before(b)
				taken, err := h.TakeEntry(b.Context(), wants, m)
				b.StopTimer()
				if err == nil {
					_, err = h.EndEntry(b.Context(), taken, compute.Return{Uncounted: true}, m)
				}
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			take() // lists what waits
			for b.Loop() {
				take()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "claims/s")
		}
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) { claims(b, func(*testing.B) {}) })
		if waiting <= 10_000 {
			b.Run(fmt.Sprintf("waiting=%d,listed", waiting), func(b *testing.B) { claims(b, listed) })
		}
	}
}
