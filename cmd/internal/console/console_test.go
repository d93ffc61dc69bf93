package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/app/problem"
	design "github.com/accession-ingest/accession/cmd/internal/page"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// told are answers of the API by path, and what was asked for.
type told struct {
	answers map[string]any
	refusal *problem.Problem // of all that is sent, nil = it is answered
	openID  OpenID           // where people sign in too, nil = nowhere
	mu      sync.Mutex
	asked   []string
}

// ServeHTTP implements http.Handler.
func (a *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked = append(a.asked, r.Method+" "+r.URL.RequestURI())
	a.mu.Unlock()
	v := a.answers[r.URL.Path]
	if now, is := v.(map[string]any); is && r.URL.Query().Has("at") && now["at"] == nil {
		v = merged(now, map[string]any{"at": map[string]any{"seq": 7, "stored": "2026-11-28T10:00:00Z"}})
	}
	if as, ok := a.answers[r.URL.Path+"?format="+r.URL.Query().Get("format")]; ok {
		v = as
	}
	if r.Method != http.MethodGet && a.refusal != nil {
		v = a.refusal
	}
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
	c := &Console{API: a, OpenID: a.openID, Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
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

// merged returns an object with more fields.
func merged(of, more map[string]any) map[string]any {
	all := maps.Clone(of)
	maps.Copy(all, more)
	return all
}

// eventsWith returns a stream of events in which outsiders wrote a name.
func eventsWith(name string) string {
	var b strings.Builder
	b.WriteString("retry: 2000\n: here\nid: 0\n\n")
	move := domain.JobMove{From: domain.JobProcessing, To: domain.JobFailed, Collection: name, Profile: name, Reason: &domain.Reason{Class: domain.ClassContent, Code: "timeout", Message: name, Worker: name, Host: name}}
	for i := range 2 {
		text, err := json.Marshal(event.Of(domain.Recorded{Event: domain.Event{Type: domain.EventJobFailed, Aggregate: domain.NewJobID(1).Aggregate(), Version: int64(i + 1), Data: &domain.JobMoved{JobMove: move}},
			Seq: uint64(i + 1), Actor: domain.Actor(name), Stored: time.Date(2026, 11, 28, 10, 0, 0, 0, time.UTC)}))
		if err != nil {
			panic(err) // an event has no value without JSON
		}
		_, _ = fmt.Fprintf(&b, "id: %d\ndata: %s\n\n", i+1, text)
	}
	b.WriteString(": end\n\n")
	return b.String()
}

// some are answers of which every page shows something. name is in all that outsiders write.
func some(name string) map[string]any {
	const at = "2026-11-28T10:00:00Z"
	batch := map[string]any{"id": "bid0000000001", "batch_id": "bid0000000001", "status": "failed", "submitter": name, "profile_name": "test", "erc_what": name, "file_name": name, "rows_listed": 1234,
		"jobs_completed": 1200, "jobs_failed": 30, "jobs_in_progress": 4, "files_listed": 5000, "files_processed": 5000, "bytes_listed": 1 << 40, "submitted_at": at, "started_at": at,
		"reason_class": "content", "reason_code": "digest_mismatch", "reason_message": name, "projected": true, "version": 3}
	job := map[string]any{"id": "jid0000000001", "batch_id": "bid0000000001", "status": "failed", "status_since": at, "erc_what": name, "file_name": name, "primary_identifier": name, "submitter": name,
		"collection": "test", "payload_url": name, "files": 2, "bytes": 10, "reason_class": "system", "reason_code": "timeout", "reason_message": name, "local_id": []string{name}}
	file := map[string]any{"id": strings.Repeat("ab", 32), "path": name, "status": "PROCESSED", "job_id": "jid0000000001", "batch_id": "bid0000000001", "url": name, "source": name, "size": 5,
		"discovered_at": at, "status_since": at, "reason_message": name, "reason_class": "content", "reason_code": "x"}
	retry := map[string]any{"job_id": "jid0000000001", "attempt": 1, "failed_in": "processing", "class": "content", "code": "x", "message": name, "failed_at": at, "outcome": "failed_again", "file_name": name}
	with := merged
	effects := map[string]any{"id": "1", "from": "failed", "status": "pending", "version": 4, "effects": []string{name}}
	list := func(item any) map[string]any {
		return map[string]any{"items": []any{item}, "total": 1234567, "next": "bmV4dA"}
	}
	hold := map[string]any{"by": "user/olga", "when": at, "why": name}
	failure := map[string]any{"code": "timeout", "class": "timeout", "who_acts": "operator", "message": name, "host": name, "collection": name, "profile": name, "jobs": 20, "chosen": 20, "first_failed_at": at, "last_failed_at": at, "example": "jid0000000001"}
	return map[string]any{
		"/v1/failures": map[string]any{"items": []any{failure, with(failure, map[string]any{"jobs": 3, "host": "", "chosen": 23})}, "total": 7},
		"/v1/batches":  list(batch), "/v1/jobs": list(job), "/v1/files": list(file),
		"/v1/batches/bid0000000001": with(batch, map[string]any{"jobs": []any{job}, "jobs_total": 1234, "truncated": true, "next_step": "requeue them", "messages": []any{map[string]any{"about": "report", "channel": "mail", "state": "failed", "error": name}},
			"callbacks": []any{map[string]any{"job_id": "jid0000000001", "host": name, "state": "failed", "attempts": 3, "error": name, "last_attempt_at": at}}}),
		"/v1/batches/bid0000000001/callbacks": map[string]any{"items": []any{map[string]any{"job_id": "jid0000000001", "host": name, "state": "failed", "attempts": 3, "error": name, "last_attempt_at": at}}, "next": "cba"},
		"/v1/batches/bid0000000001/retries":   map[string]any{"items": []any{retry}, "next": "cba"},
		"/v1/batches/bid0000000001/report":    with(batch, map[string]any{"retries": []any{retry}, "retries_total": 1, "reports_made": []any{map[string]any{"report": 1, "kind": "first", "status": "failed", "reported_at": at}}}),
		"/v1/events":                          eventsWith(name),
		"/v1/jobs/jid0000000001": with(job, map[string]any{"file_counts": map[string]any{"files_listed": 30, "files_processed": 30}, "first_files": []any{file}, "retries": []any{retry}, "transitions": []any{
			map[string]any{"to_status": "pending", "at": at, "actor": "daemon/batch"}, map[string]any{"from_status": "pending", "to_status": "failed", "at": at, "seconds": 90061.5, "reason_message": name, "reason_class": "system", "reason_code": "timeout"}},
			"steps": []any{map[string]any{"step": "virus", "id": "eid1", "status": "failed", "reason": name}}}),
		"/v1/jobs/jid0000000001/inside":    map[string]any{"id": "jid0000000001", "lock": map[string]any{"holder": name, "alive": false, "since": at}},
		"/v1/files/" + file["id"].(string): with(file, map[string]any{"transitions": []any{map[string]any{"to_status": "PROCESSED", "at": at, "seconds": 0.25, "worker": name}}, "retries": []any{retry}, "waits": []any{map[string]any{"code": "slot", "for": name}}, "entries": []any{map[string]any{"id": "eid1", "status": "failed"}}}),
		"/v1/status":                       map[string]any{"servers": []any{map[string]any{"name": "postgres", "ok": false, "error": name}}, "batches": []any{map[string]any{"state": "failed", "batches": 7}}, "queues": []any{map[string]any{"state": "pending", "jobs": 9}}, "workers": []any{map[string]any{"id": name, "host": name, "roles": []string{"http"}, "since": at}}, "standing": []any{map[string]any{"code": "held", "what": name, "remedy": "accession collection release x"}, map[string]any{"code": "waits_long", "what": "job jid0000000001 waits", "remedy": "accession job show jid0000000001"}}, "hosts": []any{map[string]any{"host": name, "permits": 1, "limit": 2}}, "projection": map[string]any{"events_behind": 9000, "seconds_behind": 90}, "outbox": map[string]any{"unsent": 3, "oldest_seconds": 100}},
		"/v1/queues":                       map[string]any{"items": []any{map[string]any{"queue": "ingest", "jobs": 9, "pause": hold}, map[string]any{"queue": "pending", "jobs": 9}}},
		"/v1/collections":                  map[string]any{"items": []any{map[string]any{"collection": name, "hold": hold}}},
		"/v1/compute/entries/eid0000000001": map[string]any{"id": "eid0000000001", "status": "FAILED", "dataset": name, "group": name, "key": "job/jid0000000001/virus", "inputs": []string{name}, "worker": name, "reason": name, "who_acts": "operator", "requested_at": at,
			"result": map[string]any{"exit_status": 3, "size": 5, "sha256": name, "last_lines": name + "\nand more", "value": map[string]any{"text": name}, "outputs": []any{map[string]any{"name": name, "size": 7, "sha256": name}}}},
		"/v1/slots/s1":                          map[string]any{"id": "s1", "dataset": name, "group": name, "status": "ACTIVE", "opens_at": at, "closes_at": at, "status_since": at, "reason": name, "files": map[string]any{"all": 3, "ready": 1, "waiting": 2}, "transitions": []any{map[string]any{"to_status": "ACTIVE", "at": at, "actor": name, "reason_message": name}}},
		"/v1/discoveries/d1":                    map[string]any{"name": "d1", "url": name, "dataset": "d1", "every_seconds": 60, "newer_than": at, "why": name, "last_poll": map[string]any{"outcome": "failed", "error": name, "begun_at": at}, "groups": map[string]any{"waiting": 1, "first": []any{map[string]any{"group": name, "waits": name}}}},
		"/v1/datasets/d1":                       map[string]any{"name": "d1", "collection": name, "profile": name, "group_pattern": name, "why": name, "rules": map[string]any{}},
		"/v1/queries/qid0000000001":             map[string]any{"id": "qid0000000001", "status": "failed", "reason": name, "request": map[string]any{"submitter": name, "file_name": name, "lines": 9}, "answer": map[string]any{"found": 7, "not_found": 2}, "mail": map[string]any{"state": "failed", "error": name}},
		"/v1/users/ana":                         map[string]any{"id": "ana", "display_name": name, "mail": name, "has_password": true, "openid": map[string]any{"issuer": name, "subject": name}, "rights": []any{map[string]any{"role": "reader", "collections": []string{name}}}},
		"/v1/compute/workers":                   map[string]any{"items": []any{map[string]any{"name": name, "kind": "lease", "entry": "eid0000000001", "dataset": name, "since": at, "completed": 3}}},
		"/v1/uploads":                           list(map[string]any{"id": name, "state": "refused", "file_name": name, "submitter": name, "size": 5, "received": at, "refused": map[string]any{"reason": name}}),
		"/v1/poison":                            list(map[string]any{"seq": 4711, "id": name, "type": "job.failed", "error": name, "waits_for": 3, "first_seen": at}),
		"/v1/uploads/u1/rm":                     map[string]any{"id": "u1", "from": "refused", "status": "removed", "effects": []string{name}},
		"/v1/objects":                           list(map[string]any{"id": name, "title": name, "creator": name, "collection": name, "version": 2}),
		"/v1/objects/ark:/1/x":                  map[string]any{"id": "ark:/1/x", "title": name, "creator": name, "local_ids": []string{name}, "versions": []any{map[string]any{"version": 2, "files": 3, "job_id": "jid0000000001", "submitter": name, "stored_at": at}}},
		"/v1/objects/ark:/1/x/versions/2/files": map[string]any{"items": []any{map[string]any{"name": name, "kind": "producer", "size": 5, "mime_type": name, "sha256": name}}, "next": "bmV4dA"},
		"/v1/compute/entries":                   list(map[string]any{"id": "eid0000000001", "status": "FAILED", "dataset": name, "group": name, "worker": name, "reason": name, "requested_at": at}),
		"/v1/datasets":                          list(map[string]any{"name": name, "collection": name, "by": name, "why": name, "when": at}),
		"/v1/discoveries":                       list(map[string]any{"name": name, "url": name, "paused": true, "every_seconds": 60, "why": name}),
		"/v1/slots":                             list(map[string]any{"id": name, "status": "ACTIVE", "files": map[string]any{"all": 3, "ready": 3}, "reason": name}),
		"/v1/queries":                           list(map[string]any{"id": "qid0000000001", "status": "failed", "reason": name, "request": map[string]any{"submitter": name}}),
		"/v1/withdrawals":                       map[string]any{"items": []any{map[string]any{"id": "ark:/1/x", "status": "requested", "collection": name, "reason": name, "requested_by": name, "requested_at": at}, map[string]any{"id": "ark:/1/y", "status": "removed", "decision": name, "removed_at": at}}},
		"/v1/users":                             list(map[string]any{"id": name, "display_name": name, "mail": name, "rights": []any{map[string]any{"role": "reader", "collections": []string{name}}}}),
		"/v1/keys":                              list(map[string]any{"id": "abcdefgh", "user": name, "label": name, "roles": []string{"reader"}, "collections": []string{name}}),
		"/v1/keys/abcdefgh/revoke":              map[string]any{"id": "abcdefgh", "dry_run": true, "effects": []string{name}},
		"/v1/users/ana/disable":                 map[string]any{"id": "ana", "display_name": name, "mail": name, "rights": []any{map[string]any{"role": "reader", "collections": []string{name}}}, "changed": true, "effects": []string{name}},
		"/v1/users/ana/password":                map[string]any{"id": "ana", "display_name": name, "effects": []string{name}},
		"/v1/audit":                             list(map[string]any{"caller": name, "action": "job.requeue", "outcome": "refused", "reason": name, "at": at}),
		"/v1/processors":                        map[string]any{"items": []any{map[string]any{"id": "metadata-films", "processor": "films", "queue": "metadata", "users": []string{name}, "preferred": []string{name}, "max_size": 5, "setting_version": 2, "source": "run time"}}},
		"/v1/deposit-queues/metadata/processors/films": map[string]any{"id": "metadata-films", "processor": "films", "queue": "metadata", "users": []string{name}, "workers": 2},
		"/v1/profiles":                            map[string]any{"items": []any{map[string]any{"id": "test", "name": "test", "collection": name}}},
		"/v1/profiles/plain":                      map[string]any{"id": "plain", "name": "plain", "collection": "test", "version": "v1"},
		"/v1/profiles/test":                       map[string]any{"id": "test", "name": "test", "collection": name, "version": "v1", "source": "run time", "by": name, "why": name, "note": name, "owner": name},
		"/v1/reports/collections":                 map[string]any{"at": map[string]any{"seq": 7, "stored": at}, "tables": map[string]any{"collections": []any{map[string]any{"collection": name, "status": "failed", "jobs": 3}, map[string]any{"collection": name, "status": "pending", "jobs": 4, "oldest_since": at}}}},
		"/v1/reports/failures":                    map[string]any{"tables": map[string]any{"reasons": []any{map[string]any{"kind": "job", "failed_in": "processing", "class": "content", "code": name, "failures": 3, "unresolved": 2, "last_message": name}}}},
		"/v1/reports/submitters":                  map[string]any{"tables": map[string]any{"submitters": []any{map[string]any{"submitter": name, "batches": 2, "jobs_failed": 3, "jobs_in_progress": 4}}}},
		"/v1/reports":                             map[string]any{"items": []any{map[string]any{"name": "failures", "about": "What failed", "plot": true}, map[string]any{"name": "batch", "needs_batch": true}}},
		"/v1/uploads/u1":                          map[string]any{"id": "u1", "state": "refused", "file_name": name, "refused": map[string]any{"reason": name}},
		"/v1/compute/entries/eid0000000001/retry": map[string]any{"id": "eid0000000001", "from": "FAILED", "status": "PENDING", "version": 4, "effects": []string{name}},
		"/v1/jobs/jid0000000001/requeue":          effects, "/v1/batches/bid0000000001/release": effects, "/v1/files/" + strings.Repeat("ab", 32) + "/requeue": effects, "/v1/queues/pending/pause": effects, "/v1/collections/test/hold": effects,
		"/v1/slots/s1/close": effects, "/v1/discoveries/d1/pause": effects, "/v1/queries/qid0000000001/fail": effects, "/v1/objects/ark:/1/x/withdraw": effects,
		"/v1/bulk-actions":                  map[string]any{"items": []any{map[string]any{"id": "b1", "by": name, "state": "running", "request": map[string]any{"kind": "job", "verb": "requeue", "reason": name}, "done": 3}}, "matched": 200, "first": []any{map[string]any{"id": "jid0000000001", "refusal": name}}},
		"/v1/bulk-actions/b1":               map[string]any{"id": "b1", "state": "running", "by": name, "matched": 200, "done": 3, "refused": 1, "request": map[string]any{"kind": "job", "verb": "requeue", "reason": name}},
		"/v1/bulk-actions/b1/items":         map[string]any{"items": []any{map[string]any{"id": "jid0000000001", "outcome": "refused", "message": name}}},
		"/v1/deposit-queues/metadata/board": map[string]any{"queue": "metadata", "waiting": 3, "users": []any{map[string]any{"user": name, "waiting": 3, "position": 1, "expected_seconds": 61}}},
		"/v1/deposit-queues/query/board":    map[string]any{"queue": "query", "stopped": name},
	}
}

// pagesOfAll are the addresses of all pages that show something.
func pagesOfAll() []string {
	return []string{Path, Path + "batches", Path + "batches/bid0000000001", Path + "batches/bid0000000001/callbacks", Path + "batches/bid0000000001/retries", Path + "jobs", Path + "jobs/jid0000000001", Path + "files", Path + "files/" + strings.Repeat("ab", 32),
		Path + "jobs/jid0000000001/do/requeue", Path + "jobs/all?verb=requeue&state=failed", Path + "bulk", Path + "bulk/b1", Path + "failures", Path + "events", Path + "?at=7", Path + "workers", Path + "deposits", Path + "deposits/u1/do/rm", Path + "poison", Path + "compute/eid0000000001", Path + "slots/s1", Path + "directories/d1", Path + "datasets/d1", Path + "queries/qid0000000001", Path + "people/ana", Path + "objects", Path + "objects/ark:%2F1%2Fx", Path + "objects/ark:%2F1%2Fx/versions/2",
		Path + "compute/eid0000000001/do/retry", Path + "jobs/jid0000000001/do/priority", Path + "jobs/all?verb=priority&state=failed", Path + "more", Path + "compute", Path + "directories", Path + "datasets", Path + "slots", Path + "queries", Path + "people", Path + "keys", Path + "audit", Path + "keys/abcdefgh/do/revoke", Path + "people/ana/do/disable", Path + "people/ana/do/password", Path + "people/ana/do/grant", Path + "people/ana/do/withdraw?role=reader&collections=maps", Path + "people/ana/do/key", Path + "people/ana/do/identity", Path + "people/ana/do/set", Path + "new-user", Path + "profiles", Path + "profiles/test", Path + "profiles/plain/do/set", Path + "new/profile", Path + "new/directory", Path + "new/work", Path + "new/poison-retry", Path + "datasets/d1/do/set", Path + "deposit-queues/metadata/do/limit", Path + "processors", Path + "processors/metadata-films/do/set", Path + "withdrawals", Path + "new", Path + "reports", Path + "deposits/u1", Path + "jobs/jid0000000001?at=7",
		Path + "batches/bid0000000001?at=7", Path + "files/" + strings.Repeat("ab", 32) + "?at=7", Path + "batches/all?verb=release&state=held", Path + "files/all?verb=requeue&state=DOWNLOADING_FAILED", Path + "batches/bid0000000001/do/release", Path + "files/" + strings.Repeat("ab", 32) + "/do/requeue", Path + "queues/pending/do/pause", Path + "collections/test/do/hold",
		Path + "slots/s1/do/close", Path + "directories/d1/do/pause", Path + "queries/qid0000000001/do/fail", Path + "objects/ark:%2F1%2Fx/do/withdraw", Path + "reports?batch=bid0000000001",
		Path + "queues", Path + "servers", Path + "sign-in", Path + "nowhere", Path + "compute/all?verb=retry&state=FAILED", Path + "slots/all?verb=close&dataset=d1", Path + "directories/all?verb=pause&dataset=d1",
		Path + "deposits/all?verb=retry&state=refused", Path + "queries/all?verb=fail&state=parked", Path + "bulk/b1/do/cancel"}
}

// TestAllPagesAreLookedAt: each route that shows a page is among those whose names and looks are tested.
func TestAllPagesAreLookedAt(t *testing.T) {
	t.Parallel()
	mux, looked := http.NewServeMux(), map[string]bool{}
	for _, r := range (&Console{}).Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	for _, path := range slices.Concat(pagesOfAll(), reportsOfAll) {
		_, pattern := mux.Handler(httptest.NewRequest(http.MethodGet, path, http.NoBody))
		looked[strings.TrimPrefix(pattern, "GET "+Path)] = true
	}
	for route, picture := range pictureOf {
		if picture.name != "" && !looked[route] {
			t.Errorf("no page of %s is looked at", route)
		}
	}
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
		// What they wrote in events is there: the reason, and who did it.
		if caption, shown := map[string]string{Path + "events": "Events", Path + "batches/bid0000000001": "Life"}[path]; shown {
			if _, life, _ := strings.Cut(w.Body.String(), "<caption>"+caption); strings.Count(life, "&lt;script&gt;alert(1)") < 4 {
				t.Errorf("%s does not show what is in events:\n%s", path, life)
			}
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
		if name == "console.css" && !strings.HasPrefix(w.Body.String(), design.Design) {
			t.Error("the pages have another design than reports and mails")
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

// TestListsByAddress: a filter, an order and a page of a list are in its address, and reach the API
// as they are.
func TestListsByAddress(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	h := opened(t, a, access.Operator)
	w := visited(h, http.MethodGet, Path+"batches?state=failed&submitter=&since=2026-11-01&cursor=abc&sort=rows_listed", nil)
	if got := a.asked[len(a.asked)-1]; got != "GET /v1/batches?cursor=abc&since=2026-11-01T00%3A00%3A00Z&sort=rows_listed&state=failed" {
		t.Errorf("asked %s", got)
	}
	text := w.Body.String()
	for _, want := range []string{`href="/console/batches?cursor=bmV4dA&amp;since=2026-11-01&amp;sort=rows_listed&amp;state=failed" rel="next"`, `href="/console/batches?since=2026-11-01&amp;sort=rows_listed&amp;state=failed">First page`,
		`href="/console/batches.csv?since=2026-11-01T00%3A00%3A00Z&amp;sort=rows_listed&amp;state=failed"`, `<option value="failed" selected>`,
		`aria-sort="ascending"><a href="/console/batches?since=2026-11-01&amp;sort=-rows_listed&amp;state=failed">Jobs`, `<a href="/console/batches?since=2026-11-01&amp;sort=title&amp;state=failed">Title`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s:\n%s", want, text)
		}
	}
	// Of a list of many, and of files that nothing limits, only the order in which it was made.
	a.answers["/v1/jobs"].(map[string]any)["total"], a.answers["/v1/files"].(map[string]any)["total"] = nil, nil
	for path, want := range map[string]string{"jobs": "-id", "jobs?sort=-id": "id", "files": "-discovered_at", "files?limit=5&sort=-discovered_at": "discovered_at",
		"batches":                 "id status title submitter profile_name rows_listed jobs_completed jobs_failed files_listed bytes_listed submitted_at reason",
		"files?job=jid0000000001": "path status status_since job_id batch_id dataset size download_attempts processing_attempts -discovered_at reason id"} {
		_, heads, _ := strings.Cut(visited(h, http.MethodGet, Path+path, nil).Body.String(), "<thead>")
		if says := strings.Contains(heads, "Choose at most 10,000"); says == strings.Contains(want, " ") {
			t.Errorf("%s says that only some can be sorted: %t", path, says)
		}
		heads, _, _ = strings.Cut(heads, "</thead>")
		var orders []string
		for _, part := range strings.Split(strings.ReplaceAll(heads, "aria-sort=", ""), "sort=")[1:] {
			order, _, _ := strings.Cut(part, `"`)
			orders = append(orders, order)
		}
		if got := strings.Join(orders, " "); got != want || strings.Count(heads, "aria-sort=") != 1 {
			t.Errorf("%s leads to the orders %s: %s", path, got, heads)
		}
	}
	a.answers["/v1/batches"] = problem.Of(app.Invalid, "sort is nothing to sort by", "sort by id")
	if w := visited(h, http.MethodGet, Path+"batches?sort=colour", nil); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "sort by id") {
		t.Errorf("an unknown order: %d %s", w.Code, w.Body)
	}
}

// TestListsSorted: a list that its operation does not sort is read whole and sorted, for each page
// and for a file; of more than can be, none is.
func TestListsSorted(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	n := 120
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/slots" {
			a.ServeHTTP(w, r)
			return
		}
		a.asked = append(a.asked, r.URL.RequestURI())
		from, limit := 0, 50
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &from) // none: the first page
		_, _ = fmt.Sscan(r.URL.Query().Get("limit"), &limit)
		to := min(from+limit, n)
		answer := map[string]any{}
		var items []any
		for i := from; i < to; i++ {
			item := map[string]any{"id": fmt.Sprintf("slot%05d", i)}
			if i%2 == 0 {
				item["opens_at"] = fmt.Sprintf("2026-11-01T10:%02d:00Z", 59-i/2%60)
			}
			items = append(items, item)
		}
		if answer["items"] = items; to < n {
			answer["next"] = fmt.Sprint(to)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}}}
	mux := http.NewServeMux()
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	page := func(query string) (ids []string, text string) {
		w := visited(mux, http.MethodGet, Path+"slots"+query, nil)
		if text = w.Body.String(); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, text)
		}
		for _, part := range strings.Split(text, `<bdi>slot`)[1:] {
			id, _, _ := strings.Cut(part, "<")
			ids = append(ids, id)
		}
		return ids, text
	}
	for query, want := range map[string][2]string{"?sort=opens_at": {"00118", "00020"}, "?sort=-opens_at": {"00000", "00098"}, "?sort=opens_at&cursor=50": {"00018", "00079"}, "?sort=-id&cursor=100&limit=100": {"00019", "00000"}, "?sort=id&cursor=7&limit=3": {"00007", "00009"}} {
		if ids, _ := page(query); ids[0] != want[0] || ids[len(ids)-1] != want[1] {
			t.Errorf("%s: %v", query, ids)
		}
	}
	_, text := page("?sort=opens_at&state=DONE&cursor=50")
	for _, want := range []string{`href="/console/slots?cursor=100&amp;sort=opens_at&amp;state=DONE" rel="next"`, `href="/console/slots?sort=opens_at&amp;state=DONE">First page`, `aria-sort="ascending"><a href="/console/slots?sort=-opens_at&amp;state=DONE">Opens`,
		`href="/console/slots.csv?sort=opens_at&amp;state=DONE"`, `<span class="total">120`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s:\n%s", want, text)
		}
	}
	if ids, text := page("?cursor=50"); ids[0] != "00050" || !strings.Contains(text, `<a href="/console/slots?sort=opens_at">Opens`) || strings.Contains(text, "sort=sum") {
		t.Errorf("in its own order: %v %s", ids, text)
	}
	csv := strings.Split(strings.TrimSpace(visited(mux, http.MethodGet, Path+"slots.csv?sort=-id&cursor=50&limit=7", nil).Body.String()), "\n")
	if len(csv) != 121 || !strings.HasPrefix(csv[1], "slot00119,") {
		t.Errorf("the file: %d lines, %q", len(csv), csv[:2])
	}
	for _, query := range []string{"?sort=colour", "?sort=sum", "?sort=id&cursor=x", "?sort=id&cursor=-1", "?sort=id&limit=1001"} {
		if w := visited(mux, http.MethodGet, Path+"slots"+query, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", query, w.Code)
		}
	}
	n = int(app.MostSorted)
	page("?sort=-id")
	n++
	for _, path := range []string{"slots?sort=-id", "slots.csv?sort=-id"} {
		if w := visited(mux, http.MethodGet, Path+path, nil); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "more than 10,000 are chosen") {
			t.Errorf("%s of too many: %d", path, w.Code)
		}
	}
	if csv := visited(mux, http.MethodGet, Path+"slots.csv", nil); strings.Count(csv.Body.String(), "\n") != n+1 {
		t.Errorf("the file in the order of the list has %d lines", strings.Count(csv.Body.String(), "\n"))
	}
}

