package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/httpapi"
	"github.com/accession-ingest/accession/domain"
)

// brokenRequest is a request that must be refused, or a good one between these.
type brokenRequest struct {
	kind, method, path, body, contentType string
	raw                                   string   // sent as it is, in place of a request
	headers                               []string // more of them
	key                                   bool     // whether the caller is known
	status                                int
	code                                  app.Kind // "" = the answer is no problem of the API
}

// breaker breaks requests of all operations, as the OpenAPI description has them.
type breaker struct {
	random  *rand.Rand
	api     *huma.OpenAPI
	all     []*operationOf
	good    func(*rand.Rand) brokenRequest
	methods map[string][]string // of each path
}

// operationOf is an operation with its path.
type operationOf struct {
	*huma.Operation
	body *huma.Schema // nil = it takes no JSON
}

func newBreaker(random *rand.Rand, good func(*rand.Rand) brokenRequest) *breaker {
	_, api := (&httpapi.Server{Version: "test"}).API()
	b := &breaker{random: random, api: api.OpenAPI(), good: good, methods: map[string][]string{}}
	for path, item := range b.api.Paths {
		for method, op := range map[string]*huma.Operation{"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete} {
			if op == nil || slices.Contains([]string{"form", "resumable"}, op.Tags[0]) { // broken forms and pieces have tests of their own
				continue
			}
			b.methods[path] = append(b.methods[path], method)
			one := &operationOf{Operation: op}
			if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
				one.body = b.resolve(op.RequestBody.Content["application/json"].Schema)
			}
			b.all = append(b.all, one)
		}
	}
	slices.SortFunc(b.all, func(x, y *operationOf) int { return strings.Compare(x.OperationID, y.OperationID) }) // one seed, the same requests
	return b
}

func (b *breaker) resolve(s *huma.Schema) *huma.Schema {
	if s.Ref != "" {
		return b.api.Components.Schemas.SchemaFromRef(s.Ref)
	}
	return s
}

var pathParameter = regexp.MustCompile(`\{(\w+)(\.\.\.)?\}`)

// request returns a request of an operation with parameters that name nothing.
func (op *operationOf) request(kind string) brokenRequest {
	path := pathParameter.ReplaceAllStringFunc(op.Path, func(p string) string {
		switch {
		case strings.HasPrefix(op.Path, "/v1/batches/"):
			return "bid0000999999"
		case strings.HasPrefix(op.Path, "/v1/jobs/"):
			return "jid0000999999"
		case strings.HasPrefix(op.Path, "/v1/files/"):
			return strings.Repeat("0123456789abcdef", 4)
		}
		return "1"
	})
	r := brokenRequest{kind: kind, method: op.Method, path: path, key: true, status: http.StatusBadRequest, code: app.Invalid}
	if op.body != nil {
		r.body, r.contentType = "{}", "application/json"
	}
	return r
}

func chosen[T any](random *rand.Rand, all []T) T { return all[random.IntN(len(all))] }

// unreadable are texts that no name, reason or filter may have, as a query writes them.
var unreadable = []string{"%00", "a%07b", "%ff%fe", "two%0alines", "%e2%80%aetxt.exe", "zero%e2%80%8bwidth", "%c0%af", "%ed%a0%80"}

