package e2e

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/daemon"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// holder is a server that holds the requests of some methods: it does not answer them,
// drips, or announces more than it sends. In its bucket it holds what writes files of objects.
type holder struct {
	*httptest.Server
	methods     string
	drips, lies bool
	bucket      *httputil.ReverseProxy // to the rest of a bucket, nil = none

	mu                       sync.Mutex
	held, most, began, ended int
	answered                 int      // how many of the first requests are answered after all
	objects                  []string // of which files came, as keys of an object store
}

// announced is what a server that lies says of its files, in bytes.
const announced = 1 << 20

func newHolder(t testing.TB, methods string, drips bool) *holder {
	t.Helper()
	h := &holder{methods: methods, drips: drips}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

// ServeHTTP implements http.Handler.
func (h *holder) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	object, _, file := strings.Cut(r.URL.Path, "/v1/")
	stores := file && r.Method == http.MethodPut
	if strings.HasPrefix(r.URL.Path, "/archive/") && !stores {
		h.bucket.ServeHTTP(rw, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // else it is not seen that the client has gone
	if h.lies {
		rw.Header().Set("Content-Length", fmt.Sprint(announced))
	}
	if !strings.Contains(h.methods, r.Method) {
		_, _ = rw.Write([]byte("x"))
		return
	}
	if h.lies {
		_, _ = rw.Write([]byte("that is all"))
		_ = http.NewResponseController(rw).Flush()
	}
	if stores && !h.first(object) {
		<-r.Context().Done() // a step counts once, however many files it stores at once
		return
	}
	number := h.count(1)
	defer h.count(-1)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if h.answers(number) {
				_, _ = rw.Write([]byte("x"))
				return
			}
			if h.drips {
				_, _ = rw.Write([]byte("#%checkm_0.7\n"))
				_ = http.NewResponseController(rw).Flush()
			}
		case <-r.Context().Done():
			return
		}
	}
}

// serveBucket adds a bucket to the server, and returns its URL.
func (h *holder) serveBucket(t testing.TB) string {
	t.Helper()
	at, err := url.Parse(bucket.Serve(t, true, "archive").URL)
	if err != nil {
		t.Fatal(err)
	}
	h.bucket = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) }}
	here := bucket.Server{URL: h.URL}
	return here.Location("archive", "")
}