// TestCSVOfEachList: each list has a file, with the filter of its page, in which nothing is a formula.
func TestCSVOfEachList(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("=cmd")}
	a.answers["/v1/failures"].(map[string]any)["total"] = 2
	for _, of := range a.answers {
		if of, is := of.(map[string]any); is {
			delete(of, "next")
			if of["total"] == 1234567 {
				of["total"] = 1
			}
		}
	}
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Admin, All: true}}}
	h := opened(t, a, access.Admin)
	lists := []string{"batches", "jobs", "files", "failures", "bulk", "bulk/b1/items", "batches/bid0000000001/callbacks", "batches/bid0000000001/retries"}
	for _, f := range (&Console{}).further() {
		lists = append(lists, f.name)
	}
	for _, name := range lists {
		w := visited(h, http.MethodGet, Path+name+".csv?state=some&cursor=abc&limit=7", nil)
		lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/csv; charset=utf-8" || len(lines) < 2 || strings.Contains(","+lines[1], ",=") || name != "bulk/b1/items" && !strings.Contains(w.Body.String(), "'=cmd") {
			t.Errorf("%s: %d %q", name, w.Code, lines)
		}
		asked := a.asked[len(a.asked)-1]
		if !strings.Contains(asked, "state=some") || strings.Contains(asked, "abc") || strings.Contains(asked, "limit=7") || strings.Contains(asked, "limit=") == slices.Contains([]string{"directories", "datasets", "workers", "profiles", "processors"}, name) {
			t.Errorf("%s: asked %s", name, asked)
		}
		if text := visited(h, http.MethodGet, Path+strings.TrimSuffix(name, "/items"), nil).Body.String(); !strings.Contains(text, `.csv">Whole list as CSV`) && !strings.Contains(text, `.csv?outcome=refused">Whole list as CSV`) {
			t.Errorf("the page of %s does not lead to the file: %s", name, text)
		}
	}
	a.answers["/v1/failures"].(map[string]any)["total"] = 3
	for _, path := range []string{"failures.csv", "failures?sort=jobs"} {
		if w := visited(h, http.MethodGet, Path+path, nil); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "choose fewer") {
			t.Errorf("%s of more groups than can be read: %d", path, w.Code)
		}
	}
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
	c.download(batchColumns.Download).ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path+"batches.csv?state=failed", http.NoBody))
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
	for _, path := range []string{"/console/queues", "/console/servers", "Is something late", "Locked by", "/do/", "/console/bulk"} {
		if strings.Contains(text, path) {
			t.Errorf("a depositor is shown %s", path)
		}
	}
	if slices.ContainsFunc(a.asked, func(s string) bool { return strings.Contains(s, "/status") || strings.Contains(s, "/inside") }) {
		t.Errorf("asked %v", a.asked)
	}
	text = visited(opened(t, &told{answers: some("a name")}, access.Operator), http.MethodGet, Path+"jobs/jid0000000001", nil).Body.String()
	if !strings.Contains(text, "Locked by the worker <code>a name</code>, which has gone, since <time datetime=\"2026-11-28T10:00:00Z\"") {
		t.Error(text)
	}
}

