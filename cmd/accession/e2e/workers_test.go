package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// TestWorkersAreListed: workers that have work are listed with it, how they have it and until
// when, and with what workers of their name have ended; those without work with that only.
func TestWorkersAreListed(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_http=127.0.0.1:0")
	olga, ana, rita := in.keyOf("olga", "operator", "--all"), in.keyOf("ana", "depositor", "--all"), in.keyOf("rita", "reader", "--all")
	d := in.doorOf(in.serveInProcess(run.RoleHTTP, run.RoleRelay, run.RoleProjector))
	n := 0
	request := func() {
		n++
		in.says(0, []string{"compute", "submit", "--dataset", "tides", "--group", fmt.Sprint(n), "--input", "https://data.example.org/a.nc"})
	}
	take := func(worker string) (w leases.Work) {
		t.Helper()
		request()
		d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"`+worker+`","wait":20,"lease":600}`).into(d, &w)
		if w.Token == "" {
			t.Fatalf("%+v", w)
		}
		return w
	}
	end := func(w leases.Work, verb, body string) {
		t.Helper()
		d.ask(olga, "POST", "/v1/compute/claims/"+w.Token+"/"+verb, body).into(d, new(leases.Lease))
	}
	listed := func() (all entries.Workers) {
		t.Helper()
		d.ask(rita, "GET", "/v1/compute/workers", "").into(d, &all)
		return all
	}

	if all := listed(); len(all.Items) != 0 {
		t.Errorf("%+v", all)
	}
	end(take("node7"), "complete", `{"result":1}`)
	end(take("node7"), "complete", `{"result":2}`)
	end(take("node7"), "fail", `{"class":"content","message":"no header","never":true}`)
	end(take("node8"), "fail", `{"class":"content","message":"no header","never":true}`)
	held := take("node7")
	end(held, "heartbeat", `{"progress":"half of it"}`)
	request()
	handler, err := in.wired.Handler(in.ctx())
	in.must(err)
	taken, err := handler.TakeEntry(in.ctx(), compute.Wants{}, eventstore.Meta{Actor: "user/olga"})
	in.must(err)
	in.must(in.app.CatchUp(in.ctx()))

	session, _, _ := strings.Cut(taken.State.Worker, "/")
	want := map[string]entries.Worker{
		"node7": {ID: "node7", Name: "node7", Kind: "lease", Entry: compute.ID(held.Entry), Dataset: "tides", Group: "5", Attempt: 1, Progress: "half of it", Completed: 2, Failed: 1},
		"node8": {ID: "node8", Name: "node8", Failed: 1},
		session: {ID: session, Name: session, Kind: "session", Entry: taken.State.ID, Dataset: "tides", Group: "6", Attempt: 1},
	}
	all := listed()
	for _, w := range all.Items {
		if w.Kind != "" && (w.Since.IsZero() || time.Since(w.Since.Time) > time.Hour) {
			t.Errorf("%s has work since %v", w.Name, w.Since)
		}
		if left := time.Until(w.Deadline.Time); (w.Kind == "lease") == w.Deadline.IsZero() || w.Kind == "lease" && (left > 11*time.Minute || left < time.Minute) {
			t.Errorf("%s has work until %v", w.Name, w.Deadline)
		}
		got := w
		got.Since, got.Deadline = want[w.Name].Since, want[w.Name].Deadline
		if got != want[w.Name] {
			t.Errorf("%+v, want %+v", got, want[w.Name])
		}
	}
	if len(all.Items) != len(want) || all.More {
		t.Errorf("%+v", all)
	}
	d.ask(ana, "GET", "/v1/compute/workers", "").is(d, http.StatusForbidden, "forbidden")
	in.says(0, []string{"compute", "workers"}, "node7", "lease", held.Entry, "half of it", "session", string(taken.State.ID))
	var here entries.Workers
	in.must(json.Unmarshal([]byte(in.says(0, []string{"compute", "workers", "-o", "json"})), &here))
	if len(here.Items) != len(want) {
		t.Errorf("%+v", here)
	}
	_, err = handler.EndEntry(in.ctx(), taken, compute.Complete{Result: entry.Result{SHA256: "00", Size: 2}}, eventstore.Meta{Actor: "user/olga"})
	in.must(err)
}
