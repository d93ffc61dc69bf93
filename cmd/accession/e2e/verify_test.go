package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// While jobs run, with relay and projector behind them, a check finds nothing.
func TestVerifyIsQuietWhileWorkGoesOn(t *testing.T) {
	t.Parallel()
	const files = 12
	in := newInstallation(t)
	base := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/batch.checkm" {
			names := make([]string, files)
			for i := range names {
				names[i] = fmt.Sprintf("f%d.txt", i)
			}
			_, _ = io.WriteString(rw, batchOfFiles(r.Host, names...))
			return
		}
		_, _ = io.WriteString(rw, r.URL.Path)
	}))
	in.serveInProcess()
	var ids []domain.BatchID
	for n := range 4 { // each check begins while a batch is worked on
		ids = append(ids, in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest}))
		if r := in.settled(); len(r.Findings) > 0 {
			t.Fatalf("check %d:\n%s", n, findings(r.Findings))
		}
	}
	for _, id := range ids {
		in.rest(id)
	}
	in.agree()
}

// Events that no relay publishes are reported when they are old.
func TestVerifyTellsOfAnOldOutbox(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.submit(app.Deposit{Payload: "http://127.0.0.1:1/x.txt"})
	r, err := in.app.Verify(in.ctx(), app.VerifyOptions{Wait: time.Millisecond, OutboxLimit: time.Nanosecond})
	if err != nil || r.Worst != app.NeedsPerson || !strings.Contains(findings(r.Findings), string(consistency.OutboxOld)) {
		t.Errorf("%v\n%s", err, findings(r.Findings))
	}
	in.serveInProcess("relay", "projector")
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 {
		t.Errorf("carried, and then\n%s", findings(r.Findings))
	}
}

// Nodes beside the documented ones are reported, and no repair removes them: a newer
// program may have made them.
// Shows: P21
func TestVerifyReportsForeignNodes(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.submit(app.Deposit{Payload: "http://127.0.0.1:1/x.txt"})
	in.serveInProcess("relay", "projector")
	in.shown()
	if r := in.settled(); len(r.Findings) > 0 {
		t.Fatalf("workers and leads at work:\n%s", findings(r.Findings))
	}
	z := in.raw()
	foreign := []string{"/config/x", "/elsewhere", "/hosts/x", "/ids/x", "/leaders/x", "/locks/x", "/outbox/00/x", "/outbox/x", "/workers/x"}
	z.puts(foreign...)
	z.puts("/elsewhere/y", "/elsewhere/z")
	for name, verify := range map[string]func(context.Context, app.VerifyOptions) (app.Verified, error){"verify": in.app.Verify, "verify --repair": in.app.Repair} {
		r, err := verify(in.ctx(), app.VerifyOptions{Wait: 20 * time.Second})
		var found []string
		for _, f := range r.Findings {
			if f.Code == consistency.ForeignNode && f.Remedy != "" {
				found = append(found, f.Where)
			}
		}
		if err != nil || r.Worst != app.NeedsPerson || !slices.Equal(found, foreign) {
			t.Errorf("%s: %v, %s\n%s", name, err, r.Worst, findings(r.Findings))
		}
	}
	z.cut(foreign...)
	if r := in.settled(); len(r.Findings) > 0 {
		t.Errorf("removed by hand, and then\n%s", findings(r.Findings))
	}
}

// A repair is refused when what it was about has changed since, and never takes a
// lock away from a worker that lives.
func TestRepairsAreFenced(t *testing.T) {
	t.Parallel()
	in, m := newMixture(t)
	ctx, z := in.ctx(), in.raw()
	live, err := in.wired.Inspect(ctx)
	z.must(err)
	handler, err := in.wired.Handler(ctx)
	z.must(err)
	id := domain.JobID(m.waiting[0])
	by := eventstore.Meta{Actor: "user/test"}

	look, err := live.InspectJob(ctx, id)
	z.must(err)
	at, err := live.Job(ctx, id)
	z.must(err)
	_, err = handler.Job(ctx, id, domain.ReprioritiseJob{Priority: 7}, by)
	z.must(err)
	if _, err := handler.RepairJob(ctx, at.State, look, nil, by); !errors.Is(err, eventstore.ErrConflict) {
		t.Errorf("a repair of what has changed: %v", err)
	}

	// A lock without a holder; then it goes, and a worker that lives takes the job.
	z.put("/jobs/"+string(id)+"/lock", `{"holder":"nobody"}`, zk.FlagEphemeral)
	look, err = live.InspectJob(ctx, id)
	z.must(err)
	if look.Lock == nil || look.Lock.Alive {
		t.Fatalf("%+v", look.Lock)
	}
	z.cut("/jobs/" + string(id) + "/lock")
	claims, err := in.wired.LiveState(ctx)
	z.must(err)
	in.says(0, words("queue resume pending"))
	in.seen(2, domain.EventSettingChanged)
	claim, _, err := claims.ClaimJob(ctx, id)
	z.must(err)
	if err := live.SeizeLock(ctx, &look); !errors.Is(err, eventstore.ErrLocked) {
		t.Errorf("another's lock is seized: %v", err)
	}
	at, err = live.Job(ctx, id)
	z.must(err)
	if _, err := handler.RepairJob(ctx, at.State, look, nil, by); !errors.Is(err, eventstore.ErrLocked) {
		t.Errorf("a repair that takes another's lock: %v", err)
	}
	if look, err = live.InspectJob(ctx, id); err != nil || look.Lock == nil {
		t.Errorf("the lock of a worker that lives: %v, %+v", err, look.Lock)
	}
	look.Lock = nil
	if _, err := handler.RepairJob(ctx, at.State, look, nil, by); !errors.Is(err, eventstore.ErrLocked) {
		t.Errorf("a repair under a worker that lives: %v", err)
	}
	z.must(claims.Release(ctx, claim, time.Hour))
}