// TestLockThatIsNotKnown: where ZooKeeper does not answer, the page of a job does not say that no
// worker has it.
func TestLockThatIsNotKnown(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/jobs/jid0000000001/inside"] = map[string]any{"id": "jid0000000001", "unknown": []string{"the manifest cannot be looked at: x", "the live state cannot be looked at: it does not answer"}}
	text := visited(opened(t, a, access.Operator), http.MethodGet, Path+"jobs/jid0000000001", nil).Body.String()
	if strings.Contains(text, "No worker has it") || !strings.Contains(text, "Which worker has it is not known: the live state cannot be looked at: it does not answer") {
		t.Error(text)
	}
}

// TestManyCallbacks: a page that has the first of the callbacks says so, and leads to the list of all,
// in each order and as a file.
func TestManyCallbacks(t *testing.T) {
	t.Parallel()
	const batch, list = Path + "batches/bid0000000001", Path + "batches/bid0000000001/callbacks"
	for n, first := range map[int]bool{shownOf - 1: false, shownOf: true, most: true} {
		a := &told{answers: some("a name")}
		made := make([]any, n)
		for i := range made {
			made[i] = map[string]any{"job_id": "jid0000000001", "host": "example.org", "state": "failed"}
		}
		a.answers["/v1/batches/bid0000000001"].(map[string]any)["callbacks"] = made
		h := opened(t, a, access.Operator)
		for _, query := range []string{"", "?sort.jobs=id&at=7"} { // which are asked for in another number
			text := visited(h, http.MethodGet, batch+query, nil).Body.String()
			for _, want := range []string{"those that have not arrived before the others", `href="` + list + `">Show all`, `href="` + list + `.csv" aria-label="CSV of Callbacks"`, `href="` + list + `?sort=attempts"`} {
				if query == "" && strings.Contains(text, want) != first {
					t.Errorf("the page of %d callbacks has %s: %v", n, want, !first)
				}
			}
			if _, rows, _ := strings.Cut(text, "<caption>Callbacks"); query == "" && strings.Count(rows, "example.org") != min(n, shownOf) {
				t.Errorf("of %d callbacks the page has %d", n, strings.Count(rows, "example.org"))
			}
		}
		for query, to := range map[string]string{"?csv=callbacks": list + ".csv", "?sort.callbacks=-attempts": list + "?sort=-attempts", "?csv=callbacks&sort.callbacks=host": list + ".csv?sort=host"} {
			if w := visited(h, http.MethodGet, batch+query, nil); first && w.Header().Get("Location") != to || !first && w.Code != http.StatusOK {
				t.Errorf("%s of %d callbacks: %d, to %q", query, n, w.Code, w.Header().Get("Location"))
			}
		}
	}
}