// rawRequests are bytes that are no request of HTTP.
var rawRequests = []struct {
	text   string
	status int
}{
	{"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400},
	{"GET\r\n\r\n", 400},
	{"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505},
	{"GET /v1/self HTTP/1.1\r\n\r\n", 400},
	{"GET /v1/self HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
	{"GET /v1/self HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", 400},
	{"GET /v1/self HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n", 400},
	{"GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
	{"POST /v1/submissions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
	{"POST /v1/submissions HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
	{"POST /v1/submissions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: nonsense\r\n\r\n", 501},
	{"GET /v1/self HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("a", 64<<10) + "\r\n\r\n", 431},
	{"GET /" + strings.Repeat("a", 64<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", 431},
	{"GET /v1/self HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: a\r\n", 10_000) + "\r\n", 431},
	{"GET /v1/self HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: a\r\n", 201) + "\r\n", 431},
}

// next returns a request: every tenth is good, each of the others is broken in one way.
func (b *breaker) next() brokenRequest {
	if b.random.IntN(10) == 0 {
		return b.good(b.random)
	}
	for {
		if r, ok := chosen(b.random, b.ways())(chosen(b.random, b.all)); ok {
			return r
		}
	}
}

// ways returns the ways in which an operation's request is broken; false = it cannot be.
func (b *breaker) ways() []func(op *operationOf) (brokenRequest, bool) {
	return []func(op *operationOf) (brokenRequest, bool){
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("unknown parameter")
			r.path += "?surprise=1"
			return r, true
		},
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("broken escape")
			r.path += "?limit=%zz"
			return r, true
		},
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("caller unknown")
			r.key, r.status, r.code = false, http.StatusUnauthorized, app.Unauthenticated
			return r, true
		},
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("method")
			left := slices.DeleteFunc([]string{"POST", "PUT", "PATCH", "DELETE", "BREW"}, func(m string) bool { return slices.Contains(b.methods[op.Path], m) })
			r.method, r.status = chosen(b.random, left), http.StatusMethodNotAllowed
			return r, true
		},
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("path")
			r.path, r.status, r.code = chosen(b.random, []string{"/v1/nothing", "/admin", "/v1", "/v2/batches", "/.git/config", "/v1/batches/bid0000000001/x/y"}), http.StatusNotFound, app.NotFound
			return r, true
		},
		b.parameter, b.text, b.id, b.absent, b.form, b.pieces,
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("no JSON")
			r.body = chosen(b.random, []string{"{", "nonsense", `{"a":}`, `[]`, `"x"`, `{"url":"http://a","url"`, "\xff", `{"a":1}{"a":2}`, strings.Repeat("[", 20_000)})
			return r, op.body != nil
		},
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("unknown field")
			r.body = `{"surprise":1}`
			return r, op.body != nil
		},
		b.field,
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("media type")
			r.contentType, r.status = chosen(b.random, []string{"text/plain", "application/xml", "image/png"}), http.StatusUnsupportedMediaType
			return r, op.body != nil
		},
		func(op *operationOf) (brokenRequest, bool) {
			r := op.request("too large")
			r.body, r.status = tooLarge, http.StatusRequestEntityTooLarge
			return r, op.body != nil && b.random.IntN(20) == 0
		},
		func(*operationOf) (brokenRequest, bool) {
			raw := chosen(b.random, rawRequests)
			return brokenRequest{kind: "no HTTP", raw: raw.text, status: raw.status}, b.random.IntN(3) == 0
		},
	}
}

// tooLarge is more than a body may have.
var tooLarge = `{"title":"` + strings.Repeat("a", 1<<20) + `"}`

// parameter breaks one that is not any text.
func (b *breaker) parameter(op *operationOf) (brokenRequest, bool) {
	r := op.request("parameter")
	for _, i := range b.random.Perm(len(op.Parameters)) {
		p := op.Parameters[i]
		if p.In != "query" {
			continue
		}
		s := b.resolve(p.Schema)
		switch {
		case s.Type == huma.TypeInteger:
			r.path += "?" + p.Name + "=" + chosen(b.random, []string{"abc", "-1", "1e9", "99999999999999999999", "0x10", "1.5"})
		case s.Type == huma.TypeBoolean:
			r.path += "?" + p.Name + "=" + chosen(b.random, []string{"maybe", "2", "yes!"})
		case s.Format == "date-time":
			r.path += "?" + p.Name + "=" + chosen(b.random, []string{"yesterday", "2026-13-01T00:00:00Z", "2026-01-01", "0"})
		case len(s.Enum) > 0:
			r.path += "?" + p.Name + "=nonsense"
		case s.MaxLength != nil:
			r.path += "?" + p.Name + "=" + strings.Repeat("a", *s.MaxLength+1)
		default:
			continue
		}
		return r, true
	}
	return r, false
}

