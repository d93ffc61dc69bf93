package daemon

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"

	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/memory"
)

// How a hostile server or store behaves.
const (
	hangs = "hangs" // does not answer
	drips = "drips" // answers above the least rate, without an end
	lies  = "lies"  // announces another length than it sends, or has not stored what it said
	tires = "tires" // of a store: stores, and does not answer after a version was read back
)

// dripped is what a dripping server sends each time: above the least rate in all.
const (
	dripEvery = 200 * time.Millisecond
	dripBytes = 8 << 10
	bigFile   = 8 << 20
)

// hostile is a server that holds its clients, and counts those that it holds.
type hostile struct {
	held  atomic.Int32
	began stepSignal // when it holds one more
}

func (h *hostile) hold(ctx context.Context, send func()) {
	h.held.Add(1)
	defer h.held.Add(-1)
	h.began.Step("", "", 0)
	tick := time.NewTicker(dripEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			send()
		case <-ctx.Done():
			return
		}
	}
}

// serve answers in one of the ways.
func (h *hostile) serve(how string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Body != nil {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client has gone
		}
		flush := func(text []byte) {
			_, _ = rw.Write(text)
			_ = http.NewResponseController(rw).Flush()
		}
		switch {
		case how == drips && r.Method == http.MethodHead: // one header after the other
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				return
			}
			ctx, cancel := context.WithCancel(r.Context())
			defer cancel()
			go func() { defer cancel(); _, _ = io.Copy(io.Discard, conn) }()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			h.hold(ctx, func() { _, _ = io.WriteString(conn, "X-More: x\r\n") })
			_ = conn.Close()
		case how == drips:
			bytes := dripBytes
			if r.Method == http.MethodPost { // a large answer is not read to its end
				bytes = 1
			}
			h.hold(r.Context(), func() { flush(make([]byte, bytes)) })
		case how == lies && r.Method != http.MethodHead:
			rw.Header().Set("Content-Length", fmt.Sprint(bigFile))
			flush([]byte("that is all"))
			h.hold(r.Context(), func() {})
		default:
			h.hold(r.Context(), func() {})
		}
	}
}

// head answers HEAD at once; what it states is more than is sent, or nothing.
func (h *hostile) head(how string, then http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead {
			then(rw, r)
			return
		}
		if how == lies {
			rw.Header().Set("Content-Length", fmt.Sprint(bigFile))
		}
	}
}

// badStore is an object store that takes nothing, unless it tires later.
type badStore struct {
	driver.Bucket
	*hostile
	how string
	has *sync.Map // what a liar said that it stored, and what one that tires has
}

func (b badStore) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, errNone):
		return gcerrors.NotFound
	case errors.Is(err, context.Canceled):
		return gcerrors.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return gcerrors.DeadlineExceeded
	}
	return gcerrors.Unknown
}
func (b badStore) ErrorAs(error, any) bool { return false }
func (b badStore) As(any) bool             { return false }
func (b badStore) Close() error            { return nil }

var errNone = fmt.Errorf("there is no such object")

// NewRangeReader hangs for what a liar said that it has.
func (b badStore) NewRangeReader(ctx context.Context, key string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	if b.how == tires {
		return b.readUntilTired(ctx, key)
	}
	if _, said := b.has.Load(key); said || b.how == hangs {
		b.hold(ctx, func() {})
		return nil, ctx.Err()
	}
	return nil, errNone
}

func (b badStore) NewTypedWriter(ctx context.Context, key, _ string, _ *driver.WriterOptions) (driver.Writer, error) {
	return &badWriter{ctx: ctx, b: b, key: key}, nil
}

// readUntilTired answers until a file of a version was read, as it is after it was written;
// then it does not find the manifest of the version.
func (b badStore) readUntilTired(ctx context.Context, key string) (driver.Reader, error) {
	of := key[:strings.Index(key, "/v1/")+1]
	if _, tired := b.has.Load(of); tired && strings.HasSuffix(key, "/manifest.json") {
		b.hold(ctx, func() {})
		return nil, ctx.Err()
	}
	data, has := b.has.Load(key)
	if !has {
		return nil, errNone
	}
	if !strings.HasSuffix(key, "/manifest.json") {
		b.has.Store(of, nil)
	}
	return storedReader{bytes.NewReader(data.([]byte))}, nil
}

// storedReader reads what a store has that tires.
type storedReader struct{ *bytes.Reader }

func (storedReader) Close() error { return nil }
func (storedReader) As(any) bool  { return false }
func (r storedReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{Size: r.Size()}
}

