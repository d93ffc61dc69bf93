package console

import (
	"cmp"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	"github.com/accession-ingest/accession/domain/access"
)

// told are answers of the API by path, and what was asked for.
type told struct {
	answers map[string]any
	asked   []string
}

// ServeHTTP implements http.Handler.
func (a *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI())
	v := a.answers[r.URL.Path]
	if p, is := v.(*problem.Problem); is {
		w.WriteHeader(p.Status)
	} else if v == nil {
		p := problem.Of(app.NotFound, "there is no such thing", "look for another one")
		w.WriteHeader(p.Status)
		v = p
	}
	if text, is := v.(string); is {
		_, _ = io.WriteString(w, text)
		return
	}
	_ = json.NewEncoder(w).Encode(v)
}

// opened returns the pages over answers, for a user with a right in all collections.
func opened(t *testing.T, a *told, role access.Role) http.Handler {
	t.Helper()
	if a.answers["/v1/self"] == nil {
		a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: role, All: true}}}
	}
	mux := http.NewServeMux()
	c := &Console{API: a, Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	return mux
}

func visited(h http.Handler, method, path string, form url.Values, cookies ...*http.Cookie) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, c := range cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// some are answers of which every page shows something. name is in all that outsiders write.
func some(name string) map[string]any {
	const at = "2026-11-28T10:00:00Z"
	batch := map[string]any{"id": "bid0000000001", "batch_id": "bid0000000001", "status": "failed", "submitter": name, "profile_name": "test", "erc_what": name, "file_name": name, "rows_listed": 1234,
		"jobs_completed": 1200, "jobs_failed": 30, "jobs_in_progress": 4, "files_listed": 5000, "files_processed": 5000, "bytes_listed": 1 << 40, "submitted_at": at, "started_at": at,
		"reason_class": "content", "reason_code": "digest_mismatch", "reason_message": name, "projected": true, "version": 3}
	job := map[string]any{"id": "jid0000000001", "batch_id": "bid0000000001", "status": "failed", "status_since": at, "erc_what": name, "file_name": name, "primary_identifier": name, "submitter": name,
		"collection": "test", "payload_url": name, "files": 2, "bytes": 10, "reason_class": "system", "reason_code": "timeout", "reason_message": name, "local_id": []string{name}}
	file := map[string]any{"id": strings.Repeat("ab", 32), "path": name, "status": "processed", "job_id": "jid0000000001", "batch_id": "bid0000000001", "url": name, "source": name, "size": 5,
		"discovered_at": at, "status_since": at, "reason_message": name, "reason_class": "content", "reason_code": "x"}
	retry := map[string]any{"job_id": "jid0000000001", "attempt": 1, "failed_in": "processing", "class": "content", "code": "x", "message": name, "failed_at": at, "outcome": "failed_again", "file_name": name}
	with := func(of map[string]any, more map[string]any) map[string]any {
		all := map[string]any{}
		for _, m := range []map[string]any{of, more} {
			for k, v := range m {
				all[k] = v
			}
		}
		return all
	}
	list := func(item any) map[string]any {
		return map[string]any{"items": []any{item}, "total": 1234567, "next": "bmV4dA"}
	}
	hold := map[string]any{"by": "user/olga", "when": at, "why": name}
	return map[string]any{
		"/v1/batches": list(batch), "/v1/jobs": list(job), "/v1/files": list(file),
		"/v1/batches/bid0000000001":        with(batch, map[string]any{"jobs": []any{job}, "jobs_total": 1234, "truncated": true, "next_step": "requeue them", "messages": []any{map[string]any{"about": "report", "channel": "mail", "state": "failed", "error": name}}}),
		"/v1/batches/bid0000000001/report": with(batch, map[string]any{"retries": []any{retry}, "retries_total": 1, "reports_made": []any{map[string]any{"report": 1, "kind": "first", "status": "failed", "reported_at": at}}}),
		"/v1/events":                       "retry: 2000\n: here\nid: 0\n\n: end\n\n",
		"/v1/jobs/jid0000000001": with(job, map[string]any{"file_counts": map[string]any{"files_listed": 30, "files_processed": 30}, "first_files": []any{file}, "retries": []any{retry}, "transitions": []any{
			map[string]any{"to_status": "pending", "at": at, "actor": "daemon/batch"}, map[string]any{"from_status": "pending", "to_status": "failed", "at": at, "seconds": 90061.5, "reason_message": name, "reason_class": "system", "reason_code": "timeout"}},
			"steps": []any{map[string]any{"step": "virus", "id": "eid1", "status": "failed", "reason": name}}}),
		"/v1/jobs/jid0000000001/inside":     map[string]any{"id": "jid0000000001", "lock": map[string]any{"holder": name, "alive": false}},
		"/v1/files/" + file["id"].(string):  with(file, map[string]any{"transitions": []any{map[string]any{"to_status": "processed", "at": at, "seconds": 0.25, "worker": name}}, "retries": []any{retry}, "waits": []any{map[string]any{"code": "slot", "for": name}}, "entries": []any{map[string]any{"id": "eid1", "status": "failed"}}}),
		"/v1/status":                        map[string]any{"servers": []any{map[string]any{"name": "postgres", "ok": false, "error": name}}, "batches": []any{map[string]any{"state": "failed", "batches": 7}}, "queues": []any{map[string]any{"state": "pending", "jobs": 9}}, "workers": []any{map[string]any{"id": name, "host": name, "roles": []string{"http"}, "since": at}}, "standing": []any{map[string]any{"code": "held", "what": name, "remedy": "accession collection release x"}, map[string]any{"code": "waits_long", "what": "job jid0000000001 waits", "remedy": "accession job show jid0000000001"}}, "hosts": []any{map[string]any{"host": name, "permits": 1, "limit": 2}}, "projection": map[string]any{"events_behind": 9000, "seconds_behind": 90}, "outbox": map[string]any{"unsent": 3, "oldest_seconds": 100}},
		"/v1/queues":                        map[string]any{"items": []any{map[string]any{"queue": "ingest", "jobs": 9, "pause": hold}, map[string]any{"queue": "pending", "jobs": 9}}},
		"/v1/collections":                   map[string]any{"items": []any{map[string]any{"collection": name, "hold": hold}}},
		"/v1/deposit-queues/metadata/board": map[string]any{"queue": "metadata", "waiting": 3, "users": []any{map[string]any{"user": name, "waiting": 3, "position": 1, "expected_seconds": 61}}},
		"/v1/deposit-queues/query/board":    map[string]any{"queue": "query", "stopped": name},
	}
}