// TestListsOfABatch: the lists of its callbacks and failed attempts are chosen by the address, and
// follow the batch.
func TestListsOfABatch(t *testing.T) {
	t.Parallel()
	const list = "batches/bid0000000001/"
	for query, want := range map[string][2]string{
		"callbacks?state=failed&job=jid0000000001&since=2026-11-01&cursor=x": {"callbacks?cursor=x&job=jid0000000001&since=2026-11-01T00%3A00%3A00Z&state=failed", "failed"},
		"retries?outcome=open&code=timeout&since=2026-11-01&cursor=x":        {"retries?code=timeout&cursor=x&outcome=open&since=2026-11-01T00%3A00%3A00Z", "open"},
	} {
		a := &told{answers: some("a name")}
		text := visited(opened(t, a, access.Operator), http.MethodGet, Path+list+query, nil).Body.String()
		if !slices.Contains(a.asked, "GET /v1/"+list+want[0]) {
			t.Errorf("asked %v", a.asked)
		}
		for _, want := range []string{`<option value="` + want[1] + `" selected>`, `data-follow="batch=bid0000000001"`, `rel="next"`, `href="/console/batches/bid0000000001"`} {
			if !strings.Contains(text, want) {
				t.Errorf("the page has no %s: %s", want, text)
			}
		}
	}
}