// ListPaged says that there is nothing, unless the store hangs; a liar says that there is
// something, which it then does not send.
func (b badStore) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	switch b.how {
	case hangs:
		b.hold(ctx, func() {})
		return nil, ctx.Err()
	case lies:
		key := opts.Prefix + "batch.json"
		b.has.Store(key, nil)
		return &driver.ListPage{Objects: []*driver.ListObject{{Key: key, Size: 10}}}, nil
	}
	return &driver.ListPage{}, nil
}

func (b badStore) Delete(context.Context, string, *driver.DeleteOptions) error { return nil }

type badWriter struct {
	ctx context.Context
	b   badStore
	key string
	got []byte
}

func (w *badWriter) Write(p []byte) (int, error) {
	if w.b.how == lies || w.b.how == tires {
		w.got = append(w.got, p...)
		return len(p), nil
	}
	w.b.hold(w.ctx, func() {})
	return 0, w.ctx.Err()
}

func (w *badWriter) Close() error {
	if (w.b.how == lies || w.b.how == tires) && w.ctx.Err() == nil {
		w.b.has.Store(w.key, w.got)
	}
	return w.ctx.Err()
}

// badStores are the stores of all tests, by host: their scheme is registered once, because
// tests that run in parallel read what is registered.
type badStores struct{ byHost sync.Map }

var allBad badStores

// OpenBucketURL implements blob.BucketURLOpener.
func (s *badStores) OpenBucketURL(_ context.Context, u *url.URL) (*blob.Bucket, error) {
	b, ok := s.byHost.Load(u.Host)
	if !ok {
		return nil, fmt.Errorf("there is no store %s", u)
	}
	return blob.NewBucket(b.(badStore)), nil
}

// store returns where an object store is that behaves in one of the ways.
func (h *hostile) store(how string) string {
	host := strings.ToLower(rand.Text())
	allBad.byHost.Store(host, badStore{hostile: h, how: how, has: &sync.Map{}})
	return "bad://" + host
}

// committing reports writes to the live state.
type committing struct {
	*memory.Store
	written stepSignal
}

func (c committing) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	done, err := c.Store.Commit(ctx, changes...)
	c.written.Step("", "", 0)
	return done, err
}

