package daemon

import (
	"context"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// handingOver is a fixture whose runner hands over once it is opened.
func handingOver(t *testing.T) *fixture {
	t.Helper()
	return newFixture(t, noRecords, func(w *fixture) { w.cfg.HandOver = true })
}

func (w *fixture) openRunner() (stop context.CancelFunc) {
	w.r.open, stop = context.WithCancel(w.Context())
	return stop
}

// freeTurn lets a daemon do its next piece of work, as Run does, and gives what it goes on
// with.
func (w *fixture) freeTurn(daemon string) *turn {
	w.Helper()
	d := daemonNamed(daemon)
	if !w.r.idle.Take(daemon) {
		w.Fatalf("%s has no free worker", daemon)
	}
	defer w.r.idle.Give(daemon)
	defer w.leads(d)()
	t, err := w.r.claim(w.Context(), d)
	if err != nil {
		w.Fatal(err)
	}
	return t.run(w.Context())
}

// A worker that is done with a job goes on with it in the next state, as a worker of
// that state's daemon.
func TestHandOver(t *testing.T) {
	t.Parallel()
	w := handingOver(t)
	id := w.aJobIn(domain.JobProvisioning)
	defer w.openRunner()()
	before := w.r.idle.Free(domain.DaemonJobDownloading)
	next := w.freeTurn(domain.DaemonJobProvisioning)
	if next == nil || next.d.Name != domain.DaemonJobDownloading || next.job.Job.State != domain.JobDownloading || next.Claim.Attempts != 1 {
		t.Fatalf("goes on with %+v", next)
	}
	if n := w.r.idle.Free(domain.DaemonJobDownloading); n != before-1 {
		t.Errorf("%d workers of %d are free", n, before)
	}
	if next = next.run(t.Context()); next == nil || next.d.Name != domain.DaemonJobProcessing {
		t.Fatalf("goes on with %+v\n%s", next, w.log)
	}
	if j := w.job(id); j.State != domain.JobProcessing || j.Version != 5 {
		t.Errorf("it is %s at version %d", j.State, j.Version)
	}
}

// A job goes to its queue when no worker of the next state is free, when the service
// stops, when it did not take the straight way, and where all are looked at in turn.
func TestNoHandOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state  domain.JobState
		change func(w *fixture, stop context.CancelFunc)
	}{
		"no worker": {domain.JobProvisioning, func(w *fixture, _ context.CancelFunc) {
			for w.r.idle.Take(domain.DaemonJobDownloading) { //nolint:revive // until there is none
			}
		}},
		"stopping":     {domain.JobProvisioning, func(_ *fixture, stop context.CancelFunc) { stop() }},
		"switched off": {domain.JobProvisioning, func(w *fixture, _ context.CancelFunc) { w.r.cfg.HandOver = false }},
		"held":         {domain.JobPending, func(w *fixture, _ context.CancelFunc) { w.hold(true) }},
		"failed":       {domain.JobDownloading, func(w *fixture, _ context.CancelFunc) { w.web.Close() }},
		"in turn":      {domain.JobEstimating, func(*fixture, context.CancelFunc) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := handingOver(t)
			id := w.aJobIn(c.state)
			stop := w.openRunner()
			defer stop()
			c.change(w, stop)
			var daemon string
			for _, d := range Daemons {
				if d.Job == c.state {
					daemon = d.Name
				}
			}
			if next := w.freeTurn(daemon); next != nil {
				t.Errorf("goes on with %s in %s", next.job.Job.ID, next.d.Name)
			}
			if held, err := w.store.Locked(t.Context(), id.Aggregate()); err != nil || len(held) != 0 {
				t.Errorf("it is still locked (%v)", err)
			}
			for _, d := range Daemons {
				if free := w.r.idle.Free(d.Name); name != "no worker" && free != w.r.cfg.Workers[d.Name] {
					t.Errorf("%d workers of %s are free", free, d.Name)
				}
			}
		})
	}
}
