package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// fileServer serves a batch manifest of n single files; asked for with ?lost, its first
// file cannot be had. The first request for the file `gated` waits until open is
// called.
type fileServer struct {
	*httptest.Server
	asked chan struct{} // closed by the first request for the gated file
	open  func()
}

func newFiles(t *testing.T, n, gated int) *fileServer {
	t.Helper()
	gate := make(chan struct{})
	f := &fileServer{asked: make(chan struct{}), open: sync.OnceFunc(func() { close(gate) })}
	var first sync.Once
	mux := http.NewServeMux()
	mux.HandleFunc("/batch.checkm", func(w http.ResponseWriter, r *http.Request) {
		var b strings.Builder
		b.WriteString("#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-single-file-batch-manifest\n")
		b.WriteString("#%prefix | mrt: | http://merritt.cdlib.org/terms#\n#%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n")
		b.WriteString("#%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | mrt:primaryIdentifier | mrt:localIdentifier | mrt:creator | mrt:title | mrt:date\n")
		for i := range n {
			at := "file"
			if i == 0 && r.URL.Query().Has("lost") {
				at = "lost"
			}
			fmt.Fprintf(&b, "http://%s/%s/%d |  |  |  |  | file-%d.txt |  | local-%s%d | A creator | Title %d | 2026\n", r.Host, at, i, i, r.URL.Query().Get("objects"), i, i)
		}
		b.WriteString("#%eof\n")
		_, _ = w.Write([]byte(b.String()))
	})
	mux.HandleFunc("GET /file/{n}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("n") == fmt.Sprint(gated) && r.Method == http.MethodGet {
			wait := false
			first.Do(func() { wait = true; close(f.asked) })
			if wait {
				select {
				case <-gate:
				case <-r.Context().Done():
				}
			}
		}
		fmt.Fprintf(w, "the content of file %s\n", r.PathValue("n"))
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() { f.open(); f.Close() })
	return f
}

// submitFiles deposits the batch and returns its id.
func (in *installation) submitFiles(f *fileServer, query ...string) domain.BatchID {
	in.t.Helper()
	out := in.run("submit", f.URL+"/batch.checkm"+strings.Join(query, ""), "--type", "file_batch_manifest", "--profile", "test", "-o", "json")
	var answer struct {
		BatchID domain.BatchID `json:"id"`
	}
	in.must(json.Unmarshal([]byte(out), &answer))
	if answer.BatchID == "" {
		in.t.Fatalf("submit answered %s", out)
	}
	return answer.BatchID
}

// whole checks that a batch of n jobs completed, each job minted and stored once.
func (in *installation) whole(n int) {
	in.t.Helper()
	for what, query := range map[string]string{
		"completed jobs":                    `select count(*) from accession.job where status = 'completed'`,
		"minted identifiers in the history": `select count(*) from accession.event where type = 'job.identified'`,
		"jobs with such an event":           `select count(distinct aggregate_id) from accession.event where type = 'job.identified'`,
		"identifiers of completed jobs":     `select count(distinct primary_identifier) from accession.job where status = 'completed'`,
		"reserved identifiers":              `select count(distinct (name, job_id)) from record.identifier`,
		"objects in the inventory":          `select count(*) from record.object`,
		"versions in the inventory":         `select count(*) from record.object_version`,
	} {
		if got := in.count(query); got != n {
			in.t.Errorf("%s: %d, want %d", what, got, n)
		}
	}
}

// ended waits until the batch was reported and the last of its jobs was cleaned
// up.
func (in *installation) ended(id domain.BatchID, n int) {
	in.t.Helper()
	cleaned, reported := 0, false
	in.await("the end of "+string(id), 0, func(r domain.Recorded) bool {
		switch r.Type {
		case domain.EventJobCleaned:
			cleaned++
		case domain.EventBatchReported:
			reported = true
		case domain.EventJobFailed:
			if m, ok := domain.MoveOfJob(r.Data); ok {
				in.t.Errorf("%s failed in %s: %+v", r.Aggregate, m.From, m.Reason)
			}
		}
		return cleaned == n && reported
	})
}

// TestKilledAgainAndAgain kills the service ten times at random moments while a
// hundred jobs run, and starts it again each time.
// Shows: P1 P2 P3 P4 P5
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	const jobs, kills = 100, 10
	random := seed(t)
	in := newForProcesses(t, "attempts: 20, timeout: 60s")
	in.set(drawn(t, random)...)
	f := newFiles(t, jobs, -1)
	id := in.submitFiles(f)
	at := uint64(1)
	for range kills {
		s := in.serve()
		// Some events further on, and then in the middle of whatever is done. All
		// jobs together make about eleven hundred events.
		until := at + 10 + random.Uint64N(90)
		at = in.await("some more events", 0, func(r domain.Recorded) bool { return r.Seq >= until }).Seq
		s.kill()
	}
	last := in.serve()
	in.ended(id, jobs)
	last.stop()
	in.proven()
	in.whole(jobs)
}

// TestStoppedWorkerChangesNothing stops a process in the middle of a download for
// longer than its session lasts. Another takes over; continued, the first must
// not change anything.
// Shows: P5 C13
func TestStoppedWorkerChangesNothing(t *testing.T) {
	t.Parallel()
	const jobs = 8
	in := newForProcesses(t, "attempts: 20, timeout: 60s")
	in.set(without()...)
	f := newFiles(t, jobs, 3)
	id := in.submitFiles(f)
	first := in.serve()
	select {
	case <-f.asked:
	case <-time.After(patience):
		t.Fatal("the gated file was not asked for")
	}
	first.signal(syscall.SIGSTOP)
	second := in.serve()
	in.ended(id, jobs)
	info, err := in.log.Info(t.Context())
	in.must(err)
	first.signal(syscall.SIGCONT)
	f.open()
	first.stop() // the step ends or is cut off; whatever it has to say is refused
	second.stop()
	for r, err := range in.log.Read(t.Context(), eventstore.ReadOptions{From: info.Last + 1}) {
		in.must(err)
		t.Errorf("written by the worker that was stopped: %s %s", r.ID(), r.Type)
	}
	in.proven()
	in.whole(jobs)
}
