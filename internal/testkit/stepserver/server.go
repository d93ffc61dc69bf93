// Package stepserver has services that do steps of jobs, for tests: each does a step once under
// its key, at once or later, and may be down, refuse, hang, lie, or do its work and lose the
// answer.
package stepserver

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Fault is what a service does to one request.
type Fault struct {
	Status int               // answers this, with Body, and does nothing
	Header map[string]string // of that answer
	Body   string
	Lose   bool // does its work, and ends the connection without an answer
	Hang   bool // does nothing, and no answer comes until the client leaves
}

// Work is what a service has done under a key.
type Work struct {
	Manifest string // what it was sent
	Done     int    // how often it did the work: once, or it has a fault
	Asked    int    // how often it was asked to
	Looked   int    // how often it was asked how far it is
	later    int    // for so many looks it is not done
}

// Server is such a service.
type Server struct {
	URL string // where it takes steps

	t              testing.TB
	user, password string // "" = it asks for none

	mu       sync.Mutex
	faults   []Fault
	later    int
	works    map[string]*Work
	requests []string
	hung     chan struct{}
}

// New starts a service, which ends with the test. It asks for the account if it has a name.
func New(t testing.TB, user, password string) *Server {
	t.Helper()
	s := &Server{t: t, user: user, password: password, works: map[string]*Work{}, hung: make(chan struct{}, 100)}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	s.URL = web.URL + "/steps"
	return s
}

// Fail lets the next requests end so, one each.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Later lets steps that are taken from now on be done only after so many looks; 0 = at once.
func (s *Server) Later(looks int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.later = looks
}

// Finish ends the work on all steps that were taken.
func (s *Server) Finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.works {
		w.later = 0
	}
}

// Hung receives a value for each request that hangs.
func (s *Server) Hung() <-chan struct{} { return s.hung }

// Works returns what was asked for, by key.
func (s *Server) Works() map[string]Work {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]Work{}
	for key, w := range s.works {
		all[key] = *w
	}
	return all
}

// Requests returns the requests so far, as METHOD PATH.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	var fault Fault
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	s.mu.Unlock()
	switch {
	case fault.Hang:
		s.hung <- struct{}{}
		<-r.Context().Done()
		return
	case fault.Status != 0:
		for name, value := range fault.Header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(fault.Status)
		_, _ = io.WriteString(w, fault.Body)
		return
	}
	status, location, answer := s.answer(r, string(body))
	if fault.Lose {
		panic(http.ErrAbortHandler)
	}
	if w.Header().Set("Content-Type", "application/json"); location != "" {
		w.Header().Set("Location", location)
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

func (s *Server) signedIn(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return s.user == "" || ok && user == s.user && subtle.ConstantTimeCompare([]byte(password), []byte(s.password)) == 1
}

// answer does what it is asked for.
func (s *Server) answer(r *http.Request, body string) (status int, location, answer string) {
	problem := func(status int, detail string) (int, string, string) {
		return status, "", fmt.Sprintf(`{"title":"Not done","detail":%q}`, detail)
	}
	key := r.Header.Get("Idempotency-Key")
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.works[key]
	switch {
	case !s.signedIn(r):
		return problem(http.StatusUnauthorized, "who are you?")
	case key == "":
		return problem(http.StatusBadRequest, "there is no Idempotency-Key")
	case r.Method == http.MethodGet && (w == nil || r.URL.Path != "/steps/"+key):
		return problem(http.StatusNotFound, "nothing is known of "+key)
	case r.Method == http.MethodGet:
		if w.Looked++; w.later > 0 {
			w.later--
		}
	case r.Method != http.MethodPost || r.URL.Path != "/steps" || r.Header.Get("Content-Type") != "application/json":
		return problem(http.StatusMethodNotAllowed, "post JSON to /steps")
	case w != nil && w.Manifest != body:
		s.t.Errorf("something else is sent under the key %s:\n%s\nand was\n%s", key, body, w.Manifest)
		return problem(http.StatusUnprocessableEntity, "the key is that of something else")
	case w == nil:
		w = &Work{Manifest: body, later: s.later}
		s.works[key] = w
		fallthrough
	default:
		w.Asked++
	}
	if w.later > 0 {
		return http.StatusAccepted, "/steps/" + key, ""
	}
	if w.Done == 0 {
		w.Done++
	}
	return http.StatusOK, "", Answer(w.Manifest, "record of "+strings.Split(key, "/")[0])
}

// Answer returns what a service says of a manifest when it has done its step.
func Answer(manifest, id string) string {
	var m struct {
		Object  string `json:"object_id"`
		Version int    `json:"version"`
	}
	_ = json.Unmarshal([]byte(manifest), &m)
	sum := sha256.Sum256([]byte(manifest))
	text, _ := json.Marshal(map[string]any{"object_id": m.Object, "version": m.Version, "manifest_sha256": hex.EncodeToString(sum[:]), "id": id})
	return string(text)
}
