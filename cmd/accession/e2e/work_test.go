package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/work"
)

// TestWorkersInGo: programs that use package work do what is asked for, also when answers are
// lost; they fail in their own words, learn that work is another's by now, and give back what
// they do when they are stopped.
func TestWorkersInGo(t *testing.T) {
	t.Parallel()
	p := newProcessed(t)
	in, dir := p.installation, p.dir
	key, service := in.keyOf("olga", "operator", "--all"), in.serveInProcess(run.RoleHTTP, run.RoleDaemons, run.RoleDownload, run.RoleReady)
	server := newUnreliable(t, in.doorOf(service).url)
	t.Cleanup(func() {
		if strings.Contains(service.log.String(), "level=ERROR") {
			t.Error("the log has errors")
		}
	})

	request := func(dataset string) {
		in.says(0, []string{"compute", "submit", "--dataset", dataset, "--input", dir.URL + "/night/1_a.dat"})
	}
	worker := func(dataset string) *work.Worker {
		return &work.Worker{Server: server.URL, Key: key, Name: "go-" + dataset, Datasets: []string{dataset}, Lease: 5 * time.Second,
			Cached: func() []work.Group { return []work.Group{{Dataset: dataset, Group: "g"}} }}
	}
	// run lets a worker work until the test ends.
	run := func(t *testing.T, dataset string, do work.Handler) {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := worker(dataset).Run(ctx, do); err != nil {
				t.Error(err)
			}
		})
		t.Cleanup(func() { stop(); running.Wait() })
	}
	becomes := func(t *testing.T, dataset, where string) {
		t.Helper()
		waitFor(t, "the work of "+dataset+" to have "+where, func() bool {
			return in.count("select count(*) from accession.compute_entry where dataset = $1 and "+where, dataset) == 1
		})
	}
	size := func(ctx context.Context, e *work.Entry) (any, error) {
		content, err := e.Inputs[0].Open(ctx)
		if err != nil {
			return nil, err
		}
		defer content.Close()
		n, err := io.Copy(io.Discard, content)
		return map[string]int64{e.Inputs[0].Name: n}, err
	}

	t.Run("a result, whose answer is lost", func(t *testing.T) {
		t.Parallel()
		server.lose("/v1/compute/claims", "/complete")
		run(t, "sizes", size)
		request("sizes")
		becomes(t, "sizes", "status = 'SUCCESSFUL' and attempt <= 2") // 2 if the tables are late
		if key, again := server.claimedAgain(); key == "" || !again {
			t.Errorf("the claim whose answer was lost, under the key %q, was not sent again", key)
		}
		if n := in.count(`select count(*) from record.compute_result r join accession.compute_entry e on e.id = r.entry_id where dataset = 'sizes' and result @> '{"1_a.dat":25}'`); n != 1 {
			t.Errorf("%d results", n)
		}
	})
	t.Run("a file of a directory", func(t *testing.T) {
		t.Parallel()
		run(t, "nights", size)
		p.polled()
		p.reaches("1_a.dat", domain.FileProcessed)
		becomes(t, "nights", "status = 'SUCCESSFUL'")
	})
	t.Run("an output", func(t *testing.T) {
		t.Parallel()
		ids := make(chan string, 1)
		run(t, "outputs", func(ctx context.Context, e *work.Entry) (any, error) {
			ids <- e.ID
			var refused *work.Refused
			if err := e.Put(ctx, "../above", strings.NewReader("no")); !errors.As(err, &refused) {
				t.Errorf("a name with a slash: %v", err)
			}
			for _, content := range []string{"the first", "the later"} {
				if err := e.Put(ctx, "spectrum.txt", strings.NewReader(content)); err != nil {
					return nil, err
				}
			}
			return map[string]any{}, nil
		})
		request("outputs")
		becomes(t, "outputs", "status = 'SUCCESSFUL'")
		if text := in.says(0, []string{"compute", "output", <-ids, "spectrum.txt"}); text != "the later" {
			t.Errorf("%q", text)
		}
	})
	t.Run("failures", func(t *testing.T) {
		t.Parallel()
		run(t, "failures", func(_ context.Context, e *work.Entry) (any, error) {
			if e.Attempt == 1 {
				return nil, errors.Join(errors.New("no header in "+e.Inputs[0].Name), errors.New("\x1b[2J\u202e\x00"))
			}
			return nil, &work.Failure{Class: "system", Message: strings.Repeat("ä", 600), ExitStatus: 3, LastLines: strings.Repeat("\xff", 5000) + "\nbegun\n\x1bno header\n", Never: true, Uncounted: true}
		})
		request("failures")
		becomes(t, "failures", "status = 'FAILED' and attempt = 2")
		becomes(t, "failures", "reason_class = 'system' and reason_message like '%ä… (exit status 3): _ / begun / _no header'")
	})
	t.Run("a result that is too large", func(t *testing.T) {
		t.Parallel()
		run(t, "large", func(context.Context, *work.Entry) (any, error) { return strings.Repeat("a", 65<<10), nil })
		request("large")
		becomes(t, "large", "status = 'FAILED' and attempt = 3 and reason_class = 'system' and reason_message like '%64 KiB%'")
	})
	t.Run("a lease that ends", func(t *testing.T) {
		t.Parallel()
		server.drop("/v1/compute/claims/", "/heartbeat") // those of the others arrive after their work has ended
		lost := make(chan error, 3)
		run(t, "lost", func(ctx context.Context, e *work.Entry) (any, error) {
			if e.Attempt > 1 {
				return size(ctx, e)
			}
			<-ctx.Done()
			lost <- context.Cause(ctx)
			return "counts no more", nil
		})
		request("lost")
		if err := <-lost; !errors.Is(err, work.ErrLost) {
			t.Error(err)
		}
		becomes(t, "lost", "status = 'SUCCESSFUL' and attempt = 2")
	})
	t.Run("a stop", func(t *testing.T) {
		t.Parallel()
		request("stopped")
		ctx, stop := context.WithCancel(t.Context())
		err := worker("stopped").Run(ctx, func(ctx context.Context, _ *work.Entry) (any, error) {
			stop()
			<-ctx.Done()
			return nil, ctx.Err()
		})
		if err != nil {
			t.Error(err)
		}
		becomes(t, "stopped", "status = 'PENDING' and attempt = 0")
	})
	t.Run("what is refused", func(t *testing.T) {
		t.Parallel()
		for want, change := range map[string]func(*work.Worker){
			"key":         func(w *work.Worker) { w.Key = "ak_wrong" },
			"URL":         func(w *work.Worker) { w.Server = "accession.example.org" },
			"lease":       func(w *work.Worker) { w.Lease = time.Millisecond },
			"body.worker": func(w *work.Worker) { w.Name = "no spaces" },
		} {
			w := worker("nothing")
			change(w)
			if err := w.Run(t.Context(), size); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", want, err)
			}
		}
	})
}

