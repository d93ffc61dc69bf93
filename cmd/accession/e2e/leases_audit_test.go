package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// TestLeasesAreAudited: the audit says who has taken which work over HTTP, how it was ended,
// and what was refused; it has no entry of a claim that found no work, none of a heartbeat,
// and no secret of a token.
func TestLeasesAreAudited(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	olga := in.keyOf("olga", "operator", "--all")
	d := in.doorOf(in.serveInProcess(run.RoleHTTP))
	audited := func(want ...string) {
		t.Helper()
		var got string
		in.must(in.db.QueryRow(in.ctx(), `select coalesce(string_agg(concat_ws(' ', action, subject, outcome, nullif(detail, '')), E'\n' order by id), '')
			from record.audit_entry where caller = 'olga' and via like 'key %' and action like 'compute.%'`).Scan(&got))
		if want := strings.Join(want, "\n"); got != want {
			t.Errorf("the audit has\n%s\nwant\n%s", got, want)
		}
	}
	var tokens []leases.Work
	take := func() (w leases.Work) {
		t.Helper()
		in.says(0, []string{"compute", "submit", "--dataset", "tides", "--input", "https://data.example.org/a.nc", "--key", fmt.Sprint(len(tokens))})
		d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","wait":20,"lease":600}`).into(d, &w)
		if w.Token == "" {
			t.Fatalf("%+v", w)
		}
		tokens = append(tokens, w)
		return w
	}
	send := func(w leases.Work, status int, verb, body string) {
		t.Helper()
		if a := d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/"+verb, body); a.status != status {
			t.Errorf("%s: %d %s, want %d", verb, a.status, a.body, status)
		}
	}

	d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7"}`).into(d, new(leases.Work))
	audited()
	first := take()
	for range 3 {
		send(first, http.StatusOK, "heartbeat", "")
	}
	send(first, http.StatusOK, "complete", `{"result":{"bytes":25}}`)
	send(first, http.StatusConflict, "heartbeat", "")
	second := take()
	send(second, http.StatusOK, "fail", `{"class":"content","message":"no header","never":true}`)
	send(leases.Work{Token: "none"}, http.StatusBadRequest, "complete", `{"result":1}`)
	one, two := "entry/"+first.Entry, "entry/"+second.Entry
	audited("compute.claim "+one+" done", "compute.complete "+one+" done", "compute.heartbeat "+one+" refused refused",
		"compute.claim "+two+" done", "compute.fail "+two+" done", "compute.complete installation refused invalid")

	text := in.says(0, []string{"audit", "ls", "--limit", "100", "-o", "json"}, `"subject": "`+one+`"`)
	for _, w := range tokens {
		if _, secret, _ := strings.Cut(w.Token, "."); secret == "" || strings.Contains(text, secret) {
			t.Errorf("the audit has the secret of %s", w.Entry)
		}
	}
}
