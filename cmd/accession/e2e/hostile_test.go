package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// holder is a server that holds the requests of some methods: it does not answer them, or
// drips.
type holder struct {
	*httptest.Server
	methods string
	drips   bool

	mu                       sync.Mutex
	held, most, began, ended int
	objects                  []string // of which files came, as keys of an object store
}

func newHolder(t testing.TB, methods string, drips bool) *holder {
	t.Helper()
	h := &holder{methods: methods, drips: drips}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *holder) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that the client has gone
	if !strings.Contains(h.methods, r.Method) {
		_, _ = rw.Write([]byte("x"))
		return
	}
	if object, _, stores := strings.Cut(r.URL.Path, "/v1/"); stores && !h.first(object) {
		<-r.Context().Done() // a step counts once, however many files it stores at once
		return
	}
	h.count(1)
	defer h.count(-1)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if h.drips {
				_, _ = rw.Write([]byte("#%checkm_0.7\n"))
				_ = http.NewResponseController(rw).Flush()
			}
		case <-r.Context().Done():
			return
		}
	}
}

func (h *holder) count(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held += n; n > 0 {
		h.began++
	} else {
		h.ended++
	}
	h.most = max(h.most, h.held)
}

// first reports whether an object is one of which no file came before.
func (h *holder) first(object string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.objects, object) {
		return false
	}
	h.objects = append(h.objects, object)
	return true
}

// counts returns how many requests are held, were held at most, began and ended.
func (h *holder) counts() (held, most, began, ended int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.held, h.most, h.began, h.ended
}

// holds waits until so many requests are held.
func (h *holder) holds(t testing.TB, n int) {
	t.Helper()
	waitFor(t, fmt.Sprint(n, " requests to be held"), func() bool { held, _, _, _ := h.counts(); return held >= n })
}

// depositBy makes a deposit of a submitter.
func (in *installation) depositBy(submitter, payload string, of domain.SubmissionType) domain.BatchID {
	in.t.Helper()
	return in.depositFor("test", submitter, payload, of)
}

func (in *installation) depositFor(profile, submitter, payload string, of domain.SubmissionType) domain.BatchID {
	in.t.Helper()
	s, err := in.app.Submit(in.ctx(), app.Deposit{Profile: profile, Submitter: submitter, Payload: payload, Type: of})
	in.must(err)
	return s.Batch
}

// profileOfRocks adds a profile for hostile deposits, with a further line.
func (in *installation) profileOfRocks(line string) {
	in.t.Helper()
	text := strings.ReplaceAll(profileOf("min_rate: 0, timeout: 24h"), ": test\n", ": rocks\n") + line + "\n"
	in.must(os.WriteFile(filepath.Join(filepath.Dir(in.profileFile()), "rocks.yaml"), []byte(text), 0o600))
}

// goodServer is a depositor's server that answers.
func goodServer(t testing.TB) string {
	return webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		here := "http://" + r.Host
		switch r.URL.Path {
		case "/batch.checkm":
			_, _ = rw.Write(checkm("mrt-batch-manifest", batchColumns, here+"/object.checkm | | | | | good.checkm | | | A creator | Good | 2026"))
		case "/object.checkm":
			_, _ = rw.Write(checkm("mrt-ingest-manifest", "", here+"/a | | | | | a.txt", here+"/b | | | | | b/c.txt"))
		default:
			_, _ = fmt.Fprintln(rw, "the content of", r.URL.Path)
		}
	}))
}