// text puts what is no text into a parameter.
func (b *breaker) text(op *operationOf) (brokenRequest, bool) {
	r := op.request("text")
	for _, i := range b.random.Perm(len(op.Parameters)) {
		p := op.Parameters[i]
		if s := b.resolve(p.Schema); p.In == "query" && s.Type == huma.TypeString && s.Format == "" && len(s.Enum) == 0 {
			r.path += "?" + p.Name + "=" + chosen(b.random, unreadable)
			return r, true
		}
	}
	return r, false
}

// id names a batch, job or file by what is no id.
func (b *breaker) id(op *operationOf) (brokenRequest, bool) {
	r := op.request("id")
	for _, noun := range []string{"/v1/batches/{id}", "/v1/jobs/{id}", "/v1/files/{id}"} {
		if strings.HasPrefix(op.Path, noun) {
			r.path = strings.Replace(op.Path, "{id}", chosen(b.random, []string{"x", "bid1", "jid0000000001x", "bid-000000001", "..%2f..%2fetc%2fpasswd", "%00", "bid%200000000001", strings.Repeat("9", 200), "%f0%9f%a6%84"}), 1)
			return r, !strings.Contains(r.path, "{")
		}
	}
	return r, false
}

// absent names a batch, job or file that does not exist.
func (b *breaker) absent(op *operationOf) (brokenRequest, bool) {
	r := op.request("absent")
	r.status, r.code = http.StatusNotFound, app.NotFound
	return r, op.Method == http.MethodGet && (strings.HasPrefix(op.Path, "/v1/batches/") || strings.HasPrefix(op.Path, "/v1/jobs/") || strings.HasPrefix(op.Path, "/v1/files/"))
}

// field sets a field of a body to a value of another type.
func (b *breaker) field(op *operationOf) (brokenRequest, bool) {
	r := op.request("field")
	if op.body == nil || len(op.body.Properties) == 0 {
		return r, false
	}
	names := make([]string, 0, len(op.body.Properties))
	for name := range op.body.Properties {
		if name != "$schema" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return r, false
	}
	name := chosen(b.random, names)
	var wrong string
	switch b.resolve(op.body.Properties[name]).Type {
	case huma.TypeString:
		wrong = chosen(b.random, []string{`1`, `{}`, `[]`, `true`, `"\u0000"`, `"a\u202eb"`})
	case huma.TypeInteger, huma.TypeNumber:
		wrong = chosen(b.random, []string{`"1"`, `1.5`, `{}`, `-1`, `1e99`})
	default:
		wrong = chosen(b.random, []string{`"x"`, `7`})
	}
	r.body = fmt.Sprintf(`{%q:%s}`, name, wrong)
	return r, true
}