// TestActions: what would change is shown before anything is, and the form carries out just that:
// once, on the version that was shown, for the reason that is written.
func TestActions(t *testing.T) {
	t.Parallel()
	var sent []*http.Request
	a := &told{answers: some("a name")}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/jobs/jid0000000001") {
			w.Header().Set("ETag", `"3"`)
		}
		if r.Method == http.MethodPost {
			text, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(strings.NewReader(string(text)))
			sent = append(sent, r)
		}
		a.ServeHTTP(w, r)
	})
	mux := http.NewServeMux()
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}}}
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	body := func(r *http.Request) string {
		text, _ := io.ReadAll(r.Body)
		return string(text)
	}
	text := visited(mux, http.MethodGet, Path+"jobs/jid0000000001/do/requeue", nil).Body.String()
	if len(sent) != 1 || sent[0].URL.RequestURI() != "/v1/jobs/jid0000000001/requeue?dry_run=true" || !strings.Contains(text, "It would go from") || !strings.Contains(text, `name="match" value="&#34;3&#34;"`) {
		t.Fatalf("%v %s", sent, text)
	}
	_, key, _ := strings.Cut(text, `name="key" value="`)
	key, _, _ = strings.Cut(key, `"`)
	w := visited(mux, http.MethodPost, Path+"jobs/jid0000000001/do/requeue", url.Values{"key": {key}, "match": {`"3"`}, "reason": {" the server is back "}})
	if len(sent) != 2 || len(key) < 20 || sent[1].URL.RequestURI() != "/v1/jobs/jid0000000001/requeue?" || sent[1].Header.Get("Idempotency-Key") != key || sent[1].Header.Get("If-Match") != `"3"` || body(sent[1]) != `{"reason":"the server is back"}` || !strings.Contains(w.Body.String(), "Done.") {
		t.Errorf("%v %s", sent[len(sent)-1], w.Body)
	}
	a.answers["/v1/jobs/jid0000000001/requeue"] = problem.Of(app.Outdated, "it was changed since", "read it again")
	w = visited(mux, http.MethodPost, Path+"jobs/jid0000000001/do/requeue", url.Values{"key": {key}, "match": {`"3"`}, "reason": {"kept"}})
	if text := w.Body.String(); w.Code != http.StatusPreconditionFailed || !strings.Contains(text, "it was changed since") || !strings.Contains(text, `value="kept"`) || strings.Contains(text, key) || strings.Contains(text, "Done.") {
		t.Errorf("%d %s", w.Code, text)
	}
	if w := visited(mux, http.MethodGet, Path+"jobs/jid0000000001/do/explode", nil); w.Code != http.StatusNotFound {
		t.Errorf("an unknown verb: %d", w.Code)
	}
	sent = nil
	text = visited(mux, http.MethodGet, Path+"jobs/all?verb=requeue&state=failed&since=2026-11-01&cursor=x", nil).Body.String()
	const filter = `"filter":{"state":"failed","since":"2026-11-01T00:00:00Z"}`
	if len(sent) != 1 || sent[0].URL.RequestURI() != "/v1/bulk-actions?dry_run=true" || !strings.Contains(body(sent[0]), filter) || !strings.Contains(text, "200 jobs are chosen now") {
		t.Errorf("%v %s", sent, text)
	}
	a.answers["/v1/bulk-actions"] = map[string]any{"id": "b1"}
	w = visited(mux, http.MethodPost, Path+"jobs/all?verb=requeue&state=failed&since=2026-11-01", url.Values{"key": {"k"}, "reason": {"one reason"}})
	if len(sent) != 2 || w.Code != http.StatusSeeOther || w.Header().Get("Location") != Path+"bulk/b1" || sent[1].Header.Get("Idempotency-Key") != "k" || sent[1].URL.RawQuery != "" {
		t.Errorf("%d %v %v", w.Code, w.Header(), sent[len(sent)-1])
	} else if text := body(sent[1]); !strings.Contains(text, filter) || !strings.Contains(text, `"reason":"one reason"`) {
		t.Error(text)
	}
}

