package fetch

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

const headDate = "Mon, 02 Jan 2023 15:04:05 GMT"

// TestHead: what a server does not say when it is asked by HEAD, or refuses to, is asked for by
// GET, of one byte and without reading it.
func TestHead(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]string{}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path] += r.Method + r.Header.Get("Range") + " "
		mu.Unlock()
		status, answer, _ := strings.Cut(r.URL.Path[1:], "/")
		if r.Method == http.MethodHead && strings.HasPrefix(answer, "dated") {
			w.Header().Set("Last-Modified", headDate)
		}
		if n, err := strconv.Atoi(status); r.Method == http.MethodHead && err == nil {
			if n == http.StatusOK {
				w.(http.Flusher).Flush() // without a length
				return
			}
			w.WriteHeader(n)
			return
		}
		partial := func(status int, span, body string) {
			w.Header().Set("Content-Range", span)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
		switch answer {
		case "":
			w.Header().Set("Content-Length", "123456789012345")
		case "part", "dated":
			partial(http.StatusPartialContent, "bytes 0-0/70000000000", "x")
		case "unsized":
			partial(http.StatusPartialContent, "bytes 0-0/*", "x")
		case "odd":
			partial(http.StatusPartialContent, "bytes 0-0/99999999999999999999", "x")
		case "rclone":
			partial(http.StatusOK, "bytes 0-0/600", "x")
		case "byte":
			w.Header().Set("Content-Length", "1")
			_, _ = w.Write([]byte("x"))
		case "whole":
			w.Header().Set("Content-Length", "70000000000")
			_, _ = w.Write(make([]byte, 1<<20))
		case "chunked":
			w.(http.Flusher).Flush()
		case "empty":
			partial(http.StatusRequestedRangeNotSatisfiable, "bytes */0", "")
		case "unsatisfied":
			partial(http.StatusRequestedRangeNotSatisfiable, "bytes */9", "")
		case "closed", "dated/closed":
			w.WriteHeader(http.StatusForbidden)
		case "away", "dated/away":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusServiceUnavailable)
		case "led":
			http.Redirect(w, r, "/403/part", http.StatusFound)
		}
	})
	c := local(t, quick())
	const both = "HEAD GETbytes=0-0 "
	for path, want := range map[string]struct {
		size  int64
		asked string
	}{
		"/size": {123456789012345, "HEAD "}, "/403/part": {70000000000, both}, "/405/part": {70000000000, both}, "/501/part": {70000000000, both}, "/400/part": {70000000000, both},
		"/200/part": {70000000000, both}, "/200/whole": {70000000000, both}, "/200/chunked": {-1, both}, "/200/dated": {70000000000, both}, "/405/unsized": {-1, both}, "/405/odd": {-1, both},
		"/405/rclone": {600, both}, "/405/byte": {-1, both}, "/405/empty": {0, both},
	} {
		i, err := c.Head(t.Context(), s.URL+path)
		if err != nil || i.Size != want.size || i.Modified.IsZero() != !strings.HasSuffix(path, "/dated") || i.FinalURL != s.URL+path {
			t.Errorf("%s: %+v, %v", path, i, err)
		}
		mu.Lock()
		if got := asked[path]; got != want.asked {
			t.Errorf("%s: was asked %q", path, got)
		}
		mu.Unlock()
	}
	if i, err := c.Head(t.Context(), s.URL+"/302/led"); err == nil {
		t.Errorf("a redirect without an address: %+v", i)
	}
	if i, err := c.Head(t.Context(), s.URL+"/403/led"); err != nil || i.Size != 70000000000 || i.FinalURL != s.URL+"/403/part" {
		t.Errorf("%+v, %v", i, err)
	}
	for path, status := range map[string]int{"/404": 404, "/500": 500, "/401/part": 401, "/403/closed": 403, "/405/closed": 403, "/200/closed": 403, "/405/unsatisfied": 416, "/405/away": 503,
		"/200/dated/closed": 403, "/200/dated/away": 503} {
		i, err := c.Head(t.Context(), s.URL+path)
		e := fails(t, err, CodeHTTPStatus, domain.ClassContent)
		if e.Status != status || e.Temporary != (status >= 500) || e.URL != s.URL+path || strings.HasSuffix(path, "/away") && e.After != 7*time.Second {
			t.Errorf("%s: %+v", path, e)
		}
		if strings.Contains(path, "/dated/") && (i.Size != -1 || i.Modified.Format(http.TimeFormat) != headDate) {
			t.Errorf("%s: what HEAD said is lost: %+v", path, i)
		}
	}
}

// TestHeadInItsStead: the request for the first byte has the guards and the deadline of all.
func TestHeadInItsStead(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodHead:
			w.WriteHeader(http.StatusForbidden)
		case r.URL.Path == "/inside":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		case r.URL.Path == "/other":
			http.Redirect(w, r, "ftp://files.test/", http.StatusFound)
		case r.URL.Path == "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		default:
			<-r.Context().Done()
		}
	})
	short := quick()
	short.Head = 100 * time.Millisecond
	for path, want := range map[string]struct {
		code  domain.Code
		class domain.Class
	}{
		"/inside": {CodeAddressRefused, domain.ClassContent}, "/other": {CodeRedirectRefused, domain.ClassContent},
		"/round": {CodeRedirectRefused, domain.ClassContent}, "/hangs": {CodeTimeout, domain.ClassTimeout},
	} {
		cfg := quick()
		if want.code == CodeTimeout {
			cfg = short
		}
		_, err := local(t, cfg).Head(t.Context(), s.URL+path)
		fails(t, err, want.code, want.class)
	}
}

// TestFirst: no more of a file is read than is asked for, from its beginning.
func TestFirst(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		partial := func(status int, span, body string) {
			w.Header().Set("Content-Range", span)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
		switch r.URL.Path {
		case "/part":
			if r.Header.Get("Range") != "bytes=0-3" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			partial(http.StatusPartialContent, "bytes 0-3/9", "abcd")
		case "/whole", "/more":
			_, _ = w.Write([]byte("abcd" + strings.Repeat("e", 5)))
		case "/short":
			_, _ = w.Write([]byte("ab"))
		case "/empty":
			partial(http.StatusRequestedRangeNotSatisfiable, "bytes */0", "")
		case "/other":
			partial(http.StatusPartialContent, "bytes 5-8/9", "fghi")
		case "/led":
			http.Redirect(w, r, "/part", http.StatusFound)
		case "/inside":
			http.Redirect(w, r, "http://10.0.0.1/", http.StatusFound)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	})
	c := local(t, quick())
	for path, want := range map[string]string{"/part": "abcd", "/whole": "abcd", "/short": "ab", "/empty": "", "/led": "abcd"} {
		body, err := c.First(t.Context(), s.URL+path, 4)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, err := io.ReadAll(body)
		if err := body.Close(); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
		if err != nil {
			t.Error(err)
		}
	}
	for path, code := range map[string]domain.Code{"/other": CodeHTTPStatus, "/closed": CodeHTTPStatus, "/inside": CodeAddressRefused} {
		_, err := c.First(t.Context(), s.URL+path, 4)
		fails(t, err, code, domain.ClassContent)
	}
}