// unreliable is what stands between a worker and the server, and loses answers.
type unreliable struct {
	*httptest.Server
	mu      sync.Mutex
	once    map[string]bool // ends of paths whose next answer is lost
	dropped [2]string       // beginning and end of the paths whose requests are
	key     string          // of the claim whose answer was lost
	again   bool            // the claim was sent again
}

func newUnreliable(t *testing.T, to string) *unreliable {
	t.Helper()
	at, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	u := &unreliable{once: map[string]bool{}}
	proxy := httputil.NewSingleHostReverseProxy(at)
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.drops(r.URL.Path) {
			panic(http.ErrAbortHandler)
		}
		key := r.Header.Get("Idempotency-Key")
		u.claims(key)
		a := httptest.NewRecorder()
		proxy.ServeHTTP(a, r)
		if a.Code == http.StatusOK && u.loses(r.URL.Path, key, a.Body) {
			panic(http.ErrAbortHandler)
		}
		for name, values := range a.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(a.Code)
		_, _ = a.Body.WriteTo(w)
	}))
	t.Cleanup(u.Close)
	return u
}

// lose loses the next answer of success to a request whose path ends so; to a claim, of one
// that has given work.
func (u *unreliable) lose(paths ...string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range paths {
		u.once[p] = true
	}
}

// drop lets requests with such paths not arrive.
func (u *unreliable) drop(begins, ends string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.dropped = [2]string{begins, ends}
}

func (u *unreliable) drops(path string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.dropped[1] != "" && strings.HasPrefix(path, u.dropped[0]) && strings.HasSuffix(path, u.dropped[1])
}

// claims notes a request with a key.
func (u *unreliable) claims(key string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.again = u.again || key != "" && key == u.key
}

// claimedAgain returns the key of the claim whose answer was lost, and whether it was sent again.
func (u *unreliable) claimedAgain() (key string, again bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.key, u.again
}

func (u *unreliable) loses(path, key string, answer *bytes.Buffer) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	for p := range u.once {
		if strings.HasSuffix(path, p) && (p != "/v1/compute/claims" || bytes.Contains(answer.Bytes(), []byte(`"sizes"`))) {
			delete(u.once, p)
			u.key = cmp.Or(key, u.key)
			return true
		}
	}
	return false
}