// TestMoment: a moment is in the address of a page, and what is shown as it was cannot be changed.
func TestMoment(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/jobs/jid0000000001"].(map[string]any)["at"] = map[string]any{"seq": 7, "stored": "2026-11-28T10:00:00Z"}
	h := opened(t, a, access.Operator)
	for at, want := range map[string]string{"7": "7", "2026-11-28": "2026-11-28T00%3A00%3A00Z", "2026-11-28 10:00": "2026-11-28T10%3A00%3A00Z", "2026-11-28T10:00:01": "2026-11-28T10%3A00%3A01Z", "2026-11-28T10:00:00+01:00": "2026-11-28T10%3A00%3A00%2B01%3A00", "yesterday": "yesterday"} {
		a.asked = nil
		text := visited(h, http.MethodGet, Path+"jobs/jid0000000001?at="+url.QueryEscape(at), nil).Body.String()
		if !slices.Contains(a.asked, "GET /v1/jobs/jid0000000001?at="+want) {
			t.Errorf("%s: asked %v", at, a.asked)
		}
		if !strings.Contains(text, "As it was at sequence 7") || strings.Contains(text, "/do/requeue") || strings.Contains(text, "data-follow") {
			t.Error(text)
		}
	}
}

// sentForm sends the form of a new deposit; "" is no file.
func sentForm(h http.Handler, fields map[string]string, file string) *httptest.ResponseRecorder {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		_ = form.WriteField(name, value)
	}
	if file != "" {
		part, _ := form.CreateFormFile("file", "letter.txt")
		_, _ = io.WriteString(part, file)
	}
	_ = form.Close()
	r := httptest.NewRequest(http.MethodPost, Path+"new", &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestDepositForm: the file of a form, or its URL, becomes a deposit under the key of the form; what
// is refused is said on the page of the form, with what was written.
func TestDepositForm(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	var got, key string
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			text, _ := io.ReadAll(r.Body)
			got, key = string(text), r.Header.Get("Idempotency-Key")
		}
		a.ServeHTTP(w, r)
	})
	a.answers["/v1/self"] = people.Self{Name: "ana", Rights: []people.Right{{Role: access.Depositor, All: true}}}
	a.answers["/v1/uploads"] = map[string]any{"id": "u7", "state": "waiting"}
	a.answers["/v1/submissions"] = map[string]any{"id": "bid0000000007"}
	mux := http.NewServeMux()
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	fields := map[string]string{"profile": "test", "title": "A letter", "key": "k1", "type": ""}
	w := sentForm(mux, fields, "a letter")
	if w.Header().Get("Location") != Path+"deposits/u7" || got != "a letter" || key != "k1" || !slices.Contains(a.asked, "POST /v1/uploads?name=letter.txt&profile=test&title=A+letter") {
		t.Errorf("%d %v %q %q %v", w.Code, w.Header(), got, key, a.asked)
	}
	fields["url"] = "https://files.example.org/letter.txt"
	w = sentForm(mux, fields, "")
	if w.Header().Get("Location") != Path+"batches/bid0000000007" || key != "k1" || !strings.Contains(got, `"url":"https://files.example.org/letter.txt"`) || !strings.Contains(got, `"profile":"test"`) {
		t.Errorf("%d %v %q %q", w.Code, w.Header(), got, key)
	}
	got = ""
	if w := sentForm(mux, fields, "a letter"); w.Code != http.StatusBadRequest || got != "" || !strings.Contains(w.Body.String(), "there are a file and a URL") {
		t.Errorf("%d %q %s", w.Code, got, w.Body)
	}
	delete(fields, "url")
	if w := sentForm(mux, fields, ""); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "neither a file nor a URL") || !strings.Contains(w.Body.String(), `value="A letter"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	a.answers["/v1/uploads"] = problem.Of(app.Full, "there are too many deposits that wait", "try again later")
	if w := sentForm(mux, fields, "a letter"); w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too many deposits") || !strings.Contains(w.Body.String(), `value="A letter"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestPieces: a file in pieces goes to the uploads of the API, without the cookie, and where that
// leads is a page.
func TestPieces(t *testing.T) {
	t.Parallel()
	var got *http.Request
	to := ""
	c := &Console{API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusCreated)
	})}
	for _, one := range []struct{ method, path, on, location, shown string }{
		{"POST", "/console/uploads", "/v1/resumable-uploads", "/v1/resumable-uploads/u1", "/console/uploads/u1"},
		{"PATCH", "/console/uploads/u1", "/v1/resumable-uploads/u1", "/v1/uploads/u1", "/console/deposits/u1"},
		{"HEAD", "/console/uploads/u1", "/v1/resumable-uploads/u1", "", ""},
	} {
		to = one.location
		r, w := httptest.NewRequest(one.method, one.path, strings.NewReader("piece")), httptest.NewRecorder()
		r.Header.Set("Upload-Offset", "7")
		r.AddCookie(&http.Cookie{Name: Cookie, Value: "ses_abc"})
		c.pieces(w, r)
		if got.URL.Path != one.on || got.Method != one.method || got.Header.Get("Upload-Offset") != "7" || got.Header.Get("Cookie") != "" || w.Header().Get("Location") != one.shown || w.Code != http.StatusCreated {
			t.Errorf("%s %s: %s %v, %v", one.method, one.path, got.URL.Path, got.Header, w.Header())
		}
	}
}

// TestReportsOfPages: a report is sent as the API makes it, without script; one that cannot be made
// is a page that says so.
func TestReportsOfPages(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/reports/failures"] = "<style>p { color: red }</style><script>alert(1)</script>"
	h := opened(t, a, access.Reader)
	w := visited(h, http.MethodGet, Path+"reports/failures?since=2026-11-01", nil)
	if policy := w.Header().Get("Content-Security-Policy"); w.Code != http.StatusOK || policy != reportPolicy || strings.Contains(policy, "script-src") || !slices.Contains(a.asked, "GET /v1/reports/failures?format=html&since=2026-11-01T00%3A00%3A00Z") {
		t.Errorf("%d %v %v", w.Code, w.Header(), a.asked)
	}
	w = visited(h, http.MethodGet, Path+"reports/nothing", nil)
	if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), "<h1><bdi>Not Found") || !strings.Contains(w.Body.String(), "look for another one") || w.Header().Get("Content-Security-Policy") != Policy {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if text := visited(h, http.MethodGet, Path+"reports?batch=bid0000000001", nil).Body.String(); !strings.Contains(text, "/console/reports/batch?batch=bid0000000001&amp;format=html") || strings.Contains(text, "reports/failures") {
		t.Error(text)
	}
}