// count counts a request that begins or ends, and returns how many have begun.
func (h *holder) count(n int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.held += n; n > 0 {
		h.began++
	} else {
		h.ended++
	}
	h.most = max(h.most, h.held)
	return h.began
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

// answer lets the first requests be answered after all, as many as n.
func (h *holder) answer(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answered = n
}

func (h *holder) answers(number int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return number <= h.answered
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

// profileOfRocks adds a profile for hostile deposits, without deadlines, and with a further
// line.
func (in *installation) profileOfRocks(line string) {
	in.t.Helper()
	in.profileOfHostile("min_rate: 0, timeout: 24h", line)
}

// profileOfHostile is profileOfRocks; fetch is what the profile says of fetching.
func (in *installation) profileOfHostile(fetch, line string) {
	in.t.Helper()
	text := strings.ReplaceAll(profileOf(fetch), ": test\n", ": rocks\n") + line + "\n"
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
	nodes, permits := in.nodesFrom("/hosts"), 0
	for _, n := range nodes {
		if n.Ephemeral && strings.Contains(n.Data, strings.TrimPrefix(bad.URL, "http://")) {
			permits++
		}
	}
	if permits != most {
		t.Errorf("the permits are %v", nodes)
	}
	now := status.Of(in.ctx(), in.app)
	if want := (status.HostStatus{Host: strings.TrimPrefix(bad.URL, "http://"), Permits: most, Limit: most}); !slices.Contains(now.Hosts, want) || *now.HostsIn < 1 {
		t.Errorf("the status has %+v", now.Hosts)
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

// Two processes together work for a submitter with as many steps as may, whatever servers
// these wait for, and what one of them held is the other's when it was killed.
// Shows: P11
func TestPermitsOfASubmitterInTwoProcesses(t *testing.T) {
	t.Parallel()
	const most = 3
	in := newForProcesses(t, "attempts: 20, timeout: 1h", fmt.Sprint("submitter_permits=", most), "fetch_response_timeout=30m")
	bad, good := []*holder{newHolder(t, http.MethodGet, false), newHolder(t, http.MethodGet, false)}, goodServer(t)
	for n := range 5 * most {
		in.depositBy("mallory", bad[n%2].URL+"/bad", domain.TypeFile)
	}
	counts := func() (held, began int) {
		for _, h := range bad {
			n, _, b, _ := h.counts()
			held, began = held+n, began+b
		}
		return held, began
	}
	first := in.serve()
	waitFor(t, "as many requests as may be to be held", func() bool { held, _ := counts(); return held >= most })
	second := in.serve()
	second.works()
	for range 5 {
		in.rest(in.depositBy("ana", good+"/batch.checkm", domain.TypeBatchManifest))
	}
	if held, began := counts(); held != most || began != most {
		t.Errorf("%d requests are held, of %d; %d steps may work for the submitter", held, began, most)
	}
	nodes, permits := in.nodesFrom("/hosts"), 0
	for name, n := range nodes {
		if n.Ephemeral && strings.Contains(name, "submitter-") && strings.Contains(n.Data, `"mallory"`) {
			permits++
		}
	}
	if permits != most {
		t.Errorf("the permits are %v", nodes)
	}
	now := status.Of(in.ctx(), in.app)
	if want := (status.SubmitterStatus{Submitter: "mallory", Permits: most, Limit: most}); !slices.Contains(now.Submitters, want) {
		t.Errorf("the status has %+v", now.Submitters)
	}
	in.says(0, words("status"), "submitter", "mallory", "all in use; the rest of their work waits")
	for _, f := range in.verified().Findings {
		t.Errorf("verify finds %s", f)
	}
	first.kill()
	waitFor(t, "the permits of the killed process", func() bool { held, began := counts(); return held == most && began >= 2*most })
}

// A process that is stopped loses its permits with its session, and another takes them.
// What its steps waited for comes meanwhile; when it continues it moves no job on, and
// uses the server no more until it has a permit again.
// Shows: P11 P5
func TestPermitsOfAStoppedProcess(t *testing.T) {
	t.Parallel()
	const most, deposits = 3, 9
	in := newForProcesses(t, "attempts: 20, timeout: 1h", fmt.Sprint("host_permits=", most), "fetch_response_timeout=30m", "zookeeper_session_timeout=5s")
	bad := newHolder(t, http.MethodGet, false)
	for range deposits {
		in.depositBy("mallory", bad.URL+"/bad", domain.TypeFile)
	}
	first := in.serve()
	bad.holds(t, most)
	in.settles() // all else waits for the server
	first.signal(syscall.SIGSTOP)
	second := in.serve()
	bad.holds(t, 2*most) // those of the stopped process are still open
	second.works()
	in.settles()
	before, err := in.log.Info(t.Context())
	in.must(err)
	bad.answer(most)
	waitFor(t, "the answers to the stopped process", func() bool { _, _, _, ended := bad.counts(); return ended == most })
	first.signal(syscall.SIGCONT)
	waitFor(t, "the stopped process to have a new session, and its steps to have ended", func() bool {
		return strings.Contains(first.log.String(), "zookeeper session lost") && in.workersOf(first) == 1 && in.permitsOf(bad) == most
	})
	after, err := in.log.Info(t.Context())
	in.must(err)
	if held, atMost, began, _ := bad.counts(); held != most || atMost != 2*most || began != 2*most {
		t.Errorf("%d requests are held, %d were at most, of %d; %d steps may use the server", held, atMost, began, most)
	}
	for r, err := range in.log.Read(t.Context(), eventstore.ReadOptions{From: before.Last + 1, To: after.Last}) {
		in.must(err)
		if r.Aggregate.Kind != domain.KindFile { // the attempt at a file is open until another has claimed its job
			t.Errorf("written by the worker that was stopped: %s %s", r.ID(), r.Type)
		}
	}
	second.kill()
	bad.holds(t, most)
	waitFor(t, "the permits of the killed process", func() bool { held, _, began, _ := bad.counts(); return held == most && began == 3*most })
}

// settles waits until nothing moves that needs no server, and the log has all events.
func (in *installation) settles() {
	in.t.Helper()
	waitFor(in.t, "everything to wait for the server", func() bool {
		o := in.overview()
		return o.Queues[domain.JobProvisioning] == 0 && o.Outbox.Unsent == 0
	})
}

// overview returns the live state at a glance.
func (in *installation) overview() eventstore.Overview {
	in.t.Helper()
	o, err := in.live.Overview(in.t.Context())
	in.must(err)
	return o
}

// workersOf returns how many sessions a process has.
func (in *installation) workersOf(s *service) (n int) {
	in.t.Helper()
	for _, w := range in.overview().Workers {
		if w.PID == s.cmd.Process.Pid {
			n++
		}
	}
	return n
}

// permitsOf returns how many permits for a server are taken.
func (in *installation) permitsOf(h *holder) int {
	in.t.Helper()
	hosts, err := in.live.Permits(in.t.Context(), 10)
	in.must(err)
	for _, of := range hosts {
		if of.Of.Name == strings.TrimPrefix(h.URL, "http://") {
			return of.Taken
		}
	}
	return 0
}

// Hostile deposits, ten times as many as the workers of the state in both processes, from
// one and from two submitters: five good deposits of another, made while the hostile ones
// hold all that they can get, end while these still hang. In most cases the deadlines are so
// long that none of them helps, and the deposit queue lets all in; in those by default all
// settings are as a new installation has them.
// Shows: P11
func TestHostileCrowdOfProcesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, daemon, methods string
		of                    domain.SubmissionType
		submitters            int
		rocks                 string // what the profile of the hostile deposits says besides, %s = the server or its bucket
		byDefault             bool
	}{
		{"GET hangs", domain.DaemonJobDownloading, "GET", domain.TypeFile, 1, "", false},
		{"GET lies", domain.DaemonJobDownloading, "GET", domain.TypeFile, 2, "", false},
		{"HEAD hangs", domain.DaemonJobEstimating, "HEAD GET", domain.TypeFile, 1, "", false},
		{"manifest drips", domain.DaemonBatchPending, "GET", domain.TypeBatchManifest, 2, "", false},
		{"object manifest hangs", domain.DaemonJobPending, "GET", domain.TypeObjectManifest, 2, "", false},
		{"store hangs", domain.DaemonJobProcessing, "PUT", domain.TypeFile, 2, "storage: '%s'", false},
		{"callback hangs", domain.DaemonJobNotify, "POST", domain.TypeFile, 1, "callback: {url: '%s/callback'}", false},
		{"manifest hangs by default", domain.DaemonBatchPending, "GET", domain.TypeBatchManifest, 1, "", true},
		{"HEAD hangs by default", domain.DaemonJobEstimating, "HEAD GET", domain.TypeFile, 2, "", true},
		{"GET drips by default", domain.DaemonJobDownloading, "GET", domain.TypeFile, 2, "", true},
		{"store hangs by default", domain.DaemonJobProcessing, "PUT", domain.TypeFile, 1, "storage: '%s'", true},
		{"callback hangs by default", domain.DaemonJobNotify, "POST", domain.TypeFile, 2, "callback: {url: '%s/callback'}", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			fetch, settings := "", []string{"zookeeper_session_timeout=10s", "stop_grace=10ms"}
			if !c.byDefault {
				fetch = "min_rate: 0, timeout: 24h"
				settings = append(settings, "fetch_response_timeout=30m", "fetch_head_timeout=5m", "fetch_manifest_timeout=1h",
					"step_timeout=24h", "fetch_callback_timeout=1h", "queue_concurrency=metadata=1000")
			}
			in := newForProcesses(t, fetch, settings...)
			bad, good := newHolder(t, c.methods, strings.Contains(c.name, "drips")), goodServer(t)
			bad.lies = strings.HasSuffix(c.name, "lies")
			at := bad.URL
			if strings.HasPrefix(c.rocks, "storage:") {
				at = bad.serveBucket(t)
			}
			in.profileOfHostile(fetch, strings.ReplaceAll(c.rocks, "%s", at))
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
			if c.byDefault {
				most = min(most, c.submitters*fair.DefaultConcurrency) // of a user's deposits
			}
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
			if !c.byDefault && (held != most || atMost != most || ended != 0) {
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
