package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestTokensOfWorkersAreSeenNowhere: the token by which a worker shows that a lease is its own, and
// the ticket in the address of an input, are in the answer that the worker gets, and nowhere else:
// not when they are right, wrong, of no use any more, or sent where they do not belong.
// Shows: P14 P15
func TestTokensOfWorkersAreSeenNowhere(t *testing.T) {
	t.Parallel()
	p := newProcessed(t, "log_level=debug", "listen_ops=127.0.0.1:0")
	in := p.installation
	olga := in.keyOf("olga", "operator", "--all")
	s := in.serveInProcess(append(run.AllRoles, run.RoleHTTP)...)
	d := in.doorOf(s)
	good := goodServer(t)
	first := in.submit(app.Deposit{Payload: good + "/batch.checkm", Type: domain.TypeBatchManifest})
	in.rest(first)
	o := &outsiders{installation: in, d: d, olga: olga}
	var secrets []string
	var told []any // what may say nothing of them
	ask := func(status int, method, path, body string, headers ...string) {
		t.Helper()
		a := d.ask(olga, method, path, body, headers...)
		if told = append(told, a.body, fmt.Sprint(a.header)); a.status != status {
			t.Errorf("%d %s, want %d", a.status, a.body, status)
		}
	}
	// taken notes the secrets of what a worker has taken.
	taken := func(w leases.Work) leases.Work {
		t.Helper()
		_, secret, ok := strings.Cut(w.Token, ".")
		if !ok || len(secret) < 20 {
			t.Fatalf("no token: %+v", w)
		}
		secrets = append(secrets, secret)
		for _, input := range w.Inputs {
			if at, ok := strings.CutPrefix(input.URL, leases.InputsPath); ok {
				_, ticket, _ := strings.Cut(at, ".")
				secrets = append(secrets, ticket)
			}
		}
		return w
	}
	// goes through the life of a lease, whose calls begin with this path.
	goes := func(base string, w leases.Work, complete string) {
		t.Helper()
		at := base + "/claims/" + w.Token
		misplaced := strings.Replace(at, w.Entry+".", "eid0000009999.", 1)
		ask(http.StatusOK, "POST", at+"/heartbeat", `{"progress":"half"}`)
		ask(http.StatusConflict, "POST", at+"x/heartbeat", `{}`)
		ask(http.StatusConflict, "POST", misplaced+"/heartbeat", `{}`)
		ask(http.StatusBadRequest, "POST", base+"/claims/"+strings.ReplaceAll(w.Token, ".", "-")+"/heartbeat", `{}`)
		ask(http.StatusNotFound, "POST", at+"/nothing", `{}`)
		ask(http.StatusMethodNotAllowed, "DELETE", at+"/heartbeat", "")
		ask(http.StatusBadRequest, "POST", at+"/heartbeat", `{"progress":7}`)
		ask(http.StatusOK, "PUT", at+"/outputs/a.log", "a\n", "Content-Type: application/octet-stream")
		ask(http.StatusOK, "POST", at+"/complete", complete)
		ask(http.StatusConflict, "POST", at+"/fail", `{"class":"content","message":"late"}`)
		ask(http.StatusConflict, "PUT", at+"/outputs/b.log", "b\n", "Content-Type: application/octet-stream")
	}

	p.polled()
	var w leases.Work
	waitFor(t, "work", func() bool {
		d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"node7","datasets":["nights"],"wait":60,"lease":600}`).into(d, &w)
		return w.Token != ""
	})
	taken(w)
	if len(secrets) != 2 {
		t.Fatalf("no input has a ticket: %+v", w)
	}
	input := w.Inputs[0].URL
	if a := d.send("", "GET", input, http.NoBody); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	ask(http.StatusOK, "GET", "/v1/compute/claims/"+w.Token+"/input", "")
	ask(http.StatusConflict, "GET", input+"0", "")
	ask(http.StatusConflict, "GET", leases.InputsPath+w.Token, "")
	goes("/v1/compute", w, `{"result":{"bytes":25}}`)
	ask(http.StatusConflict, "GET", input, "")

	id := in.depositFor("tasks", "ana", good+"/a.txt", domain.TypeFile)
	waitFor(t, "a job to wait for a worker", func() bool { w = o.claim("pending", 60, 600); return w.Token != "" })
	goes("/v1/tasks/pending", taken(w), `{"result":{}}`)

	// A token as what it is not.
	told = append(told, in.says(2, words("compute show "+w.Token)), in.says(2, words("job show "+w.Token)))
	for _, header := range []string{"X-Token: " + w.Token, "Referer: https://example.org/" + w.Token, "User-Agent: " + w.Token} {
		ask(http.StatusOK, "GET", "/v1/self", "", header)
	}
	ask(http.StatusBadRequest, "GET", "/v1/compute/entries?token="+w.Token, "")
	a := d.ask(w.Token, "GET", "/v1/self", "")
	if told = append(told, a.body); a.status != http.StatusUnauthorized {
		t.Errorf("%d %s", a.status, a.body)
	}

	in.shown()
	places := in.places(s, []domain.BatchID{first, id})
	s.stop()
	if !strings.Contains(s.log.String(), "/heartbeat") {
		t.Error("the log has no requests")
	}
	in.unseenAnywhere(secrets, s.log.String(), told, append(places, in.pgDump()), func(string, string, string) bool { return false })
}
