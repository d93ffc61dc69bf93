package examples_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestWorkers: the workers in Python and shell do what docs/compute.md asks of a worker when
// inputs, requests and answers go wrong. cmd/accession/e2e has them beside the real service.
func TestWorkers(t *testing.T) {
	t.Parallel()
	const wrong = "0000000000000000000000000000000000000000000000000000000000000000"
	input := func(url, sum string) map[string]any {
		return map[string]any{"url": url, "name": url[strings.LastIndex(url, "/")+1:], "sha256": sum}
	}
	for name, c := range map[string]struct {
		inputs []map[string]any
		lease  int
		fault  func(s *service, r request) (status int)
		ends   []string // verbs of the ends that the service has, without those that were not answered
		said   string   // in the last of them
		alike  int      // how often the last end was sent
		only   string   // the one of the workers that is meant
		stop   bool     // it gets SIGTERM when it fetches its input
		fails  bool     // its exit status is not 0
	}{
		"two inputs of one name": {
			inputs: []map[string]any{input("/v1/compute/inputs/a/x.nc", ""), input("/v1/compute/inputs/bc/x.nc", "")},
			ends:   []string{"complete"}, alike: 1},
		"an end that is not answered": {
			inputs: []map[string]any{input("/v1/compute/inputs/a", fmt.Sprintf("%x", sha256.Sum256([]byte("/v1/compute/inputs/a"))))},
			fault: func(s *service, r request) int {
				if r.verb == "complete" && s.times(r) < 3 {
					return []int{http.StatusServiceUnavailable, brokenOff}[s.times(r)-1]
				}
				return 0
			},
			ends: []string{"complete"}, alike: 3},
		"a failure that is not answered": {
			inputs: []map[string]any{input("/v1/compute/inputs/a", wrong)},
			fault: func(s *service, r request) int {
				if r.verb == "fail" && s.times(r) < 3 {
					return []int{brokenOff, http.StatusTooManyRequests}[s.times(r)-1]
				}
				return 0
			},
			ends: []string{"fail"}, said: `"class": "content"`, alike: 3},
		"an output that is not answered": {
			only:   "worker.py",
			inputs: []map[string]any{input("/v1/compute/inputs/a", "")},
			fault: func(s *service, r request) int {
				if r.verb == "outputs" && s.times(r) < 3 {
					return []int{http.StatusBadGateway, brokenOff}[s.times(r)-1]
				}
				return 0
			},
			ends: []string{"complete"}, alike: 1},
		"a heartbeat that is refused": {
			only: "worker.py", lease: 1,
			inputs: []map[string]any{input("/v1/compute/inputs/slow", "")},
			fault: func(_ *service, r request) int {
				if r.verb == "heartbeat" {
					return http.StatusConflict
				}
				return 0
			}},
		"heartbeats that are not answered": {
			only: "worker.py", lease: 1,
			inputs: []map[string]any{input("/v1/compute/inputs/slow", "")},
			fault: func(_ *service, r request) int {
				if r.verb == "heartbeat" {
					return http.StatusServiceUnavailable
				}
				return 0
			}},
		"an end that comes late": {
			inputs: []map[string]any{input("/v1/compute/inputs/a", "")},
			fault: func(_ *service, r request) int {
				if r.verb == "complete" {
					return http.StatusConflict
				}
				return 0
			}},
		"a result that is refused": {
			inputs: []map[string]any{input("/v1/compute/inputs/a", "")},
			fault: func(_ *service, r request) int {
				if r.verb == "complete" {
					return http.StatusBadRequest
				}
				return 0
			},
			ends: []string{"fail"}, said: `"class": "system"`, alike: 1},
		"a stop":                          {inputs: []map[string]any{input("/v1/compute/inputs/slow", "")}, stop: true, ends: []string{"fail"}, said: `"given_back": true`, alike: 1},
		"wrong content":                   {inputs: []map[string]any{input("/v1/compute/inputs/a", wrong)}, ends: []string{"fail"}, said: `"class": "content"`, alike: 1},
		"an input that is missing":        {inputs: []map[string]any{input("SERVER/missing", "")}, ends: []string{"fail"}, said: `"class": "system"`, alike: 1},
		"an input that breaks off":        {inputs: []map[string]any{input("SERVER/half", "")}, ends: []string{"fail"}, said: `"class": "system"`, alike: 1},
		"an input that is no URL of HTTP": {inputs: []map[string]any{input("file:///etc/passwd", "")}, ends: []string{"fail"}, alike: 1},
		"a key that is not known":         {fault: func(*service, request) int { return http.StatusUnauthorized }, fails: true},
		"a key without the right":         {fault: func(*service, request) int { return http.StatusForbidden }, fails: true},
		"a redirect with the key":         {fault: func(*service, request) int { return http.StatusTemporaryRedirect }, fails: true},
	} {
		for _, program := range []string{"worker.py", "worker.sh"} {
			if c.only != "" && c.only != program {
				continue
			}
			t.Run(name+" "+program, func(t *testing.T) {
				t.Parallel()
				s := newService(t, c.inputs, c.lease, c.fault)
				end := s.run(t, program)
				if c.stop {
					<-s.fetched
					end(syscall.SIGTERM)
				}
				if c.fails || c.stop || program == "worker.sh" {
					if code := end(0); (code != 0) != (c.fails || !c.stop && !slices.Equal(c.ends, []string{"complete"})) {
						t.Errorf("the exit status is %d", code)
					}
				} else {
					<-s.again
					if code := end(syscall.SIGTERM); code != 0 {
						t.Errorf("the exit status is %d", code)
					}
				}
				s.check(t, c.ends, c.said, c.alike)
				if name == "two inputs of one name" {
					s.counted(t, program)
				}
				if claims := s.count("claims"); c.fails && claims != 1 {
					t.Errorf("%d claims after a refusal", claims)
				}
			})
		}
	}
}

