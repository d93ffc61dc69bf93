package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/domain/access"
)

// auditor knows the users whose names are their keys, and keeps what is audited.
type auditor struct {
	rights []access.Right
	mu     sync.Mutex
	notes  []string
}

func (a *auditor) Authenticate(ctx context.Context, c people.Credential, from string) (access.Caller, string, error) {
	if c.Token != "ana" && c.Token != "ben" {
		return oneKey{}.Authenticate(ctx, c, from)
	}
	return access.Caller{Name: c.Token, Rights: a.rights}, "key", nil
}

func (a *auditor) Note(_ context.Context, by people.By, action, subject, outcome, detail, why string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notes = append(a.notes, strings.Join([]string{by.Name, action, subject, outcome, detail, why}, "|"))
	return nil
}

// taken returns what was audited since it was last called.
func (a *auditor) taken() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all, a.notes = a.notes, nil
	return all
}

// TestRefusalsAreAudited: so is every request of a known caller that is refused, wherever
// that is found out, and every change that fails; not what an unknown caller has asked for, and no
// reading that fails.
func TestRefusalsAreAudited(t *testing.T) {
	t.Parallel()
	everywhere := []access.Right{{Role: access.Admin, Scope: access.Everywhere}}
	for _, c := range []struct {
		method, path, auth, body string
		rights                   []access.Right
		status                   int
		note                     string
	}{
		{"GET", "/v1/batches/nine", "ana", "", nil, 400, "ana|batch.show||refused|invalid|"},
		{"GET", "/v1/batches?limit=0", "ana", "", nil, 400, "ana|batch.ls||refused|invalid|"},
		{"GET", "/v1/batches?state=%zz", "ana", "", nil, 400, "ana|batch.ls||refused|invalid|"},
		{"GET", "/v1/status", "ben", "", nil, 403, "ben|status.show|installation|refused|forbidden|"},
		{"POST", "/v1/submissions", "ana", "{", nil, 400, "ana|submission.create||refused|invalid|"},
		{"POST", "/v1/submissions", "ana", strings.Repeat(" ", maxBody+1) + "{}", nil, 413, "ana|submission.create||refused|invalid|"},
		{"POST", "/v1/jobs/jid0000000001/hold", "ana", `{"reason":7}`, nil, 400, "ana|job.hold||refused|invalid|"},
		{"POST", "/v1/queues/ma%0aps/pause", "ana", `{"reason":"x"}`, nil, 400, "ana|queue.pause||refused|invalid|"},
		{"POST", "/v1/resumable-uploads", "ana", "", nil, 412, "ana|resumable.begin||refused|invalid|"},
		{"POST", "/v1/queues/maps/pause", "ana", `{"reason":"too many"}`, nil, 403, "ana|queue.pause|queue/maps|refused|forbidden|too many"},
		{"POST", "/v1/queues/maps/pause?dry_run=true", "ana", `{"reason":"too many"}`, nil, 403, "ana|queue.pause|queue/maps|refused|forbidden|too many"},
		{"POST", "/v1/queues/maps/pause", "ana", `{"reason":"too many"}`, everywhere, 500, "ana|queue.pause||failed|failed|"}, // there are no servers
		{"GET", "/v1/queues", "ana", "", everywhere, 500, ""},
		{"GET", "/v1/nothing", "ana", "", nil, 404, ""}, // who calls is not asked
		{"PUT", "/v1/batches", "ana", "", nil, 405, ""},
		{"GET", "/v1/batches", "eve", "", nil, 401, ""},
		{"POST", "/v1/queues/maps/pause", "", "{}", nil, 401, ""},
		{"GET", "/v1/openapi.json", "ana", "", nil, 200, ""},
	} {
		a := &auditor{rights: c.rights}
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set("Authorization", "Bearer "+c.auth)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		(&Server{People: a, Version: "test", Log: slog.New(slog.DiscardHandler)}).Handler().ServeHTTP(w, r)
		var want []string
		if c.note != "" {
			want = []string{c.note}
		}
		if got := a.taken(); w.Code != c.status || !slices.Equal(got, want) {
			t.Errorf("%s %s: %d %s\naudited %q, want %q", c.method, c.path, w.Code, w.Body, got, want)
		}
	}
}

// TestRefusalsOfOneCallerAreBounded: those beyond are counted, and others are not counted with
// them.
func TestRefusalsOfOneCallerAreBounded(t *testing.T) {
	t.Parallel()
	a := &auditor{}
	s := &Server{People: a, Version: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	h := s.Handler()
	refused := func(who string, times int) (notes []string) {
		for range times {
			r := httptest.NewRequest(http.MethodGet, "/v1/status", http.NoBody)
			r.Header.Set("Authorization", "Bearer "+who)
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		return a.taken()
	}
	if n := len(refused("ana", refusalsNoted+5)); n != refusalsNoted {
		t.Errorf("%d of ana's refusals were audited", n)
	}
	if n := len(refused("ben", 1)); n != 1 {
		t.Errorf("%d of ben's", n)
	}
	s.refusals.end()
	if got := a.taken(); len(got) != 1 || !strings.HasPrefix(got[0], fmt.Sprintf("ana|request.refused||refused|%d more within a minute from ", 5)) {
		t.Errorf("of the others: %q", got)
	}
	if n := len(refused("ana", 1)); n != 1 {
		t.Errorf("%d of ana's afterwards", n)
	}
	s.refusals.end()
	if got := a.taken(); got != nil {
		t.Errorf("of none: %q", got)
	}
}