// unhurried is an installation with the default numbers of workers and no deadlines: what
// hangs does so until the test ends. It has a depositor's server of good files, and a
// hostile one whose collection is rocks.
func unhurried(t *testing.T) (w *fixture, bad *web, written stepSignal) {
	t.Helper()
	written = make(stepSignal, 1)
	bad = newWeb(t)
	client, err := fetch.NewClient(fetch.Config{ResponseHeader: 30 * time.Minute, Head: 5 * time.Minute, Exchange: time.Hour, RateWindow: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	w = newFixture(t, inNotebook, func(w *fixture) {
		w.h.Live = committing{w.store, written}
		w.cfg.Fetch, w.cfg.ManifestTimeout, w.cfg.StepTimeout, w.cfg.HandOver = client, time.Hour, time.Hour, true
		w.cfg.RetryDelay, w.cfg.SpaceCycle = 0, 0 // the defaults
		w.cfg.Grace = time.Millisecond            // of the end of the test
		for _, name := range []string{tides, "rocks"} {
			p := w.profile(name)
			p.Fetch.Attempts = profile.Defaults().Fetch.Attempts
			p.Fetch.Allow = append(p.Fetch.Allow, strings.TrimPrefix(bad.URL, "http://"))
			w.set[name] = p
		}
	})
	return w, bad, written
}

// another adds a hostile server, with a collection of its own.
func (w *fixture) another(n int) (bad *web, rocks string) {
	bad, rocks = newWeb(w.TB), fmt.Sprint("rocks", n)
	p := w.profile(rocks)
	p.Fetch.Attempts = profile.Defaults().Fetch.Attempts
	p.Fetch.Allow = append(p.Fetch.Allow, strings.TrimPrefix(bad.URL, "http://"))
	w.set[rocks] = p
	return bad, rocks
}

// stages are the states whose workers hostile deposits can hold, with what they deposit.
var stages = []struct {
	name, daemon string
	kind         domain.SubmissionType
	serve        func(p *profile.Profile, bad *web, h *hostile, how string)
}{
	{"batch manifest", domain.DaemonBatchPending, domain.TypeBatchManifest, func(_ *profile.Profile, bad *web, h *hostile, how string) {
		bad.on("/bad", h.serve(how))
	}},
	{"manifest", domain.DaemonJobPending, domain.TypeObjectManifest, func(_ *profile.Profile, bad *web, h *hostile, how string) {
		bad.on("/bad", h.serve(how))
	}},
	{"HEAD", domain.DaemonJobEstimating, domain.TypeFile, func(_ *profile.Profile, bad *web, h *hostile, how string) {
		bad.on("/bad", h.serve(how))
	}},
	{"GET", domain.DaemonJobDownloading, domain.TypeFile, func(_ *profile.Profile, bad *web, h *hostile, how string) {
		bad.on("/bad", h.head(how, h.serve(how)))
	}},
	{"store", domain.DaemonJobProcessing, domain.TypeFile, func(p *profile.Profile, bad *web, h *hostile, how string) {
		bad.serve("/bad", "bad")
		p.Storage = h.store(how)
	}},
	{"record", domain.DaemonJobRecording, domain.TypeFile, func(p *profile.Profile, bad *web, h *hostile, _ string) {
		bad.serve("/bad", "bad")
		p.Storage = h.store(tires)
	}},
	{"callback", domain.DaemonJobNotify, domain.TypeFile, func(p *profile.Profile, bad *web, h *hostile, how string) {
		bad.serve("/bad", "bad")
		bad.on("/callback", h.serve(how))
		p.Callback.URL = bad.URL + "/callback"
	}},
}

// Hostile deposits, ten times as many as the workers of the state, from one and from two
// submitters, and from four with a server each: five good deposits of another, made while the
// hostile ones hold all that they can get, end while all the hostile ones still hang. No
// deadline helps.
// Shows: P11
func TestHostileCrowd(t *testing.T) {
	t.Parallel()
	for _, c := range stages {
		for _, how := range []string{hangs, drips, lies} {
			if c.name == "HEAD" && how == lies || c.name == "record" && how != hangs {
				continue // what it states is the lie of GET; a store that tires does so in one way
			}
			for _, submitters := range []int{1, 2, 4} {
				if submitters == 4 && how != hangs {
					continue // how it behaves makes no difference to who holds what
				}
				t.Run(fmt.Sprintf("%s %s, %d", c.name, how, submitters), func(t *testing.T) {
					t.Parallel()
					w, site, written := unhurried(t)
					workers := daemonNamed(c.daemon).Workers
					servers, began := 1, make(stepSignal, 1)
					if submitters == 4 {
						servers = submitters
					}
					crowd := make([]hostile, servers) // by server
					var urls, profiles []string
					for n := range crowd {
						at, rocks := site, "rocks"
						if n > 0 {
							at, rocks = w.another(n)
						}
						p := w.set[rocks]
						crowd[n].began = began
						c.serve(&p, at, &crowd[n], how)
						w.set[rocks] = p
						urls, profiles = append(urls, at.URL+"/bad"), append(profiles, rocks)
					}
					var bad, good []domain.BatchID
					deposit := func(n int) {
						bad = append(bad, w.submit(c.kind, "/bad", func(s *domain.Submission) {
							s.Submitter, s.ProfileName, s.PayloadURL = fmt.Sprint("mallory", n%submitters), profiles[n%servers], urls[n%servers]
						}))
					}
					most := workers - fair.Share{Workers: workers}.Reserve()
					held := func() (all int, each bool) {
						each = true
						for n := range crowd {
							h := int(crowd[n].held.Load())
							all, each = all+h, each && h > 0
						}
						return all, each
					}
					if servers == 1 {
						for n := range 10 * workers {
							deposit(n)
						}
						w.serve(t)
						w.until(began, func() bool { return int(crowd[0].held.Load()) >= most })
					} else { // the first takes all that one can get, and then each of the others
						w.serve(t)
						for n := range crowd {
							for range 10 * workers / servers {
								deposit(n)
							}
							want := 1
							if n == 0 {
								want = most
							}
							w.until(began, func() bool { return int(crowd[n].held.Load()) >= want })
						}
					}
					w.web.objectManifest("/good.checkm", map[string]string{"a.txt": "a", "b.txt": "b"})
					w.web.serve("/batch.checkm", manifestOf("mrt-batch-manifest", w.web.URL+"/good.checkm"))
					for range 5 {
						good = append(good, w.submit(domain.TypeBatchManifest, "/batch.checkm"))
					}
					for _, id := range good {
						w.until(written, func() bool { return w.batch(id).State == domain.BatchCompleted })
					}
					for _, id := range bad {
						if s := w.batch(id).State; s != domain.BatchPending && s != domain.BatchProcessing {
							t.Errorf("the hostile %s is %s", id, s)
						}
					}
					if all, each := held(); all < most || !each {
						t.Errorf("%d hostile requests hang, of each server: %t, and there were %d", all, each, most)
					}
				})
			}
		}
	}
}

// An object store that does not answer is left after a time: the job waits and says why,
// and nothing of it is used up.
func TestStoreThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	for _, how := range []string{hangs, drips, lies, tires} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, inNotebook)
			h := hostile{began: make(stepSignal, 1)}
			w.web.serve("/f.txt", "f")
			p := w.set[tides]
			p.Storage = h.store(how)
			w.set[tides] = p
			in, by := domain.JobProcessing, domain.DaemonJobProcessing
			if how == tires {
				in, by = domain.JobRecording, domain.DaemonJobRecording
			}
			id := w.jobIn(in, domain.TypeFile, "/f.txt")
			w.cfg.StepTimeout = 300 * time.Millisecond
			w.r = w.runner()
			w.turn(by)
			j := w.wantJob(id, in, reason.CodeStorage)
			if j.Reason.Class != domain.ClassWait || !strings.Contains(j.Reason.Message, "storage") || h.held.Load() != 0 {
				t.Errorf("it waits with %+v, and the store holds %d", j.Reason, h.held.Load())
			}
			for _, f := range w.fileStatesOf(id) {
				if f.ProcessingAttempts != 0 && how != tires {
					t.Errorf("%d attempts are used up", f.ProcessingAttempts)
				}
			}
		})
	}
}