// pagesOfAll are the addresses of all pages that show something.
func pagesOfAll() []string {
	return []string{Path, Path + "batches", Path + "batches/bid0000000001", Path + "jobs", Path + "jobs/jid0000000001", Path + "files", Path + "files/" + strings.Repeat("ab", 32),
		Path + "queues", Path + "servers", Path + "sign-in", Path + "nowhere"}
}

// TestHostileNames: what outsiders write is text on every page, on one line, and the names of 4 KiB
// are cut where there are many.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	name := "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202Egpj.exe\x07\x1b[31m" + strings.Repeat("long", 1024)
	h := opened(t, &told{answers: some(name)}, access.Operator)
	for _, path := range pagesOfAll() {
		w := visited(h, http.MethodGet, path, nil)
		if w.Code != http.StatusOK && !strings.HasSuffix(path, "nowhere") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
		doc, err := html.Parse(strings.NewReader(w.Body.String()))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			if n.Data == "img" || n.Data == "script" && (n.FirstChild != nil || !strings.HasPrefix(attribute(n, "src"), Path+"static/")) {
				t.Errorf("%s has %s", path, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || strings.HasPrefix(strings.ToLower(a.Val), "javascript:") {
					t.Errorf("%s: %s has %s=%s", path, n.Data, a.Key, a.Val)
				}
			}
		}
		if text := w.Body.String(); strings.ContainsAny(text, "\u202E\x07\x1b") || strings.Contains(text, "ZgotmplZ") {
			t.Errorf("%s has characters that are no text", path)
		}
		if path == Path+"batches" {
			if n := strings.Count(w.Body.String(), "long"); n > 200 {
				t.Errorf("%s: a long name is there whole", path)
			}
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// TestHeadersOfPages: a browser takes scripts and styles of a page from the service only, and frames
// it nowhere.
func TestHeadersOfPages(t *testing.T) {
	t.Parallel()
	h := opened(t, &told{answers: some("a name")}, access.Operator)
	for _, path := range pagesOfAll() {
		w := visited(h, http.MethodGet, path, nil)
		policy := w.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"} {
			if !slices.Contains(strings.Split(policy, "; "), part) {
				t.Errorf("%s: %s", path, policy)
			}
		}
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") || strings.Contains(policy, "http") {
			t.Errorf("%s: %s", path, policy)
		}
	}
}

