//go:build !race

package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/cputime"
)

// BenchmarkJobs measures whole jobs with all daemons in one process, from the URL to the
// cleaned working directory, while others wait: jobs a second, the processor time of the
// program and of each server for a job, and its events. of-bare is the rate beside the same
// files fetched, digested, synced and renamed one after the other, and nothing else.
func BenchmarkJobs(b *testing.B) {
	for _, c := range []struct {
		name           string
		batches, rows  int // each row is a job
		files, bytes   int // of a job
		warm, measured int // jobs that end before, and while it is measured
	}{
		{name: "files=1/waiting=3000", batches: 3, rows: 1100, files: 1, bytes: 64, warm: 300, measured: 1500},
		{name: "files=1/waiting=20000", batches: 4, rows: 5100, files: 1, bytes: 64, warm: 300, measured: 1500},
		{name: "files=100/waiting=60", batches: 1, rows: 80, files: 100, bytes: 64, warm: 10, measured: 60},
		{name: "files=1000/waiting=10", batches: 1, rows: 12, files: 1000, bytes: 64, warm: 2, measured: 8},
		{name: "files=10000/waiting=3", batches: 1, rows: 4, files: 10_000, bytes: 64, warm: 1, measured: 2},
		{name: "64MiB/waiting=20", batches: 1, rows: 24, files: 1, bytes: 64 << 20, warm: 4, measured: 16},
	} {
		b.Run(c.name, func(b *testing.B) {
			for range b.N {
				m := newManyJobs(b, c.rows, c.files, c.bytes)
				m.waits(c.batches)
				m.measure(c.warm, c.measured)
			}
		})
	}
}

// manyJobs is an installation whose jobs wait, and the server that has their files.
type manyJobs struct {
	*installation
	b                  *testing.B
	web                string
	rows, files, bytes int
	last               uint64 // the event that has been looked at
}

func newManyJobs(b *testing.B, rows, files, bytes int) *manyJobs {
	b.Helper()
	m := &manyJobs{b: b, rows: rows, files: files, bytes: bytes}
	m.installation = newForProcesses(b, "attempts: 3", "zookeeper_session_timeout=10s", "postgres_conns=16", "queue_limit=100000",
		"queue_concurrency=metadata=20", "zookeeper_heap=6 GiB",
		"listen_ops=127.0.0.1:0", "ops_pprof=true",
		"workers=job-pending=4,job-estimating=16,job-downloading=16,job-processing=16,job-recording=8,job-notify=4,janitor=8")
	content := make([]byte, bytes)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		var list []string
		switch part[0] {
		case "batch":
			for i := range rows {
				at, name := fmt.Sprintf("http://%s/file/%s/%d/0", r.Host, part[1], i), "file-0.dat"
				if files > 1 {
					at, name = fmt.Sprintf("http://%s/object/%s/%d", r.Host, part[1], i), "object.checkm"
				}
				list = append(list, fmt.Sprintf("%s | | | | | %s | | local-%s-%d | A creator | Title | 2026", at, name, part[1], i))
			}
			profile := "mrt-single-file-batch-manifest"
			if files > 1 {
				profile = "mrt-batch-manifest"
			}
			_, _ = w.Write(checkm(profile, batchColumns, list...))
		case "object":
			for i := range files {
				list = append(list, fmt.Sprintf("http://%s/file/%s/%s/%d | | | | | file-%d.dat", r.Host, part[1], part[2], i, i))
			}
			_, _ = w.Write(checkm("mrt-ingest-manifest", "", list...))
		default:
			w.Header().Set("Content-Length", fmt.Sprint(bytes))
			_, _ = fmt.Fprintf(w, "%-64s", r.URL.Path)
			_, _ = w.Write(content[64:])
		}
	}))
	b.Cleanup(web.Close)
	m.web = web.URL
	return m
}

// waits deposits so many batches, and returns when all their jobs wait.
func (m *manyJobs) waits(batches int) {
	m.b.Helper()
	m.run("queue", "pause", "pending", "--reason", "jobs are only made", "--yes")
	s := m.serve()
	s.works()
	kind := domain.TypeFileBatchManifest
	if m.files > 1 {
		kind = domain.TypeBatchManifest
	}
	for i := range batches {
		m.submit(app.Deposit{Payload: fmt.Sprintf("%s/batch/%d", m.web, i), Type: kind})
	}
	m.ends(domain.EventJobCreated, batches*m.rows)
	s.stop()
	m.run("queue", "resume", "pending", "--yes")
}