// send sends a request, and returns what is wrong with the answer.
func (r brokenRequest) send(c *http.Client, base, key string) (string, error) {
	if r.raw != "" {
		return r.sendRaw(strings.TrimPrefix(base, "http://"))
	}
	req, err := http.NewRequest(r.method, base, strings.NewReader(r.body))
	if err != nil {
		return "", err
	}
	req.URL.Opaque = "//" + req.URL.Host + r.path // as it is, with what no library would write
	if r.key {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for _, h := range r.headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	var p httpapi.Problem
	if r.code != "" {
		if err := json.Unmarshal(bytes.TrimSpace(text), &p); err != nil {
			return fmt.Sprintf("%d is no problem (%v): %.300s", res.StatusCode, err, text), nil
		}
	}
	if res.StatusCode != r.status || p.Code != string(r.code) {
		return fmt.Sprintf("%d %.300s, want %d %s", res.StatusCode, text, r.status, r.code), nil
	}
	return "", nil
}

func (r brokenRequest) sendRaw(address string) (string, error) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	go func() { // the server may answer, and close, before it has read all
		_, _ = io.WriteString(c, r.raw)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode != r.status {
		return fmt.Sprintf("%d, want %d", res.StatusCode, r.status), nil
	}
	return "", nil
}

// goodDeposits is how many of the good requests are one deposit, whose whole life costs as
// much as a hundred requests that only read.
const goodDeposits = 20

// brokenRequests sends so many requests from eight clients at once, of which every tenth is
// good. Each gets its answer; the service does not panic, nothing is changed by what was
// refused, nothing is left of it, and what its process takes is as before.
func brokenRequests(t *testing.T, requests int) (kinds map[string]int) {
	const clients = 8
	in := newForProcesses(t, "attempts: 3", "listen_http=127.0.0.1:0", "listen_ops=127.0.0.1:0", "ops_pprof=true", "zookeeper_session_timeout=10s", "log_format=text", "transfer_interval=50ms", "upload_limit=256 KiB", "outbox_grace=500ms")
	in.editProfile("fetch:", takesArticles+"fetch:")
	key := in.keyOf("ada", "admin", "--all")
	s := in.serve("--roles", "all,http")
	s.until(200, "ok")
	d, files := in.doorOf(s), goodServer(t)
	good := func(random *rand.Rand) brokenRequest {
		ok := brokenRequest{kind: "good", method: "GET", key: true, status: http.StatusOK}
		if random.IntN(goodDeposits) == 0 {
			if random.IntN(2) == 0 {
				return goodForm(random)
			}
			ok.kind, ok.method, ok.path, ok.contentType, ok.status = "good deposit", "POST", "/v1/submissions", "application/json", http.StatusAccepted
			ok.body = fmt.Sprintf(`{"profile":"test","url":%q,"type":"file"}`, files+"/a.txt")
			return ok
		}
		ok.path = chosen(random, []string{"/v1/batches/bid0000000001", "/v1/jobs?state=completed&limit=2&submitter=" + url.QueryEscape("José's Üniversity"), "/v1/self",
			"/servlet/submissionDownload?file_name=none", "/v1/profiles"})
		return ok
	}
	d.ask(key, "POST", "/v1/submissions", fmt.Sprintf(`{"profile":"test","url":%q,"type":"file","submitter":"José's Üniversity"}`, files+"/a.txt")).into(d, new(any))
	in.seen(1, domain.EventBatchReported)
	random := seed(t)
	var mu sync.Mutex
	wrong := 0
	kinds = map[string]int{}
	run := func(requests int) {
		var all sync.WaitGroup
		for range clients {
			b := newBreaker(rand.New(rand.NewPCG(random.Uint64(), 0)), good)
			all.Go(func() {
				c := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}, Timeout: patience}
				defer c.CloseIdleConnections()
				for range requests / clients {
					r := b.next()
					says, err := r.send(c, d.url, key)
					mu.Lock()
					kinds[r.kind]++
					if (says != "" || err != nil) && wrong < 40 {
						wrong++
						t.Errorf("%s: %s %s %.200q %s: %s (%v)", r.kind, r.method, r.path, r.body, r.contentType, says, err)
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
	}
	// rests waits until the deposits have left the drop folder, and checks that nothing else is there.
	rests := func() {
		waitFor(t, "the drop folder to be empty", func() bool {
			left, err := filepath.Glob(filepath.Join(in.cfg.DropDir, "aside", "*")) // what is taken away goes there first
			in.must(err)
			return len(in.kept())+len(left) == 0
		})
		if n := in.uploading(); n != 0 {
			t.Errorf("%d uploads are left", n)
		}
		in.shown()
	}
	run(clients * 20) // opens connections, fills caches
	rests()
	before := in.takes(s)
	begun := time.Now()
	run(requests)
	t.Logf("%.1f s: %v", time.Since(begun).Seconds(), kinds)
	rests()
	if n := in.count(`select count(*) from accession.event where actor = 'user/ada' and type <> 'batch.submitted'`); n != 0 {
		t.Errorf("%d commands were carried out", n)
	}
	if n := in.count(`select count(*) from accession.batch`); n != kinds["good deposit"]+1 {
		t.Errorf("%d batches of %d good deposits", n, kinds["good deposit"]+1)
	}
	in.back(before, moreHeap, s)
	if text := s.log.String(); strings.Contains(text, "panic") {
		t.Error("the log speaks of a panic")
	}
	return kinds
}

// TestBrokenRequests sends 20,000 requests.
// Shows: P8
func TestBrokenRequests(t *testing.T) {
	t.Parallel()
	brokenRequests(t, 20_000)
}