// service answers workers as the real one does, with faults.
type service struct {
	*httptest.Server
	inputs []map[string]any
	lease  int
	fault  func(*service, request) int

	mu       sync.Mutex
	requests []request
	ended    []request
	outputs  map[string]string
	fetched  chan struct{} // closed when an input is asked for that comes slowly
	again    chan struct{} // closed when the worker asks for work after it has had some
	once     [2]sync.Once
}

type request struct{ verb, body string }

// brokenOff stands for an answer that is lost.
const brokenOff = -1

const lease = "/v1/compute/claims/eid0000000001.secret/"

func newService(t *testing.T, inputs []map[string]any, seconds int, fault func(*service, request) int) *service {
	s := &service{inputs: inputs, lease: cmp.Or(seconds, 30), fault: fault, outputs: map[string]string{}, fetched: make(chan struct{}), again: make(chan struct{})}
	s.Server = httptest.NewUnstartedServer(s)
	s.Start() // its handler reads where it is
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.input(w, r)
		return
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || r.Header.Get("Authorization") != "Bearer the-key" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	verb, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, lease), "/")
	if r.URL.Path == "/v1/compute/claims" {
		verb = "claims"
	}
	said := request{verb, string(data)}
	s.mu.Lock()
	s.requests = append(s.requests, said)
	s.mu.Unlock()
	if s.fault != nil {
		switch status := s.fault(s, said); status {
		case 0:
		case brokenOff:
			panic(http.ErrAbortHandler)
		default:
			w.Header().Set("Location", s.URL+"/elsewhere")
			w.WriteHeader(status)
			return
		}
	}
	switch verb {
	case "claims":
		s.claim(w, r)
		return
	case "outputs":
		s.mu.Lock()
		s.outputs[name] = said.body
		s.mu.Unlock()
	case "complete", "fail":
		s.mu.Lock()
		s.ended = append(s.ended, said)
		s.mu.Unlock()
	case "heartbeat":
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	fmt.Fprintf(w, `{"entry":"eid0000000001","status":"SUCCESSFUL","lease":%d}`, s.lease)
}

