package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// stepSignal reports that a step has ended.
type stepSignal chan struct{}

func (s stepSignal) Step(string, string, time.Duration) {
	select {
	case s <- struct{}{}:
	default:
	}
}

// hurried is an installation with deadlines of a tenth of a second. Its clock goes by
// itself.
func hurried(t *testing.T, attempts int, change ...func(*fixture)) (*fixture, stepSignal) {
	t.Helper()
	ended := make(stepSignal, 1)
	w := newFixture(t, append([]func(*fixture){func(w *fixture) {
		const short = 100 * time.Millisecond
		client, err := fetch.NewClient(fetch.Config{ResponseHeader: short, Head: short, Exchange: short, RateWindow: short})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		w.cfg.Fetch, w.cfg.Meter = client, ended
		w.cfg.ManifestTimeout, w.cfg.StepTimeout, w.cfg.RetryDelay, w.cfg.RetryMaxDelay = short, 5*short, 10*time.Millisecond, time.Second
	}}, change...)...)
	p := w.set[tides]
	p.Fetch.Attempts = attempts
	w.set[tides] = p
	return w, ended
}

// serve lets all daemons work until the test ends.
func (w *fixture) serve(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticked := make(chan struct{})
		go func() {
			defer close(ticked)
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					w.clock.Advance(10 * time.Millisecond)
				case <-ctx.Done():
					return
				}
			}
		}()
		if err := w.r.Run(ctx); err != nil {
			t.Error(err)
		}
		<-ticked
	}()
	t.Cleanup(func() { cancel(); <-done })
}

// hang answers nothing until the client goes away; drip sends a byte now and then.
func hang(n *atomic.Int32) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		n.Add(1)
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client has gone
		<-r.Context().Done()
	}
}

func drip(n *atomic.Int32) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		n.Add(1)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = io.WriteString(rw, "x")
				_ = http.NewResponseController(rw).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// unlessHead answers HEAD at once.
func unlessHead(h http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			rw.Header().Set("Content-Length", "10")
			return
		}
		h(rw, r)
	}
}

// The request for a manifest has an end of its own: a server that keeps whatever rate is
// asked of it, and a profile that takes all the time for its files, do not hold a worker.
func TestManifestHasADeadline(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords, func(w *fixture) { w.cfg.ManifestTimeout = 100 * time.Millisecond })
	var requests atomic.Int32
	w.web.on("/bad", drip(&requests))
	p := w.set[tides]
	p.Fetch.MinRate, p.Fetch.Timeout = 0, profile.Duration(time.Hour) // any rate
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := w.r.steps.FetchManifest(ctx, p, payload.Payload{URL: w.web.URL + "/bad"})
	var failed *fetch.Error
	if !errors.As(err, &failed) || failed.Code != fetch.CodeTimeout || ctx.Err() != nil || requests.Load() != 1 {
		t.Errorf("%d requests, and it ends with %v (%v)", requests.Load(), err, ctx.Err())
	}
}