// ends returns when so many more events of a type are in the log, and their and all events.
func (m *manyJobs) ends(kind domain.EventType, n int) (all int) {
	m.b.Helper()
	ctx, cancel := context.WithTimeout(m.b.Context(), 20*time.Minute)
	defer cancel()
	for r, err := range m.log.Read(ctx, eventstore.ReadOptions{From: m.last + 1, Follow: true}) {
		m.must(err)
		m.last = r.Seq
		all++
		if r.Type == kind {
			n--
		}
		if n <= 0 {
			return all
		}
	}
	m.b.Fatalf("waiting for %d more of %s: %v", n, kind, ctx.Err())
	return 0
}

func (m *manyJobs) measure(warm, measured int) {
	m.b.Helper()
	bare := m.bare(min(measured, 200))
	s := m.serve()
	m.ends(domain.EventJobCleaned, warm)
	pid := s.cmd.Process.Pid
	before, begun, io0 := cputime.Now(m.b, pid), time.Now(), calls(m.b, pid)
	m.b.ResetTimer()
	profiled := m.profile(s)
	events := m.ends(domain.EventJobCleaned, measured)
	took := time.Since(begun)
	cost, io1 := cputime.Now(m.b, pid).Since(before), calls(m.b, pid)
	<-profiled
	most := highest(pid)
	s.stop()
	n := float64(measured)
	rate := n / took.Seconds()
	m.b.ReportMetric(0, "ns/op")
	m.b.ReportMetric(rate, "jobs/s")
	m.b.ReportMetric(rate/bare, "of-bare")
	m.b.ReportMetric(float64(events)/n, "events/job")
	m.b.ReportMetric(float64(io1-io0)/n, "reads+writes/job")
	m.b.ReportMetric(float64(most)/(1<<20), "highest-MiB")
	m.b.ReportMetric(cputime.Per(cost.Ours, measured)/1000, "ours-ms/job")
	m.b.ReportMetric(cputime.Per(cost.ZooKeeper, measured)/1000, "zookeeper-ms/job")
	m.b.ReportMetric(cputime.Per(cost.NATS, measured)/1000, "nats-ms/job")
	m.b.ReportMetric(cputime.Per(cost.Postgres, measured)/1000, "postgres-ms/job")
}

// profile keeps ten seconds of the service's processor time in the file that
// ACCESSION_BENCH_PROFILE names, for `go tool pprof`.
func (m *manyJobs) profile(s *service) (done <-chan struct{}) {
	ended := make(chan struct{})
	name := os.Getenv("ACCESSION_BENCH_PROFILE")
	if name == "" {
		close(ended)
		return ended
	}
	go func() {
		defer close(ended)
		if err := os.WriteFile(name, []byte(s.get("/debug/pprof/profile?seconds=10")), 0o600); err != nil {
			m.b.Error(err)
		}
	}()
	return ended
}

// bare fetches the files of so many jobs, and returns jobs a second.
func (m *manyJobs) bare(n int) float64 {
	m.b.Helper()
	dir, begun := m.b.TempDir(), time.Now()
	for i := range n {
		for k := range m.files {
			m.must(fetchBare(fmt.Sprintf("%s/file/bare/%d/%d", m.web, i, k), filepath.Join(dir, fmt.Sprintf("%d-%d", i, k))))
		}
	}
	return float64(n) / time.Since(begun).Seconds()
}

func fetchBare(url, to string) error {
	res, err := http.Get(url)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	f, err := os.Create(to + ".part")
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.Copy(io.MultiWriter(f, sha256.New()), res.Body); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}

// calls returns how many system calls that read or write a process has made.
func calls(b *testing.B, pid int) (n int) {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var count int
		if k, err := fmt.Sscanf(line, "syscr: %d", &count); k == 1 && err == nil {
			n += count
		}
		if k, err := fmt.Sscanf(line, "syscw: %d", &count); k == 1 && err == nil {
			n += count
		}
	}
	return n
}