// claim answers the first claim with work, and lets the others wait.
func (s *service) claim(w http.ResponseWriter, r *http.Request) {
	if s.count("claims") > 1 {
		s.once[1].Do(func() { close(s.again) })
		<-r.Context().Done()
		return
	}
	inputs := slices.Clone(s.inputs)
	for i, one := range inputs {
		url, _ := one["url"].(string)
		inputs[i] = maps.Clone(one) // the other worker's test has it too
		inputs[i]["url"] = strings.Replace(url, "SERVER", s.URL, 1)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token": strings.Split(lease, "/")[4], "entry": "eid0000000001", "lease": s.lease, "inputs": inputs})
}

// input sends its path as content.
func (s *service) input(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get("Authorization") != "":
		w.WriteHeader(http.StatusTeapot) // the key is not for inputs
	case strings.HasSuffix(r.URL.Path, "/slow"):
		s.once[0].Do(func() { close(s.fetched) })
		for r.Context().Err() == nil {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
	case strings.HasSuffix(r.URL.Path, "/half"):
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, "half")
	case strings.HasSuffix(r.URL.Path, "/missing"):
		w.WriteHeader(http.StatusNotFound)
	default:
		fmt.Fprint(w, r.URL.Path)
	}
}

// count returns how many requests with a verb have come.
func (s *service) count(verb string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if r.verb == verb {
			n++
		}
	}
	return n
}

// times returns how often a request has come, with the same body.
func (s *service) times(r request) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.requests {
		if other == r {
			n++
		}
	}
	return n
}

// run starts a worker, and returns what sends it a signal, if one is given, and waits for its end.
func (s *service) run(t *testing.T, program string) (end func(syscall.Signal) (code int)) {
	t.Helper()
	by := map[string]string{"worker.py": "python3", "worker.sh": "sh"}[program]
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, by, program, s.URL, "tides")
	c.Env = append(os.Environ(), "ACCESSION_KEY=the-key")
	c.Stdout, c.Stderr = t.Output(), t.Output()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = c.Wait() }()
	t.Cleanup(func() { cancel(); <-ended })
	return func(by syscall.Signal) int {
		if by != 0 {
			_ = c.Process.Signal(by) // it may have ended
		}
		<-ended
		return c.ProcessState.ExitCode()
	}
}

// check compares how the work was ended.
func (s *service) check(t *testing.T, ends []string, said string, alike int) {
	t.Helper()
	s.mu.Lock()
	ended := slices.Clone(s.ended)
	s.mu.Unlock()
	if len(ended) != len(ends) {
		t.Fatalf("the ends are %+v, want %v", ended, ends)
	}
	for i, e := range ended {
		if e.verb != ends[i] || !strings.Contains(spaced(e.body), said) {
			t.Errorf("the end is %+v, want %s with %s", e, ends[i], said)
		}
		if n := s.times(e); n != alike {
			t.Errorf("it was sent %d times alike, want %d", n, alike)
		}
	}
}

// spaced returns JSON with a space behind each colon.
func spaced(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, `":`, `": `), `:  `, `: `)
}

// counted checks what was made of two inputs.
func (s *service) counted(t *testing.T, program string) {
	t.Helper()
	first, second := "/v1/compute/inputs/a/x.nc", "/v1/compute/inputs/bc/x.nc"
	result := s.ended[0].body
	if program == "worker.sh" {
		if want := fmt.Sprintf(`{"result":{"bytes":[%d,%d]}}`, len(first), len(second)); result != want {
			t.Errorf("the result is %s, want %s", result, want)
		}
		return
	}
	for i, path := range []string{first, second} {
		if want := fmt.Sprintf(`{"input": %d, "name": "x.nc", "bytes": %d}`, i+1, len(path)); !strings.Contains(result, want) {
			t.Errorf("the result is %s, want in it %s", result, want)
		}
		if sum := fmt.Sprintf("%x  %d/x.nc\n", sha256.Sum256([]byte(path)), i+1); !strings.Contains(s.outputs["SHA256SUMS"], sum) {
			t.Errorf("the digests are %q, want in them %q", s.outputs["SHA256SUMS"], sum)
		}
	}
}
