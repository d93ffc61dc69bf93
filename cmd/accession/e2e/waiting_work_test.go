package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain/entry"
)

// TestWaitsForWork: a worker over HTTP that has asked for work while there was none gets what is
// requested meanwhile through another process, although the process that it asks hears of no
// event.
// Shows: P1
func TestWaitsForWork(t *testing.T) {
	t.Parallel()
	const requests = 5
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	olga := in.keyOf("olga", "operator", "--all")
	d := in.doorOf(in.serveInProcess(run.RoleHTTP))
	other := in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector))
	// claims asks for work, and says when the request is on its way.
	claims := func(wait int) (<-chan struct{}, <-chan leases.Work) {
		sent, got := make(chan struct{}), make(chan leases.Work, 1)
		ctx := httptrace.WithClientTrace(in.ctx(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(sent) }})
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.url+"/v1/compute/claims", strings.NewReader(fmt.Sprintf(`{"worker":"node7","wait":%d,"lease":3600}`, wait)))
		in.must(err)
		r.Header.Set("Content-Type", "application/json")
		go func() {
			var w leases.Work
			if a := d.do(r, olga); a.status != http.StatusOK || json.Unmarshal([]byte(a.body), &w) != nil {
				t.Errorf("a claim is answered with %d %s", a.status, a.body)
			}
			got <- w
		}()
		return sent, got
	}
	if _, got := claims(0); (<-got).Token != "" {
		t.Fatal("there is work already")
	}
	waited, longest := 0, time.Duration(0)
	for n := range requests {
		sent, got := claims(60)
		<-sent
		other.ask(olga, "POST", "/v1/compute/entries", fmt.Sprintf(`{"dataset":"tides","key":"k%d","inputs":["https://data.example.org/a.nc"]}`, n)).is(other, http.StatusOK, "")
		begun := time.Now()
		w := <-got
		if w.Token != "" {
			waited++
			longest = max(longest, time.Since(begun))
		} else { // the machine is so busy that the wait is over
			_, got := claims(60)
			w = <-got
		}
		if w.Key != fmt.Sprint("k", n) {
			t.Fatalf("the worker has %+v", w)
		}
		var l leases.Lease
		d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/complete", `{"result":1}`).into(d, &l)
		if l.Status != entry.Successful {
			t.Errorf("%+v", l)
		}
	}
	t.Logf("%d of %d requests met a worker that waited, and were taken after at most %v", waited, requests, longest)
	if waited == 0 {
		t.Error("no worker that waited got what was requested meanwhile")
	}
	in.shown()
	in.says(0, words("verify"))
}
