//go:build !race

// With the race detector two thousand jobs take minutes.

package e2e

import (
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// newNumbered serves /batch/N, a manifest of so many rows, each an object of its own.
func newNumbered(t testing.TB, rows int) (base string) {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		number, isBatch := strings.CutPrefix(r.URL.Path, "/batch/")
		if !isBatch {
			fmt.Fprintln(w, r.URL.Path)
			return
		}
		list := make([]string, rows)
		for i := range list {
			list[i] = fmt.Sprintf("http://%s/file/%s-%d | | | | | file-%d.txt | | local-%s-%d | A creator | Title | 2026", r.Host, number, i, i, number, i)
		}
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, list...))
	}))
	t.Cleanup(web.Close)
	return web.URL
}

// atRest is until connections, buffers and the projector are at rest on a busy machine.
const atRest = 2 * time.Minute

// taken is what a process takes at rest, as the test counts it.
type taken struct{ goroutines, heap, files, working int }

func (in *installation) resting(s *service) (r taken) {
	in.t.Helper()
	for range 2 { // collects the garbage; what pools keep goes with the second time
		s.get("/debug/pprof/heap?gc=1")
	}
	text := s.get("/metrics")
	r = taken{goroutines: in.metric(text, goroutines), heap: in.metric(text, heapAlloc), files: in.metric(text, openFiles)}
	in.must(filepath.WalkDir(in.cfg.WorkDir, func(_ string, _ fs.DirEntry, err error) error { r.working++; return err }))
	return r
}

// more says what takes over a tenth more than before, of the heap beside what is allowed.
func (r taken) more(before taken, heap int) string {
	switch {
	case r.goroutines > before.goroutines+before.goroutines/10:
		return fmt.Sprintf("%d goroutines, before %d", r.goroutines, before.goroutines)
	case r.files > before.files+before.files/10:
		return fmt.Sprintf("%d open files, before %d", r.files, before.files)
	case r.working > before.working:
		return fmt.Sprintf("%d entries in the working directory, before %d", r.working, before.working)
	case r.heap > before.heap+before.heap/10+heap:
		return fmt.Sprintf("a heap of %d bytes, before %d", r.heap, before.heap)
	}
	return ""
}

// jobsLeaveNothing lets so many batches of so many jobs end, five at a time, after some that
// make the process warm, and compares what it takes. The heap may take this much more
// than a tenth. Most of a job is waiting for disks: many workers wait side by side.
func jobsLeaveNothing(t testing.TB, program string, warm, batches, rows, heap int) (now taken) {
	t.Helper()
	const together = 5 // as many of one user run
	in := newForProcesses(t, "attempts: 3", "listen_ops=127.0.0.1:0", "ops_pprof=true", "zookeeper_session_timeout=10s", "outbox_grace=500ms",
		"workers=job-estimating=16,job-downloading=16,job-processing=16,job-recording=8,janitor=8")
	if in.program = program; program != "" {
		in.environ = []string{"ACCESSION_REMEMBERED=100"} // the caches are full when it is warm
	}
	base := newNumbered(t, rows)
	s := in.serve()
	s.until(200, "ok")
	end := func(from, to int) {
		for ; from < to; from += together {
			info, err := in.log.Info(t.Context())
			in.must(err)
			n := min(together, to-from)
			for i := range n {
				in.submit(app.Deposit{Payload: fmt.Sprintf("%s/batch/%d", base, from+i), Type: domain.TypeFileBatchManifest})
			}
			reported, cleaned := 0, 0
			in.await("the end of some batches", info.Last+1, func(r domain.Recorded) bool {
				switch r.Type {
				case domain.EventJobCleaned:
					cleaned++
				case domain.EventBatchReported:
					reported++
				}
				return reported == n && cleaned == n*rows
			})
		}
	}
	end(0, warm)
	before := in.resting(s)
	end(warm, warm+batches)
	begun := time.Now()
	waitFor(t, "the process to come to rest", func() bool {
		now = in.resting(s)
		return now.more(before, heap) == "" || time.Since(begun) > atRest
	})
	t.Logf("after %d jobs: %+v, before: %+v", batches*rows, now, before)
	if over := now.more(before, heap); over != "" {
		t.Errorf("%s\n%s", over, s.get("/debug/pprof/goroutine?debug=1"))
	}
	return now
}

// TestJobsLeaveNothing: what a process takes is within a tenth of before when five hundred
// jobs are done, after a thousand that make it warm. Its caches keep a hundred things each, so
// that they hide nothing.
// Shows: P8
func TestJobsLeaveNothing(t *testing.T) {
	t.Parallel()
	program, err := crashing()
	if err != nil {
		t.Fatal(err)
	}
	jobsLeaveNothing(t, program, 10, 5, 100, 0)
}

// BenchmarkJobsLeaveNothing measures the heap of a process with all roles at rest after
// twenty thousand jobs, which stay in ZooKeeper.
func BenchmarkJobsLeaveNothing(b *testing.B) {
	for range b.N {
		now := jobsLeaveNothing(b, "", 5, 200, 100, 1<<30) // how much more it takes is not tested here
		b.ReportMetric(float64(now.heap)/(1<<20), "heap-MiB")
		b.ReportMetric(float64(now.goroutines), "goroutines")
		b.ReportMetric(float64(now.files), "open-files")
	}
}
