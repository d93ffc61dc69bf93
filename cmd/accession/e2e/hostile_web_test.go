package e2e

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
)

func sha256Text(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// raw answers with these bytes, and closes the connection; reset ends it as a machine does that
// has never heard of it.
func raw(t testing.TB, w http.ResponseWriter, answer string, reset bool) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = c.Write([]byte(answer))
	if tcp, ok := c.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// TestHostileWebServer: what a web server can do to those who fetch files from it, each as a
// deposit of its own, all at once. Each ends with what is right or says what was wrong, names the
// server, and is asked for as often as the profile allows: what may pass is tried again, what
// cannot help is not. What is stored is one answer as a whole, never parts of two.
// Shows: P1 P11
func TestHostileWebServer(t *testing.T) {
	t.Parallel()
	const good = "the whole content\n"
	in := newImpatient(t)
	var mu sync.Mutex
	asked := map[string][]time.Time{} // GETs
	count := func(path string) (n int) {
		mu.Lock()
		defer mu.Unlock()
		asked[path] = append(asked[path], time.Now())
		return len(asked[path])
	}
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
	type answer func(w http.ResponseWriter, r *http.Request, n int)
	write := func(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) }
	status := func(code int, header ...string) answer {
		return func(w http.ResponseWriter, _ *http.Request, n int) {
			if n > 1 {
				write(w, good)
				return
			}
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			http.Error(w, "not now", code)
		}
	}
	cases := map[string]struct {
		answer  answer
		digest  string // what the deposit says
		code    domain.Code
		says    string        // after the name of the file and its URL
		gets    int           // 0 = not counted: HTTP itself asks again over another connection, or follows
		between time.Duration // at least, from the first GET to the second
	}{
		"hangs-before": {answer: func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() }, code: fetch.CodeTimeout, says: "the server did not answer in time; see whether the server runs and can be reached from outside", gets: 2},
		"hangs-within": {answer: func(w http.ResponseWriter, r *http.Request, _ int) {
			w.Header().Set("Content-Length", "1000")
			write(w, good)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, code: fetch.CodeTimeout, says: "the request took longer than allowed; see whether the server is overloaded, or raise the collection's fetch.timeout", gets: 2},
		"resets-before": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) { raw(t, w, "", true) }, code: fetch.CodeUnreachable, says: "the connection broke before everything had arrived; see whether the server runs and can be reached from outside"},
		"resets-within": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
			raw(t, w, head+"Content-Length: 1000\r\n\r\n"+good, true)
		}, code: fetch.CodeUnreachable, says: "the connection broke after 18 bytes; see whether the server runs and can be reached from outside", gets: 2},
		"cuts-off": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
			raw(t, w, head+"Content-Length: 1000\r\n\r\n"+good, false)
		}, code: fetch.CodeUnreachable, says: "the connection broke after 18 bytes; see whether the server runs and can be reached from outside", gets: 2},
		"cuts-off-chunk": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
			raw(t, w, head+"Transfer-Encoding: chunked\r\n\r\n5\r\nthe w\r\n", false)
		}, code: fetch.CodeUnreachable, says: "the connection broke after 5 bytes; see whether the server runs and can be reached from outside", gets: 2},
		"no-http": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) { raw(t, w, "SSH-2.0-OpenSSH_9.6\r\n", false) }, code: fetch.CodeUnreachable, says: "the server could not be reached, or does not answer in HTTP; see whether the server runs and can be reached from outside", gets: 2},
		"says-less": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
			raw(t, w, head+"Content-Length: 3\r\n\r\n"+good, false)
		}, digest: sha256Text(good),
			code: domain.CodeDigestMismatch, says: "the sha256 digest is " + sha256Text("the") + ", the deposit says " + sha256Text(good) + "; correct the one that is wrong", gets: 1},
		"says-more": {answer: func(w http.ResponseWriter, _ *http.Request, _ int) {
			raw(t, w, head+"Content-Length: 99\r\n\r\n"+good, false)
		}, code: fetch.CodeUnreachable, says: "the connection broke after 18 bytes; see whether the server runs and can be reached from outside", gets: 2},
		"wrong-then-right": {answer: func(w http.ResponseWriter, _ *http.Request, n int) {
			write(w, map[bool]string{true: "another\n", false: good}[n == 1])
		}, digest: sha256Text(good), code: domain.CodeDigestMismatch, says: "the sha256 digest is " + sha256Text("another\n") + ", the deposit says " + sha256Text(good) + "; correct the one that is wrong", gets: 1},
		"circle": {answer: func(w http.ResponseWriter, r *http.Request, _ int) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, code: fetch.CodeRedirectRefused, says: "the server redirects more than 10 times; give the address of the file itself"},
		"elsewhere": {answer: func(w http.ResponseWriter, r *http.Request, _ int) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, code: fetch.CodeRedirectRefused, says: "the server redirects to file:///etc/passwd: only http and https can be fetched; give the address of the file itself", gets: 1},
		"busy":       {answer: status(http.StatusTooManyRequests, "Retry-After", "1"), gets: 2, between: time.Second},
		"away":       {answer: status(http.StatusServiceUnavailable), gets: 2},
		"away-until": {answer: status(http.StatusServiceUnavailable, "Retry-After", "1"), gets: 2, between: time.Second},
		"broken":     {answer: status(http.StatusInternalServerError), gets: 2},
		"forbidden":  {answer: func(w http.ResponseWriter, _ *http.Request, _ int) { http.Error(w, "no", http.StatusForbidden) }, code: fetch.CodeHTTPStatus, says: "the server answered 403 Forbidden; make the file readable without a login, or give a signed URL that is still valid", gets: 1},
		"gone":       {answer: func(w http.ResponseWriter, _ *http.Request, _ int) { http.Error(w, "no", http.StatusGone) }, code: fetch.CodeHTTPStatus, says: "the server answered 410 Gone; correct the URL, or put the file there", gets: 1},
		"changes-in-between": {answer: func(w http.ResponseWriter, _ *http.Request, n int) {
			if n == 1 {
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Accept-Ranges", "bytes")
				raw(t, w, head+"ETag: \"1\"\r\nAccept-Ranges: bytes\r\nContent-Length: 1000\r\n\r\nTHE WHOLE", false)
				return
			}
			w.Header().Set("ETag", `"2"`)
			write(w, good)
		}, gets: 2},
		"changes-under-its-tag": {answer: func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				raw(t, w, head+"ETag: \"1\"\r\nContent-Length: "+fmt.Sprint(len(good))+"\r\n\r\nTHE WHOLE", false)
				return
			}
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "f", time.Time{}, strings.NewReader(good))
		}, digest: sha256Text(good), gets: 3},
		"goes-on": {answer: func(w http.ResponseWriter, r *http.Request, n int) {
			if n == 1 {
				raw(t, w, head+"ETag: \"1\"\r\nContent-Length: "+fmt.Sprint(len(good))+"\r\n\r\n"+good[:9], false)
				return
			}
			if r.Header.Get("Range") != "bytes=9-" || r.Header.Get("If-Range") != `"1"` {
				t.Errorf("goes-on: it is asked for %q of %q", r.Header.Get("Range"), r.Header.Get("If-Range"))
			}
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "f", time.Time{}, strings.NewReader(good))
		}, gets: 2},
		"lies-about-the-range": {answer: func(w http.ResponseWriter, r *http.Request, n int) {
			switch {
			case n == 1:
				raw(t, w, head+"ETag: \"1\"\r\nContent-Length: "+fmt.Sprint(len(good))+"\r\n\r\n"+good[:9], false)
			case r.Header.Get("Range") != "":
				raw(t, w, "HTTP/1.1 206 Partial Content\r\nETag: \"1\"\r\nContent-Range: bytes 0-8/"+fmt.Sprint(len(good))+"\r\nContent-Length: 9\r\n\r\n"+good[:9], false)
			default:
				write(w, good)
			}
		}, gets: 3},
	}
	base := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		c, ok := cases[name]
		switch {
		case !ok:
			http.NotFound(w, r)
		case r.Method == http.MethodHead, r.Header.Get("Range") == "bytes=0-0": // to learn its size
			w.WriteHeader(http.StatusMethodNotAllowed)
		default:
			c.answer(w, r, count(name))
		}
	}))
	in.serveInProcess()
	ids := map[string]domain.BatchID{}
	for name, c := range cases {
		d := app.Deposit{Payload: base + "/" + name, Type: domain.TypeFile, Title: name}
		if c.digest != "" {
			d.Digest = "sha256:" + c.digest
		}
		ids[name] = in.submit(d)
	}
	for name, c := range cases {
		if c.code != "" {
			in.refused(name, ids[name], unfetched(name, base, c.code, c.says))
		} else {
			v := in.rest(ids[name])
			if len(v.Jobs) != 1 {
				t.Errorf("%s: %+v", name, v)
				continue
			}
			j := v.Jobs[0]
			if v.Status != string(domain.BatchCompleted) {
				t.Errorf("%s: %s with %s: %s", name, v.Status, deref(j.ReasonCode), deref(j.ReasonMessage))
				continue
			}
			in.holds(j, map[string]string{name: good})
		}
		mu.Lock()
		times := asked[name]
		mu.Unlock()
		if c.gets != 0 && len(times) != c.gets {
			t.Errorf("%s: %d GETs, want %d", name, len(times), c.gets)
		}
		if c.between != 0 && len(times) > 1 && times[1].Sub(times[0]) < c.between {
			t.Errorf("%s: it was asked again after %s, and had asked to be left alone for %s", name, times[1].Sub(times[0]), c.between)
		}
	}
	if n := in.count("select count(*) from accession.file where status = 'IGNORE' and (sha256 <> '' or size > 0)"); n != 0 {
		t.Errorf("%d files count as downloaded and are given up", n)
	}
	in.requeuedWell("wrong-then-right", ids["wrong-then-right"], good)
	if n := count("wrong-then-right"); n != 3 { // this one is the third
		t.Errorf("wrong-then-right: %d GETs after it was requeued, want 1 more", n-2)
	}
	in.agree()
	in.says(0, words("verify"))
}