// TestFailuresByReason: failed jobs are groups, of which each leads to the list and the preview of
// just these: where no condition tells them from others, to none. The largest are on the overview.
func TestFailuresByReason(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	h := opened(t, a, access.Operator)
	groups := a.answers["/v1/failures"].(map[string]any)
	groups["total"] = 2
	text := strings.ReplaceAll(visited(h, http.MethodGet, Path+"failures?batch=bid0000000001&since=2026-11-01&sort=jobs", nil).Body.String(), "&#43;", "+")
	if !slices.Contains(a.asked, "GET /v1/failures?batch=bid0000000001&limit=1000&since=2026-11-01T00%3A00%3A00Z") {
		t.Errorf("asked %v", a.asked)
	}
	const of = "batch=bid0000000001&amp;code=timeout&amp;collection=a+name&amp;host=a+name&amp;profile=a+name&amp;since=2026-11-01T00%3A00%3A00Z&amp;state=failed"
	for _, want := range []string{`href="/console/jobs?` + of + `"><bdi>20</bdi>`, `href="/console/jobs/all?` + of + `&amp;verb=requeue"`, `aria-sort="ascending"`, `href="/console/failures.csv?batch=bid0000000001&amp;since=`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "verb=requeue"); n != 1 {
		t.Errorf("%d groups can be requeued", n)
	}
	if up, last := strings.Index(text, "<bdi>3</bdi>"), strings.Index(text, "<bdi>20</bdi>"); up < 0 || up > last {
		t.Error("it is not sorted by the number of jobs")
	}
	groups["total"] = 7
	text = visited(h, http.MethodGet, Path, nil).Body.String()
	for _, want := range []string{"20 × timeout at a name: a name (for operators)", "3 × timeout: a name", "5 more reasons"} {
		if !strings.Contains(text, want) {
			t.Errorf("the overview has no %q", want)
		}
	}
	a.answers["/v1/self"] = people.Self{Name: "rita", Rights: []people.Right{{Role: access.Reader, All: true}}}
	if text := visited(h, http.MethodGet, Path+"failures", nil).Body.String(); strings.Contains(text, "verb=requeue") {
		t.Error("a reader is shown an action")
	}
	groups["total"] = 2
	lines := strings.Split(visited(h, http.MethodGet, Path+"failures.csv", nil).Body.String(), "\n")
	if lines[0] != "jobs,code,host,collection,profile,first_failed_at,last_failed_at,example" || !strings.HasPrefix(lines[1], "20,timeout: a name,a name,a name,a name,") {
		t.Errorf("%q", lines)
	}
}

// TestThings: each thing of the lists that are not about deposits has a page, with the commands for
// who may give them, and its files are kept by a browser and not shown.
func TestThings(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/objects/ark:/1/x/versions/2/files/a name"] = "<script>alert(1)</script>"
	a.answers["/v1/queries/qid0000000001/report"] = "the answers"
	h := opened(t, a, access.Operator)
	for path, wants := range map[string][]string{
		"compute/eid0000000001": {"a name\nand more", `/console/compute/eid0000000001/do/retry`, `/console/jobs/jid0000000001`, `/console/compute/eid0000000001/outputs/a%20name`, `/console/datasets/a%20name`},
		"slots/s1":              {"1 ready, 2 waiting", "/console/slots/s1/do/close", "/console/files?dataset=a+name&amp;group=a+name"},
		"directories/d1":        {"polled", "/console/directories/d1/do/pause", "/console/datasets/d1", "Groups that wait"},
		"datasets/d1":           {"/console/reports/reconciliation?dataset=d1", "Open directories", "/console/compute?dataset=d1"},
		"queries/qid0000000001": {"7 found, 2 not found", "/console/queries/qid0000000001/report?format=csv", "/do/send-report"},
		"workers":               {"/console/compute/eid0000000001"}, "deposits/u1": {"/console/deposits/u1/do/retry", "/console/deposits/u1/do/rm"}, "deposits": {"/console/deposits/a%20name"}, "poison": {"4711"},
		"withdrawals":                     {"/console/objects/ark:%2F1%2Fx/do/approve", "/console/objects/ark:%2F1%2Fx/do/reject"},
		"people/ana":                      {"API keys", "/console/audit?user=ana"},
		"objects/ark:%2F1%2Fx":            {"/console/objects/ark:%2F1%2Fx/versions/2", "/console/jobs/jid0000000001", "/console/objects/ark:%2F1%2Fx/do/withdraw"},
		"objects/ark:%2F1%2Fx/versions/2": {"/console/objects/ark:%2F1%2Fx/versions/2/files/a%20name?kind=producer", "/console/objects/ark:%2F1%2Fx/versions/2?cursor=bmV4dA", "/versions/2/manifest"},
	} {
		text := strings.ReplaceAll(visited(h, http.MethodGet, Path+path, nil).Body.String(), "&#43;", "+")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s has no %s:\n%s", path, want, text)
			}
		}
	}
	for path, want := range map[string]string{"objects/ark:%2F1%2Fx/versions/2/files/a%20name?kind=producer": "GET /v1/objects/ark:%2F1%2Fx/versions/2/files/a%20name?kind=producer", "queries/qid0000000001/report?format=csv": "GET /v1/queries/qid0000000001/report?format=csv"} {
		w := visited(h, http.MethodGet, Path+path, nil)
		if policy := w.Header().Get("Content-Security-Policy"); w.Code != http.StatusOK || policy != reportPolicy || a.asked[len(a.asked)-1] != want {
			t.Errorf("%s: %d %s %v", path, w.Code, policy, a.asked[len(a.asked)-1])
		}
	}
	a.answers["/v1/self"] = people.Self{Name: "rita", Rights: []people.Right{{Role: access.Operator, Collections: []string{"other"}}}}
	for _, path := range []string{"compute/eid0000000001", "slots/s1", "directories/d1", "queries/qid0000000001"} {
		if text := visited(h, http.MethodGet, Path+path, nil).Body.String(); path != "slots/s1" && strings.Contains(text, "/do/") {
			t.Errorf("%s has commands for an operator of another collection", path)
		}
	}
}

// TestPriority: a priority is asked for before anything is previewed, and sent as it was previewed,
// for one job and for all that are chosen.
func TestPriority(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	a.answers["/v1/jobs/jid0000000001/priority"] = map[string]any{"id": "jid0000000001", "from": "pending", "status": "pending", "effects": []string{"its priority changes from 50 to 7"}}
	var bodies []string
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			text, _ := io.ReadAll(r.Body)
			bodies = append(bodies, r.URL.RequestURI()+" "+string(text))
		}
		a.ServeHTTP(w, r)
	})
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}}}
	mux := http.NewServeMux()
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	text := visited(mux, http.MethodGet, Path+"jobs/jid0000000001/do/priority", nil).Body.String()
	text += visited(mux, http.MethodGet, Path+"jobs/all?verb=priority&state=pending&batch=bid0000000001", nil).Body.String()
	if len(bodies) != 0 || strings.Count(text, `id="to" name="to" type="number"`) != 2 || strings.Contains(text, `id="reason"`) || !strings.Contains(text, `name="state" value="pending"`) || !strings.Contains(text, `name="verb" value="priority"`) {
		t.Fatalf("%v %s", bodies, text)
	}
	text = visited(mux, http.MethodGet, Path+"jobs/jid0000000001/do/priority?to=7", nil).Body.String()
	if len(bodies) != 1 || bodies[0] != `/v1/jobs/jid0000000001/priority?dry_run=true&to=7 {"reason":"preview"}` || !strings.Contains(text, "from 50 to 7") || !strings.Contains(text, `name="to" value="7"`) {
		t.Fatalf("%v %s", bodies, text)
	}
	w := visited(mux, http.MethodPost, Path+"jobs/jid0000000001/do/priority", url.Values{"to": {"7"}, "reason": {"urgent"}, "key": {"k"}})
	if w.Code != http.StatusOK || bodies[1] != `/v1/jobs/jid0000000001/priority?to=7 {"reason":"urgent"}` {
		t.Errorf("%d %v", w.Code, bodies)
	}
	visited(mux, http.MethodGet, Path+"jobs/all?verb=priority&state=pending&to=7", nil)
	if last := bodies[len(bodies)-1]; !strings.Contains(last, `"verb":"priority","filter":{"state":"pending"},"priority":7`) {
		t.Error(last)
	}
	a.answers["/v1/bulk-actions"] = map[string]any{"id": "b1"}
	w = visited(mux, http.MethodPost, Path+"jobs/all?verb=priority&state=pending&to=7", url.Values{"reason": {"urgent"}, "key": {"k"}})
	if last := bodies[len(bodies)-1]; w.Code != http.StatusSeeOther || !strings.Contains(last, `"priority":7,"reason":"urgent"`) {
		t.Errorf("%d %s", w.Code, last)
	}
	if w := visited(mux, http.MethodGet, Path+"jobs/all?verb=priority&state=pending&to=x", nil); w.Code != http.StatusBadRequest {
		t.Errorf("a priority that is no number: %d", w.Code)
	}
}

