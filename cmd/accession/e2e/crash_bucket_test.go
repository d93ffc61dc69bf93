//go:build !race

package e2e

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// TestBucketKilledAtEachStep: a process dies right after one of its writes into a bucket, before it
// knows, or in the middle of one. The next process stores the object, once, as if none had died.
// Of three writes one is tried; the seed draws which.
// Shows: P1 P5
func TestBucketKilledAtEachStep(t *testing.T) {
	t.Parallel()
	first, of := share(t)
	for _, layout := range []string{"accession", "ocfl"} {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			server := bucket.Rclone(t, "archive")
			in := newForProcesses(t, "attempts: 20, timeout: 1h", "store="+server.Location("archive", "own"), "stop_grace=100ms")
			in.editProfile("fetch:", "layout: "+layout+"\nfetch:")
			in = in.with()
			k := newKiller(t, server.URL)
			through := bucket.Server{URL: k.server.URL}
			large := strings.Repeat("tides\n", 3<<19) // so large that it is sent in parts
			base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()+large) }))
			deposits := 0
			for _, within := range []bool{false, true} {
				deaths := 0
				for n := first; ; n += of {
					deposits++
					id := in.submit(app.Deposit{Payload: base + "/" + in.name(deposits)})
					died := k.arm(n, within)
					s := in.serve("--set", "store="+through.Location("archive", "own"))
					k.process <- s.cmd.Process
					waitFor(t, "the process to die or the deposit to be reported", func() bool {
						return died() || in.count("select count(*) from accession.batch where id = '"+string(id)+"' and status in ('completed', 'failed')") > 0
					})
					if k.spare() {
						s.stop()
						break
					}
					waitFor(t, "the process to die", died)
					s.kill()
					deaths++
					s = in.serve()
					if v := in.rest(id); v.JobsCompleted != 1 {
						t.Errorf("%+v", v.BatchSummary)
					}
					s.stop()
				}
				t.Logf("%d processes died, within a write: %v", deaths, within)
				if deaths == 0 {
					t.Error("no process died")
				}
			}
			in.serveInProcess("relay", "projector")
			in.shown()
			in.whole(deposits)
			in.says(0, words("verify --deep"), "no differences")
		})
	}
}

// storesInABucket: an object in a bucket is there once, wherever a process dies.
func storesInABucket(o *crashInstallation, point string) {
	name, layout := "b"+strings.ReplaceAll(uuid.NewString(), "-", ""), "accession"
	if strings.HasPrefix(point, "store/ocfl/") {
		layout = "ocfl"
	}
	file := filepath.Join(o.dir, name+".yaml")
	o.must(os.WriteFile(file, []byte(strings.ReplaceAll(profileOf(""), ": test\n", ": "+name+"\n")+
		"storage: '"+bucket.Rclone(o.t, "archive").Location("archive", name)+"'\nlayout: "+layout+"\ncallback: {url: "+o.base+"/callback}\n"), 0o600))
	o.run("profile", "set", name, file, "--reason", "a test")
	o.n++
	_, err := o.app.Submit(o.ctx(), app.Deposit{Profile: name, Submitter: "tester", Payload: o.base + "/again?n=" + o.number(), Type: domain.TypeFileBatchManifest})
	o.must(err)
	o.dies(point, nil, "serve")
	o.finish()
	if n := o.count("select count(*) from record.object_version where profile_name = $1", name); n != 1 {
		o.t.Errorf("%s: %d versions", point, n)
	}
}

// name returns the name of the nth file.
func (in *installation) name(n int) string {
	return "file-" + string(rune('a'+n/26)) + string(rune('a'+n%26)) + ".txt"
}

// killer stands before a bucket and kills the process that writes there.
type killer struct {
	server  *httptest.Server
	process chan *os.Process

	mu     sync.Mutex
	left   int  // writes until it dies, -1 = it dies, or is to live
	within bool // in the middle of one
	dead   bool
}

func newKiller(t *testing.T, target string) *killer {
	t.Helper()
	k := &killer{left: -1, process: make(chan *os.Process, 1)}
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // as it is signed
			if k.dies(r.In, true) {
				r.Out.Body = &half{ReadCloser: r.Out.Body, left: r.In.ContentLength / 2, ends: k.kill}
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if k.dies(r.Request, false) {
				k.kill()
				return errKilled
			}
			return nil
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	k.server = httptest.NewServer(proxy)
	t.Cleanup(k.server.Close)
	return k
}

var errKilled = errors.New("the process was killed")

// arm has the next process die after n more writes, in or after the one that follows. died reports
// whether it has.
func (k *killer) arm(n int, within bool) (died func() bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.within, k.dead = n, within, false
	select {
	case <-k.process: // of one that was not killed
	default:
	}
	return func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.dead
	}
}

// spare lets the process live, unless it dies already.
func (k *killer) spare() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	spared := k.left >= 0
	k.left = -1
	return spared
}

// dies reports whether the process dies in this request, or after it, and counts it.
func (k *killer) dies(r *http.Request, within bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if r.Method == http.MethodGet || r.Method == http.MethodHead || k.left < 0 || k.within != within || within && r.ContentLength < 2 {
		return false
	}
	k.left--
	return k.left < 0
}

func (k *killer) kill() {
	p := <-k.process
	_ = p.Kill()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.dead = true
}

// half is a body of which only the first half comes.
type half struct {
	io.ReadCloser
	left int64
	ends func()
}

// Read implements io.Reader.
func (h *half) Read(p []byte) (int, error) {
	if h.left == 0 {
		h.ends()
		return 0, errKilled
	}
	n, err := h.ReadCloser.Read(p[:min(int64(len(p)), h.left)])
	h.left -= int64(n)
	return n, err
}