// Two processes together use a server with as many steps as may use it, and what one of
// them held is the other's when it was killed.
// Shows: P11
func TestPermitsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	const most = 3
	in := newForProcesses(t, "attempts: 20, timeout: 1h", fmt.Sprint("host_permits=", most), "fetch_response_timeout=30m")
	bad, good := newHolder(t, http.MethodGet, false), goodServer(t)
	for range 5 * most {
		in.depositBy("mallory", bad.URL+"/bad", domain.TypeFile)
	}
	first := in.serve()
	bad.holds(t, most)
	second := in.serve()
	second.works()
	for range 5 {
		in.rest(in.depositBy("ana", good+"/batch.checkm", domain.TypeBatchManifest))
	}
	if held, atMost, began, _ := bad.counts(); held != most || atMost != most || began != most {
		t.Errorf("%d requests are held, %d were at most, of %d; %d steps may use the server", held, atMost, began, most)
	}
	nodes, err := in.live.Dump(t.Context(), "/hosts")
	in.must(err)
	permits := 0
	for _, n := range nodes {
		if n.Ephemeral && strings.Contains(n.Data, strings.TrimPrefix(bad.URL, "http://")) {
			permits++
		}
	}
	if permits != most {
		t.Errorf("the permits are %v", nodes)
	}
	status := in.app.Status(in.ctx())
	if h := status.Hosts; len(h) == 0 || h[0] != (app.HostStatus{Host: strings.TrimPrefix(bad.URL, "http://"), Permits: most, Limit: most}) || *status.HostsIn < 1 {
		t.Errorf("the status has %+v", h)
	}
	in.says(0, words("status"), "server of depositors", strings.TrimPrefix(bad.URL, "http://"), "all in use; the rest of its work waits")
	for _, f := range in.verified().Findings {
		t.Errorf("verify finds %s", f)
	}
	first.kill()
	waitFor(t, "the permits of the killed process", func() bool { held, _, began, _ := bad.counts(); return held == most && began >= 2*most })
	if _, atMost, _, _ := bad.counts(); atMost != most {
		t.Errorf("%d requests were held at most, and %d steps may use the server", atMost, most)
	}
}

// Hostile deposits, ten times as many as the workers of the state in both processes, from
// one and from two submitters: five good deposits of another, made while the hostile ones
// hold all that they can get, end while these still hang. The numbers of workers and of
// permits are the defaults; the deadlines are so long that none of them helps.
// Shows: P11
func TestHostileCrowdOfProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, daemon, methods string
		drips                 bool
		of                    domain.SubmissionType
		submitters            int
		rocks                 string // what the profile of the hostile deposits says besides, %s = the server
	}{
		{"GET hangs, 1", domain.DaemonJobDownloading, "GET", false, domain.TypeFile, 1, ""},
		{"HEAD hangs, 1", domain.DaemonJobEstimating, "HEAD GET", false, domain.TypeFile, 1, ""},
		{"manifest drips, 2", domain.DaemonBatchPending, "GET", true, domain.TypeBatchManifest, 2, ""},
		{"object manifest hangs, 2", domain.DaemonJobPending, "GET", false, domain.TypeObjectManifest, 2, ""},
		{"store hangs, 2", domain.DaemonJobProcessing, "PUT", false, domain.TypeFile, 2, "storage: " + heldScheme + "://%s"},
		{"callback hangs, 1", domain.DaemonJobNotify, "POST", false, domain.TypeFile, 1, "callback: {url: 'http://%s/callback'}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := newForProcesses(t, "min_rate: 0, timeout: 24h", "fetch_response_timeout=30m", "fetch_head_timeout=5m", "fetch_manifest_timeout=1h",
				"step_timeout=24h", "fetch_callback_timeout=1h", "zookeeper_session_timeout=10s", "stop_grace=10ms")
			bad, good := newHolder(t, c.methods, c.drips), goodServer(t)
			in.profileOfRocks(strings.ReplaceAll(c.rocks, "%s", strings.TrimPrefix(bad.URL, "http://")))
			workers := 0
			for _, d := range daemon.Daemons {
				if d.Name == c.daemon {
					workers = d.Workers
				}
			}
			const processes = 2
			var hostile []domain.BatchID
			for n := range 10 * workers * processes {
				hostile = append(hostile, in.depositFor("rocks", fmt.Sprint("mallory", n%c.submitters), bad.URL+"/bad", c.of))
			}
			for range processes {
				in.serve()
			}
			most := processes * (workers - fair.Share{Workers: workers}.Reserve())
			bad.holds(t, most)
			var wanted []domain.BatchID
			for range 5 {
				wanted = append(wanted, in.depositBy("ana", good+"/batch.checkm", domain.TypeBatchManifest))
			}
			for _, id := range wanted {
				if v := in.rest(id); v.JobsCompleted != 1 {
					t.Errorf("%s has ended: %+v", id, v)
				}
			}
			held, atMost, _, ended := bad.counts()
			if held != most || atMost != most || ended != 0 {
				t.Errorf("%d requests hang, %d at most, and %d have ended; want %d", held, atMost, ended, most)
			}
			for _, id := range hostile {
				b, err := in.live.Batch(t.Context(), id)
				in.must(err)
				if s := b.State.State; s != domain.BatchPending && s != domain.BatchProcessing {
					t.Errorf("the hostile %s is %s", id, s)
				}
			}
		})
	}
}