// TestStatic: what pages are made of is kept by a browser under an address that changes with it.
func TestStatic(t *testing.T) {
	t.Parallel()
	h := opened(t, &told{answers: some("a name")}, access.Operator)
	for name, media := range mediaTypes {
		w := visited(h, http.MethodGet, Path+"static/"+digest()+"/"+name, nil)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != media || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, w.Code, w.Header())
		}
		if w := visited(h, http.MethodGet, Path+"static/other/"+name, nil); strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s is kept although it is of another version", name)
		}
	}
	for _, path := range []string{"static/x/console.go", "static/x/..%2ftemplates%2flayout.html", "static/x/"} {
		if w := visited(h, http.MethodGet, Path+path, nil); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestListsByAddress: a filter, a sort and a page of a list are in its address, and reach the API
// as they are.
func TestListsByAddress(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	items := []any{}
	for _, n := range []any{3, nil, 20, 1} {
		items = append(items, map[string]any{"id": "bid000000000" + cmp.Or(strings.TrimSpace(jsonOf(n)), "0"), "rows_listed": n})
	}
	a.answers["/v1/batches"] = map[string]any{"items": items, "next": "bmV4dA", "total": 4}
	h := opened(t, a, access.Operator)
	w := visited(h, http.MethodGet, Path+"batches?state=failed&submitter=&since=2026-11-01&cursor=abc&sort=rows_listed", nil)
	if got := a.asked[len(a.asked)-1]; got != "GET /v1/batches?cursor=abc&since=2026-11-01T00%3A00%3A00Z&state=failed" {
		t.Errorf("asked %s", got)
	}
	text := w.Body.String()
	for _, want := range []string{`href="/console/batches?cursor=bmV4dA&amp;since=2026-11-01&amp;sort=rows_listed&amp;state=failed" rel="next"`, `href="/console/batches?since=2026-11-01&amp;sort=rows_listed&amp;state=failed">First page`,
		`href="/console/batches.csv?since=2026-11-01T00%3A00%3A00Z&amp;state=failed"`, `<option value="failed" selected>`, `aria-sort="ascending"`, "This page is sorted"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s:\n%s", want, text)
		}
	}
	order := func(sort string) (ids []string) {
		text := visited(h, http.MethodGet, Path+"batches?sort="+sort, nil).Body.String()
		for _, part := range strings.Split(text, `<bdi>bid000000000`)[1:] {
			id, _, _ := strings.Cut(part, "<")
			ids = append(ids, id)
		}
		return ids
	}
	if up, down := order("rows_listed"), order("-rows_listed"); !slices.Equal(up, []string{"1", "3", "20", "null"}) || !slices.Equal(down, []string{"20", "3", "1", "null"}) {
		t.Errorf("%v, %v", up, down)
	}
	if w := visited(h, http.MethodGet, Path+"batches?sort=colour", nil); w.Code != http.StatusBadRequest {
		t.Errorf("an unknown column: %d", w.Code)
	}
}

func jsonOf(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// TestCSVOfList: the whole list, page by page, as a file for spreadsheets.
func TestCSVOfList(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("=cmd")}
	pages := 0
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if pages++; pages > 1 {
			a.answers["/v1/batches"] = map[string]any{"items": []any{map[string]any{"id": "bid0000000002"}}}
		}
		a.ServeHTTP(w, r)
	})
	c := &Console{API: api}
	w := httptest.NewRecorder()
	c.download(batchColumns.download).ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path+"batches.csv?state=failed", http.NoBody))
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "id,status,title,") || strings.Contains(lines[0], "jobs,jobs") || !strings.HasPrefix(lines[1], "bid0000000001,failed,'=cmd,") || !strings.HasPrefix(lines[2], "bid0000000002,") {
		t.Errorf("%d pages: %q", pages, lines)
	}
	if !slices.Equal(a.asked, []string{"GET /v1/batches?limit=1000&state=failed", "GET /v1/batches?cursor=bmV4dA&limit=1000&state=failed"}) {
		t.Errorf("asked %v", a.asked)
	}
}

