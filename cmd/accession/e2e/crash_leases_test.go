package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/eventstore"
)

// TestEndedAlthoughKilled: the process that is told the end of work dies, before or after it
// has written it; another one answers the same end as the first time, and refuses any other.
func TestEndedAlthoughKilled(t *testing.T) {
	t.Parallel()
	o := newCrashInstallation(t, nil)
	key := o.keyOf("olga", "operator", "--all")
	handler, err := o.wired.Handler(o.ctx())
	o.must(err)
	at := port(t)
	tell := func(to, token, verb, body string) (status int, said string) {
		r, err := http.NewRequestWithContext(o.ctx(), http.MethodPost, "http://"+to+"/v1/compute/claims/"+token+"/"+verb, strings.NewReader(body))
		o.must(err)
		r.Header.Set("Authorization", "Bearer "+key)
		r.Header.Set("Content-Type", "application/json")
		a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		if err != nil {
			return 0, err.Error()
		}
		defer a.Body.Close()
		data, _ := io.ReadAll(a.Body)
		return a.StatusCode, string(data)
	}
	type end struct{ point, verb, body, other, status string }
	const done, other, failed = `{"result":{"bytes":25}}`, `{"result":{"bytes":26}}`, `{"class":"content","message":"no header"}`
	ends := []end{
		{"record/compute-result/keep/before", "complete", done, other, "SUCCESSFUL"},
		{"record/compute-result/keep/after", "complete", done, other, "SUCCESSFUL"},
		{"zklive/deliver/multi/after", "complete", done, other, "SUCCESSFUL"},
		{"zklive/deliver/multi/after", "fail", failed, `{"class":"content","message":"no end"}`, "PENDING"},
	}
	tokens := make([]string, len(ends))
	for i, e := range ends {
		dataset, secret := "killed"+string(rune('a'+i)), "secret"
		o.run("compute", "submit", "--dataset", dataset, "--input", "https://data.example.org/a.nc")
		sum := sha256.Sum256([]byte(secret))
		taken, err := handler.LeaseEntry(o.ctx(), compute.Wants{Datasets: []string{dataset}}, eventstore.Lease{Worker: "them", SHA256: hex.EncodeToString(sum[:]), Timeout: time.Hour}, eventstore.Meta{Actor: "user/olga"})
		o.must(err)
		tokens[i] = string(taken.State.ID) + "." + secret
		at := port(t)
		o.dies(e.point, func(_ *os.Process, dead <-chan struct{}) {
			listens(at, dead)
			if status, said := tell(at, tokens[i], e.verb, e.body); status != 0 {
				t.Errorf("%s: it was answered: %d %s", e.point, status, said)
			}
		}, "serve", "--roles", "http", "--set", "listen_http="+at)
	}
	s, web := o.serve(), o.serve("--roles", "http", "--set", "listen_http="+at)
	listens(at, nil)
	for i, e := range ends {
		for range 2 {
			if status, said := tell(at, tokens[i], e.verb, e.body); status != http.StatusOK || !strings.Contains(said, e.status) {
				t.Errorf("%s: the same again: %d %s", e.point, status, said)
			}
		}
		if status, said := tell(at, tokens[i], e.verb, e.other); status != http.StatusConflict {
			t.Errorf("%s: another end: %d %s", e.point, status, said)
		}
	}
	o.still()
	web.stop()
	s.stop()
	if n := o.count("select count(*) from accession.event where type = 'entry.completed'"); n != 3 {
		t.Errorf("%d completions of 3", n)
	}
	o.verifies()
}