// TestOverviewOfAMoment: the overview as it was is counted from the history, and changes nothing.
func TestOverviewOfAMoment(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	h := opened(t, a, access.Operator)
	text := visited(h, http.MethodGet, Path+"?at=2026-11-28+10:00", nil).Body.String()
	for _, want := range []string{"As it was at sequence 7", "4 in progress, 3 failed", "The parts are all 7 jobs", "live state, of which no history is kept", "Unresolved then", `<a href="?">Back to now`} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if !slices.Contains(a.asked, "GET /v1/reports/collections?at=2026-11-28T10%3A00%3A00Z&format=json") || slices.ContainsFunc(a.asked, func(s string) bool { return strings.Contains(s, "/status") }) {
		t.Errorf("asked %v", a.asked)
	}
	if strings.Contains(text, "data-follow") {
		t.Error("what is past follows the events")
	}
	for _, right := range []people.Right{{Role: access.Operator, All: true}, {Role: access.Operator, Collections: []string{"test"}}, {Role: access.Depositor, All: true}} {
		a.answers["/v1/self"] = people.Self{Name: "ana", Rights: []people.Right{right}}
		if text := visited(h, http.MethodGet, Path, nil).Body.String(); !strings.Contains(text, `id="at"`) {
			t.Errorf("the overview for %+v has no way to a moment", right)
		}
	}
}

// stream sends events as the API does, which cuts off the connection of a client that takes no more.
func stream(w http.ResponseWriter, r *http.Request, n int, sent *int) {
	for i := 1; i <= n && r.Context().Err() == nil; i++ {
		*sent = i
		e := event.Of(domain.Recorded{Event: domain.Event{Type: domain.EventJobHeld, Aggregate: domain.NewJobID(1).Aggregate(), Version: int64(i), Data: &domain.JobMoved{JobMove: domain.JobMove{From: domain.JobPending, To: domain.JobHeld}}}, Seq: uint64(i), Actor: "user/olga"})
		text, _ := json.Marshal(e)
		if _, err := fmt.Fprintf(w, "id: %d\ndata: %s\n\n", i, text); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// TestEventsFile: all events that are chosen, in the order of the log, event by event as they are read;
// a stream that does not come to its end is a file that is cut off.
func TestEventsFile(t *testing.T) {
	t.Parallel()
	end, asked, sent := "", "", 0
	c := &Console{API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RequestURI()
		if r.URL.Query().Get("type") == "none" {
			p := problem.Of(app.Invalid, "there is no such type", "look for another one")
			w.WriteHeader(p.Status)
			_ = json.NewEncoder(w).Encode(p)
			return
		}
		_, _ = io.WriteString(w, "retry: 2000\n: at 0\n\n")
		stream(w, r, 3000, &sent)
		_, _ = io.WriteString(w, end)
	}), Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	read := func(query string) (w *httptest.ResponseRecorder, cut bool) {
		defer func() { cut = recover() != nil }()
		w = httptest.NewRecorder()
		c.download(eventsFile).ServeHTTP(w, httptest.NewRequest(http.MethodGet, Path+"events.csv?"+query, http.NoBody))
		return w, false
	}
	if _, cut := read("kind=job"); !cut {
		t.Error("a file that lacks its end is not cut off")
	}
	end = ": end\n\n"
	w, cut := read("kind=job&since=2026-11-01&after=50&limit=7")
	lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
	if asked != "/v1/events?after=0&kind=job&since=2026-11-01T00%3A00%3A00Z&to="+endOfLog || cut || len(lines) != 3001 || lines[0] != "seq,stored,type,subject,from,to,actor,reason" ||
		!strings.HasPrefix(lines[1], "1,") || !strings.HasSuffix(lines[3000], ",job held,job/jid0000000001,pending,held,user/olga,") || !strings.HasPrefix(lines[3000], "3000,") {
		t.Errorf("asked %s, %d lines: %q", asked, len(lines), lines[:2])
	}
	if w, _ := read("type=none"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "there is no such type") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestEventsPage: the newest events come first and the page follows those that come; from a day on
// they are in the order of the log, page by page, of which no more is read than is shown.
func TestEventsPage(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	sent := 0
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/events" {
			a.ServeHTTP(w, r)
			return
		}
		a.asked = append(a.asked, r.URL.RequestURI())
		stream(w, r, 100_000, &sent)
	})
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}}}
	mux := http.NewServeMux()
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	text := visited(mux, http.MethodGet, Path+"events?kind=job&collection=test", nil).Body.String()
	if got := a.asked[len(a.asked)-1]; got != "/v1/events?collection=test&kind=job&newest=1000&to="+endOfLog {
		t.Errorf("asked %s", got)
	}
	if first, last := strings.Index(text, "<bdi>1000</bdi>"), strings.Index(text, "<bdi>901</bdi>"); first < 0 || last < first || strings.Contains(text, "<bdi>900</bdi>") {
		t.Error("the newest hundred are not there, newest first")
	}
	for _, want := range []string{`data-follow="collection=test&amp;kind=job"`, `id="pause"`, `href="/console/jobs/jid0000000001"`, `href="/console/events.csv?collection=test&amp;kind=job"`, "user/olga", `<option value="job" selected>`} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %s", want)
		}
	}
	text = visited(mux, http.MethodGet, Path+"events?since=2026-11-01", nil).Body.String()
	if got := a.asked[len(a.asked)-1]; got != "/v1/events?after=0&since=2026-11-01T00%3A00%3A00Z&to="+endOfLog || sent > 200 {
		t.Errorf("asked %s, %d events were read", got, sent)
	}
	if strings.Contains(text, "data-follow") || !strings.Contains(text, "/console/events?after=100&amp;since=2026-11-01") || strings.Index(text, "<bdi>1</bdi>") > strings.Index(text, "<bdi>100</bdi>") || strings.Contains(text, "<bdi>101</bdi>") {
		t.Error(text)
	}
	text = visited(mux, http.MethodGet, Path+"events?job=jid0000000001", nil).Body.String()
	if got := a.asked[len(a.asked)-1]; got != "/v1/events?after=0&job=jid0000000001&to="+endOfLog || !strings.Contains(text, `data-follow="job=jid0000000001"`) {
		t.Errorf("asked %s", got)
	}
}

// TestLifeThatIsCutOff: a page is whole although the stream of events that it shows is cut off.
func TestLifeThatIsCutOff(t *testing.T) {
	t.Parallel()
	a := &told{answers: some("a name")}
	api := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/events" {
			panic(http.ErrAbortHandler)
		}
		a.ServeHTTP(w, r)
	})
	a.answers["/v1/self"] = people.Self{Name: "olga", Rights: []people.Right{{Role: access.Operator, All: true}}}
	mux := http.NewServeMux()
	c := &Console{API: api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), RequestID: func(*http.Request) string { return "id" }}
	for _, r := range c.Routes() {
		mux.Handle(r.Pattern, r.Handler)
	}
	if w := visited(mux, http.MethodGet, Path+"batches/bid0000000001", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "The log could not be read") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := visited(mux, http.MethodGet, Path+"events", nil); w.Code != http.StatusInternalServerError {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