// TestSignIn: a session begins with name and password as one of a program does, is kept in a cookie
// that no script reads and no other host gets, and ends with it. The way leads on to a page here
// only.
func TestSignIn(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/sessions"] = people.Session{Token: "ses_abc"}
	a.answers["/v1/sessions/end"] = map[string]any{"ended": true}
	h := opened(t, a, access.Reader)
	for next, want := range map[string]string{"/console/batches?state=failed": "/console/batches?state=failed", "": Path, "https://evil.example/console/": Path, "//evil.example/console/": Path,
		"/v1/docs": Path, `/console/\evil.example`: Path, "javascript:alert(1)": Path, "/console/../v1/docs": Path, "/console": "/console"} {
		w := visited(h, http.MethodPost, Path+"sign-in", url.Values{"name": {"ana"}, "password": {"right"}, "next": {next}})
		if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != want {
			t.Errorf("%s: %d %s", next, w.Code, got)
		}
		cookie := w.Header().Get("Set-Cookie")
		for _, part := range []string{"__Host-session=ses_abc", "Path=/", "Secure", "HttpOnly", "SameSite=Lax"} {
			if !strings.Contains(cookie, part) || strings.Contains(cookie, "Domain") {
				t.Errorf("the cookie is %s", cookie)
			}
		}
	}
	w := visited(h, http.MethodPost, Path+"sign-out", url.Values{}, &http.Cookie{Name: Cookie, Value: "ses_abc"})
	if w.Code != http.StatusSeeOther || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") || a.asked[len(a.asked)-1] != "POST /v1/sessions/end?" {
		t.Errorf("%d %v %v", w.Code, w.Header(), a.asked)
	}
	a.answers["/v1/sessions"] = problem.Of(app.Unauthenticated, "sign in: the name and password are not valid", "")
	w = visited(h, http.MethodPost, Path+"sign-in", url.Values{"name": {`an"a`}, "password": {"wrong<"}, "next": {"/console/jobs"}})
	if text := w.Body.String(); w.Code != http.StatusUnauthorized || w.Header().Get("Set-Cookie") != "" || !strings.Contains(text, "are not valid") || strings.Contains(text, "wrong") || !strings.Contains(text, `value="/console/jobs"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), text)
	}
}

// TestProblemsAsPages: an error of the API is a page with its status, what is wrong and what to do.
func TestProblemsAsPages(t *testing.T) {
	t.Parallel()
	h := opened(t, &told{answers: some("a name")}, access.Reader)
	w := visited(h, http.MethodGet, Path+"batches/bid0000000009", nil)
	if text := w.Body.String(); w.Code != http.StatusNotFound || !strings.Contains(text, "there is no such thing") || !strings.Contains(text, "look for another one") || !strings.Contains(text, "not_found") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := visited(h, http.MethodGet, Path+"batches?since=%zz", nil); w.Code != http.StatusBadRequest {
		t.Errorf("%d", w.Code)
	}
}

// TestPagesWithinRights: what belongs to no collection is not asked for, nor in the list of pages,
// for who may not see it; who works on a job is asked for by operators only.
func TestPagesWithinRights(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	h := opened(t, a, access.Depositor)
	text := visited(h, http.MethodGet, Path, nil).Body.String() + visited(h, http.MethodGet, Path+"jobs/jid0000000001", nil).Body.String()
	for _, path := range []string{"/console/queues", "/console/servers", "Is something late", "Locked by"} {
		if strings.Contains(text, path) {
			t.Errorf("a depositor is shown %s", path)
		}
	}
	if slices.ContainsFunc(a.asked, func(s string) bool { return strings.Contains(s, "/status") || strings.Contains(s, "/inside") }) {
		t.Errorf("asked %v", a.asked)
	}
	text = visited(opened(t, &told{answers: some("a name")}, access.Operator), http.MethodGet, Path+"jobs/jid0000000001", nil).Body.String()
	if !strings.Contains(text, "Locked by the worker <code>a name</code>, which has gone") {
		t.Error(text)
	}
}

// TestNumbers: numbers, sizes and spans of time as people read them.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := count(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1,023 B", 1536: "1.5 KiB", 1 << 40: "1.0 TiB"} {
		if got := bytesOf(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for s, want := range map[float64]string{-1: "0 s", 0.25: "0.2 s", 59.9: "59 s", 61: "1 min 1 s", 3700: "1 h 1 min", 90061: "1 d 1 h"} {
		if got := spanOf(s); got != want {
			t.Errorf("%g: %s", s, got)
		}
	}
	var width float64
	b := sumOf("jobs", counted{"completed", 1_000_000}, counted{"failed", 1}, counted{"held", 0})
	for _, p := range b.Parts {
		width += p.Width
		if p.N > 0 && p.Width < 0.9 || p.N == 0 && p.Width != 0 {
			t.Errorf("%+v", p)
		}
	}
	if width < 99.99 || width > 100.01 || b.Sum() != "1,000,000 completed, 1 failed" {
		t.Errorf("%g %s", width, b.Sum())
	}
}