// requeuedWell requeues the failed job of a file whose server has become well: it completes, with
// this content.
func (in *installation) requeuedWell(name string, id domain.BatchID, content string) {
	in.t.Helper()
	job := in.rest(id).Jobs[0].ID
	in.run("job", "requeue", job, "--reason", "its server is well")
	waitFor(in.t, "the requeued job to complete", func() bool {
		return in.count("select count(*) from accession.job where id = $1 and status = 'completed'", job) == 1
	})
	v := in.rest(id)
	in.holds(v.Jobs[0], map[string]string{name: content})
	const lived = "select count(*) from accession.file where job_id = $1 and path = $2 and status = 'PROCESSED' and sha256 = $3 and size = $4"
	if n := in.count(lived, job, name, sha256Text(content), len(content)); n != 1 {
		in.t.Errorf("%s: its file is not processed: %q", name, in.filesOf(job))
	}
}

// unfetched returns how the deposit of a file ends that could not be fetched: what may pass is tried
// twice.
func unfetched(name, at string, code domain.Code, says string) refusedJob {
	why, tries := refusedJob{class: domain.ClassContent, code: code, acts: domain.ActsDepositor}, 1
	switch code {
	case fetch.CodeTimeout:
		why.class, why.acts, tries = domain.ClassTimeout, domain.ActsOperator, 2
	case fetch.CodeUnreachable:
		tries = 2
	}
	says = at + "/" + name + ": " + says
	why.says, why.files = name+": "+says, []string{givenUp(name, tries, says)}
	return why
}
