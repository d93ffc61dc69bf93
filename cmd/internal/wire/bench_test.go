package wire

import (
	"context"
	"fmt"
	"iter"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/relay"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
)

// BenchmarkWholeWay measures transitions with steps that do nothing, from the
// claim until the last of them is in PostgreSQL, beside the rate at which as many
// senders get equal multis through the same ZooKeeper in the same run. Jobs walk
// their whole lives, with the shortcuts for speed on and off.
func BenchmarkWholeWay(b *testing.B) {
	for _, workers := range []int{1, 64, 256} {
		b.Run(fmt.Sprintf("workers=%d/raw", workers), func(b *testing.B) {
			b.ReportMetric(rawMultis(b, workers, b.N), "raw-multis/s")
			b.ReportMetric(0, "ns/op")
		})
		for _, s := range shortcuts {
			b.Run(fmt.Sprintf("workers=%d/%s", workers, s.name), func(b *testing.B) {
				w := newBenchInstallation(b, s.cfg)
				w.handOver = s.handOver
				w.open(b)
				jobs := max(b.N/len(life), 1)
				w.fill(b, jobs) // servers and program get warm
				w.walk(b, workers, jobs)
				w.fill(b, jobs)
				w.projected(b)
				before := cputime.Now(b, os.Getpid())
				b.ResetTimer()
				w.walk(b, workers, jobs)
				committed := b.Elapsed()
				w.projected(b)
				cost := cputime.Now(b, os.Getpid()).Since(before)
				n := float64(jobs * len(life))
				b.ReportMetric(n/b.Elapsed().Seconds(), "transitions/s")
				b.ReportMetric(n/committed.Seconds(), "committed/s")
				b.ReportMetric(w.worst.Seconds(), "worst-lag-s")
				b.ReportMetric(float64(w.behind), "worst-lag-events")
				b.ReportMetric(cputime.Per(cost.Ours, int(n)), "ours-us")
				b.ReportMetric(cputime.Per(cost.ZooKeeper, int(n)), "zookeeper-us")
				b.ReportMetric(cputime.Per(cost.NATS, int(n)), "nats-us")
				b.ReportMetric(cputime.Per(cost.Postgres, int(n)), "postgres-us")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// shortcuts are the positions of the switches that are measured.
var shortcuts = []struct {
	name     string
	cfg      zklive.Config
	handOver bool
}{
	{"none", zklive.Config{}, false},
	{"group", zklive.Config{GroupCommit: true}, false},
	{"hints", zklive.Config{RelayHints: true}, false},
	{"handover", zklive.Config{}, true},
	{"all", zklive.Config{GroupCommit: true, RelayHints: true}, true},
}

// life is what brings a job from pending to completed, by the state it is in, and
// where a worker may go on with it as the daemons do.
var life = []struct {
	in   domain.JobState
	cmd  domain.JobCommand
	next domain.JobState
}{
	{domain.JobPending, domain.AcceptJob{}, domain.JobEstimating},
	{domain.JobEstimating, domain.EstimateJob{Files: 2, Bytes: 20, Priority: 5}, ""},
	{domain.JobProvisioning, domain.ProvisionJob{}, domain.JobDownloading},
	{domain.JobDownloading, domain.DownloadJob{Files: 2, Bytes: 20, Priority: 5}, domain.JobProcessing},
	{domain.JobProcessing, domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/fk4", Version: 1, ManifestKey: "k", Files: 2, Bytes: 20}}, domain.JobRecording},
	{domain.JobRecording, domain.RecordJob{}, domain.JobNotify},
	{domain.JobNotify, domain.CompleteJob{Callback: "none"}, ""},
}

type benchInstallation struct {
	store     *zklive.Store
	handler   *eventstore.Handler
	log       *jslog.Log
	db        *pgxpool.Pool
	mu        sync.Mutex
	seen      uint64
	stored    []time.Time   // of what the projector has read, by place
	worst     time.Duration // from the log to the tables
	behind    int           // events, at most
	moved     chan struct{}
	committed atomic.Int64
	handOver  bool
}

func newBenchInstallation(b *testing.B, cfg zklive.Config) *benchInstallation {
	b.Helper()
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	TuneMemory()                           // as a service does
	name := "test-" + uuid.NewString()[:8] // as long as a service's
	cfg.Servers, cfg.Root, cfg.QueueLimit = []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, "/"+name, 1_000_000
	s, err := zklive.Open(b.Context(), cfg)
	must(err)
	nc, err := nats.Connect(os.Getenv("ACCESSION_TEST_NATS"))
	must(err)
	log, err := jslog.Open(b.Context(), nc, jslog.Config{Stream: name, Prefix: name, Instance: "bench"})
	must(err)
	info, err := log.Info(b.Context())
	must(err)
	w := &benchInstallation{store: s, log: log, db: projtest.DB(b), moved: make(chan struct{}, 1),
		handler: &eventstore.Handler{Live: s, Catalog: s, Clock: time.Now, NewID: uuid.NewString, Collection: func(p string) string { return p }}}
	p, err := projections.New(projections.Config{DB: w.db,
		Stream: projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last},
		Source: func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
			return func(yield func(domain.Recorded, error) bool) {
				for r, err := range log.Read(ctx, eventstore.ReadOptions{From: from, Follow: true}) {
					if err == nil {
						w.mu.Lock()
						w.stored = append(w.stored, r.Stored)
						w.mu.Unlock()
					}
					if !yield(r, err) {
						return
					}
				}
			}
		},
		Applied: func(a projections.Applied) {
			w.mu.Lock()
			w.seen = a.Seq
			w.worst = max(w.worst, time.Since(w.stored[int(a.Seq)-a.Events])) // of the one that waited longest
			w.behind = max(w.behind, len(w.stored)-int(a.Seq)+a.Events)
			w.mu.Unlock()
			select {
			case w.moved <- struct{}{}:
			default:
			}
		}})
	must(err)
	relay := &relay.Relay{Outbox: s, Log: log}
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() {
		if err := relay.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	all.Go(func() {
		if err := p.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	b.Cleanup(func() {
		stop()
		all.Wait()
		nc.Close()
		_ = s.Close()
	})
	return w
}

// projected waits until everything committed so far is in PostgreSQL: one event
// a job and change, and two of the batch before its jobs.
func (w *benchInstallation) projected(b *testing.B) {
	b.Helper()
	for {
		w.mu.Lock()
		done := int64(w.seen) >= w.committed.Load()
		w.mu.Unlock()
		if done {
			return
		}
		<-w.moved
	}
}

// open makes this process work in all queues before the jobs come, as a service
// does.
func (w *benchInstallation) open(b *testing.B) {
	b.Helper()
	w.fill(b, 1)
	w.walk(b, 1, 1)
}

func (w *benchInstallation) fill(b *testing.B, n int) {
	b.Helper()
	ctx, o := b.Context(), eventstore.Meta{Actor: "bench"}
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	id, err := w.store.ReserveBatchID(ctx)
	must(err)
	_, err = w.handler.Batch(ctx, id, domain.SubmitBatch{Submission: domain.Submission{ProfileName: "maps", Type: domain.TypeBatchManifest}}, o)
	must(err)
	first, err := w.store.ReserveJobIDs(ctx, n)
	must(err)
	_, err = w.handler.Batch(ctx, id, domain.ListBatch{Listing: domain.Listing{Rows: n, FirstJID: first}}, o)
	must(err)
	for row := 0; row < n; row += eventstore.MaxJobsPerCommit {
		cmds := make([]domain.CreateJob, min(eventstore.MaxJobsPerCommit, n-row))
		for i := range cmds {
			cmds[i] = domain.CreateJob{Priority: 5, Configuration: domain.Configuration{BatchID: id, ProfileName: "maps", Row: row + i}}
		}
		_, err := w.handler.CreateJobs(ctx, first, row, cmds, o)
		must(err)
	}
	w.committed.Add(int64(n) + 2)
}

// walk takes so many jobs from pending to completed. Each worker moves as many as
// it takes on to the next state, so that it always finds one there.
func (w *benchInstallation) walk(b *testing.B, workers, jobs int) {
	var left atomic.Int64
	left.Store(int64(jobs))
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if _, err := w.walkJob(b.Context()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// walkJob takes a job from each state on to the next, not always the same, until one is
// completed, and returns the batch of that.
func (w *benchInstallation) walkJob(ctx context.Context) (of domain.BatchID, err error) {
	var c *eventstore.Claim
	var at eventstore.Loaded[domain.Job]
	for _, step := range life {
		if c == nil {
			if c, at, err = w.store.NextJob(ctx, step.in, nil); err != nil {
				return "", err
			}
		}
		o := eventstore.Meta{Actor: "bench", Claim: c, Known: &at}
		if w.handOver {
			o.Next = step.next
		}
		r, err := w.handler.Job(ctx, at.State.ID, step.cmd, o)
		if err != nil {
			return "", err
		}
		c, at = r.Claim, r.Loaded
		w.committed.Add(1)
	}
	return at.State.Configuration.BatchID, nil
}

// rawMultis sends multis of the shape of a transition's and returns their rate.
func rawMultis(b *testing.B, senders, total int) float64 {
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
	status, event := make([]byte, 250), make([]byte, 700)
	var made sync.WaitGroup
	for part := range 64 {
		made.Go(func() {
			for i := part; i < total; i += 64 {
				if _, err := conn.Multi(&zk.CreateRequest{Path: fmt.Sprintf("%s/s/%d", root, i), Data: status, Acl: acl},
					&zk.CreateRequest{Path: fmt.Sprintf("%s/a/%d", root, i), Acl: acl},
					&zk.CreateRequest{Path: fmt.Sprintf("%s/s/%d/lock", root, i), Acl: acl}); err != nil {
					b.Error(err)
				}
			}
		})
	}
	made.Wait()
	var next atomic.Int64
	var all sync.WaitGroup
	begin := time.Now()
	for range senders {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
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
		})
	}
	all.Wait()
	return float64(total) / time.Since(begin).Seconds()
}
