package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// web is a depositor's server.
type web struct {
	*httptest.Server
	mu     sync.Mutex
	pages  map[string]http.HandlerFunc
	counts map[string]int // requests by method and path
}

func newWeb(t testing.TB) *web {
	s := &web{pages: map[string]http.HandlerFunc{}, counts: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		page := s.pages[r.URL.Path]
		s.counts[r.Method+" "+r.URL.Path]++
		s.mu.Unlock()
		if page == nil {
			page = http.NotFound
		}
		page(rw, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// serve answers a path with text; on takes any handler.
func (s *web) serve(path, text string) {
	s.on(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		_, _ = io.WriteString(w, text)
	})
}

func (s *web) on(path string, h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages[path] = h
}

func (s *web) count(request string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[request]
}

// objectManifest serves a manifest of the files at the given paths, each with its
// right digest.
func (s *web) objectManifest(path string, files map[string]string) {
	var rows []string
	for name, text := range files {
		s.serve("/"+name, text)
		rows = append(rows, fmt.Sprintf("%s/%s | sha256 | %s | %d | | %s |", s.URL, name, hexOf(text), len(text), name))
	}
	s.serve(path, manifestOf("mrt-ingest-manifest", rows...))
}

func manifestOf(profile string, rows ...string) string {
	return "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/" + profile + "\n" + strings.Join(rows, "\n") + "\n#%eof\n"
}

func hexOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