// Ten times as many hostile deposits as the workers of a state hold none of them for
// long: five good deposits of another submitter, from another server, end while all the
// hostile ones go on.
// Shows: P11
func TestNoServerKeepsOthersFromMoving(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		daemon string // that the hostile deposits keep busy
		kind   domain.SubmissionType
		serve  func(w *fixture, n *atomic.Int32) (path string)
	}{
		"a batch manifest hangs": {domain.DaemonBatchPending, domain.TypeBatchManifest, func(w *fixture, n *atomic.Int32) string {
			w.web.on("/bad", hang(n))
			return "/bad"
		}},
		"a batch manifest drips": {domain.DaemonBatchPending, domain.TypeBatchManifest, func(w *fixture, n *atomic.Int32) string {
			w.web.on("/bad", drip(n))
			return "/bad"
		}},
		"a manifest hangs": {domain.DaemonJobPending, domain.TypeObjectManifest, func(w *fixture, n *atomic.Int32) string {
			w.web.on("/bad", hang(n))
			return "/bad"
		}},
		"a HEAD hangs": {domain.DaemonJobEstimating, domain.TypeObjectManifest, func(w *fixture, n *atomic.Int32) string {
			w.web.on("/f", hang(n))
			var rows []string
			for i := range 100 {
				rows = append(rows, fmt.Sprintf("%s/f | | | | | f%d |", w.web.URL, i))
			}
			w.web.serve("/bad", manifestOf("mrt-ingest-manifest", rows...))
			return "/bad"
		}},
		"a GET hangs": {domain.DaemonJobDownloading, domain.TypeFile, func(w *fixture, n *atomic.Int32) string {
			w.web.on("/bad", unlessHead(hang(n)))
			return "/bad"
		}},
		"a GET drips": {domain.DaemonJobDownloading, domain.TypeFile, func(w *fixture, n *atomic.Int32) string {
			w.web.on("/bad", unlessHead(drip(n)))
			return "/bad"
		}},
		"a callback hangs": {domain.DaemonJobNotify, domain.TypeFile, func(w *fixture, n *atomic.Int32) string {
			w.web.serve("/bad", "bad")
			w.web.on("/callback", hang(n))
			p := w.set[tides]
			p.Name, p.Collection, p.Callback.URL = "rocks", "rocks", w.web.URL+"/callback"
			w.set["rocks"] = p
			return "/bad"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ended := hurried(t, 10_000) // more than a slow machine can make while the good ones end
			var requests atomic.Int32
			path := c.serve(w, &requests)
			var bad, good []domain.BatchID
			for range 10 * daemonNamed(c.daemon).Workers {
				bad = append(bad, w.submit(c.kind, path, func(s *domain.Submission) {
					s.Submitter = "mallory"
					if _, other := w.set["rocks"]; other {
						s.ProfileName = "rocks"
					}
				}))
			}
			other := newWeb(t) // what uses the hostile server waits for its share of that
			p := w.set[tides]
			p.Fetch.Allow = append(p.Fetch.Allow, strings.TrimPrefix(other.URL, "http://"))
			w.set[tides] = p
			other.objectManifest("/good.checkm", map[string]string{"a.txt": "a", "b.txt": "b"})
			other.serve("/batch.checkm", manifestOf("mrt-batch-manifest", other.URL+"/good.checkm"))
			for range 5 {
				good = append(good, w.submit(domain.TypeBatchManifest, "", func(s *domain.Submission) { s.PayloadURL = other.URL + "/batch.checkm" }))
			}
			w.serve(t)
			for _, id := range good {
				w.until(ended, func() bool { return w.batch(id).State == domain.BatchCompleted })
			}
			for _, id := range bad {
				if s := w.batch(id).State; s != domain.BatchPending && s != domain.BatchProcessing {
					t.Errorf("the hostile %s is %s", id, s)
				}
			}
			if requests.Load() == 0 {
				t.Error("no hostile request was made")
			}
		})
	}
}

// until waits for a condition, which it checks when steps end.
func (w *fixture) until(ended stepSignal, ok func() bool) {
	w.Helper()
	timeout := time.NewTimer(5 * time.Minute)
	defer timeout.Stop()
	for !ok() {
		select {
		case <-ended:
		case <-timeout.C:
			text := w.log.String()
			w.Fatalf("it took too long\n%s", text[max(len(text)-4000, 0):])
		}
	}
}

// What passes its deadline says why it waits, naming the host, and fails at last.
func TestDeadlinesFailAtLast(t *testing.T) {
	t.Parallel()
	w, ended := hurried(t, 3, noRecords)
	var n atomic.Int32
	w.web.on("/f.txt", unlessHead(hang(&n)))
	id := w.jobIn(domain.JobDownloading, domain.TypeFile, "/f.txt")
	w.turn(domain.DaemonJobDownloading)
	host := strings.TrimPrefix(w.web.URL, "http://")
	if j := w.wantJob(id, domain.JobDownloading, fetch.CodeTimeout); j.Reason.Class != domain.ClassWait || !strings.Contains(j.Reason.Message, host) {
		t.Errorf("it waits with %+v", j.Reason)
	}
	w.serve(t)
	w.until(ended, func() bool { return w.job(id).State == domain.JobFailed })
	if j := w.wantJob(id, domain.JobFailed, fetch.CodeTimeout); j.Reason.Class != domain.ClassTimeout || !strings.Contains(j.Reason.Message, host) {
		t.Errorf("it failed with %+v", j.Reason)
	}
	w.wantRows(id, map[string]string{"f.txt": "F1 F2 F5 F6 F5 F6 F5 F7"})
	if count(w.events(id.Aggregate()), domain.EventJobWaiting) != 1 {
		t.Errorf("%v", w.events(id.Aggregate()))
	}
}

// A server that states ten bytes and sends without end is stopped soon after, and its
// job fails at once: the working space of others is safe.
// Shows: P11
func TestPromisedSizeIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	var sent atomic.Int64
	w.web.on("/f.txt", unlessHead(func(rw http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			n, err := rw.Write(make([]byte, 64<<10))
			if sent.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	id := w.jobIn(domain.JobDownloading, domain.TypeFile, "/f.txt")
	w.turn(domain.DaemonJobDownloading)
	if j := w.wantJob(id, domain.JobFailed, reason.CodeSizeMismatch); j.Reason.Class != domain.ClassContent {
		t.Errorf("it failed with %+v", j.Reason)
	}
	w.wantRows(id, map[string]string{"f.txt": "F1 F2 F5 F7"})
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("it took %d bytes", n)
	}
}