// The installation's own object store, which keeps manifests, is left after a time too:
// the worker is free for what needs no store.
// Shows: P11
func TestStoreOfManifestsThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	for _, how := range []string{hangs, drips} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			h := hostile{}
			w := newFixture(t, inNotebook, func(w *fixture) {
				objects, err := store.Open(t.Context(), h.store(how))
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = objects.Close() })
				w.cfg.Objects, w.cfg.StepTimeout = objects, 300*time.Millisecond
			})
			w.web.objectManifest("/good.checkm", map[string]string{"a.txt": "a"})
			w.web.serve("/batch.checkm", manifestOf("mrt-batch-manifest", w.web.URL+"/good.checkm"))
			batches := []domain.BatchID{w.submit(domain.TypeBatchManifest, "/batch.checkm")}
			if how == hangs { // what drips has no upload
				batches = append(batches, w.submit(domain.TypeBatchManifest, "", func(s *domain.Submission) { s.PayloadURL, s.Size = store.URL("uploads/batch.checkm"), 10 }))
			}
			for range batches {
				w.turn(domain.DaemonBatchPending)
			}
			for _, id := range batches {
				if b := w.batch(id); b.State != domain.BatchPending || h.held.Load() != 0 {
					t.Errorf("the batch is %s, and the store holds %d", b.State, h.held.Load())
				}
			}
			id := w.jobIn(domain.JobPending, domain.TypeObjectManifest, "/good.checkm")
			w.turn(domain.DaemonJobPending)
			if j := w.wantJob(id, domain.JobPending, reason.CodeStorage); j.Reason.Class != domain.ClassWait || h.held.Load() != 0 {
				t.Errorf("it waits with %+v, and the store holds %d", j.Reason, h.held.Load())
			}
		})
	}
}

// runner returns another runner, of the configuration as it is now.
func (w *fixture) runner() *Runner {
	w.Helper()
	r, err := New(w.cfg)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// A report is not waited for without end either, whether the store hangs at what was kept
// for the report or at the report itself: the batch is reported when the store answers.
// Shows: P11
func TestStoreOfReportsThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	for at, how := range map[string]string{"list": hangs, "read": lies, "keep": drips} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, inNotebook)
			w.web.serve("/bad.checkm", "this is no manifest")
			id := w.submit(domain.TypeBatchManifest, "/bad.checkm")
			w.turn(domain.DaemonBatchPending)
			h, good := hostile{}, w.cfg
			bad, err := store.Open(t.Context(), h.store(how))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = bad.Close() })
			w.cfg.Objects, w.cfg.StepTimeout = bad, 300*time.Millisecond
			for _, cfg := range []Config{w.cfg, good} {
				if s := w.batch(id).State; s != domain.BatchReporting {
					t.Fatalf("the batch is %s", s)
				}
				w.cfg = cfg
				w.r = w.runner()
				w.clock.Advance(time.Minute) // past the pause
				w.turn(domain.DaemonBatchReporting)
				if n := h.held.Load(); n != 0 {
					t.Errorf("the store holds %d", n)
				}
			}
			if s := w.batch(id).State; s != domain.BatchCompleted && s != domain.BatchFailed {
				t.Errorf("with a store that answers the batch is %s", s)
			}
			if !strings.Contains(w.log.String(), "the object store did not finish within 300ms") {
				t.Errorf("the log does not say it:\n%s", w.log)
			}
		})
	}
}
