package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/files"
)

// A worker that slept while it lost its claim, and sees the attempts of its successor,
// does not take them for those of a dead one.
// Shows: P5
func TestSleeperLeavesTheSuccessorsAttemptsAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	cfg := w.cfg
	cfg.Files = &files.Handler{Log: w.history, Clock: w.clock.Now, NewID: rand.Text} // remembers nothing
	var err error
	if w.r, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	name := ""
	for n := range w.fileStatesOf(id) {
		name = n
	}
	d := daemonNamed(domain.DaemonJobDownloading)
	step := d.jobStep
	d.jobStep = func(s *steps, ctx context.Context, task *JobTask) Outcome {
		w.mem.Expire(w.store)
		w.operate(id, name, domain.StartDownload{Worker: "successor", Limits: domain.Limits{Max: 3}})
		return step(s, context.WithoutCancel(ctx), task)
	}
	w.turnOf(d)
	w.wantRows(id, map[string]string{name: "F1 F2"})
}

// The end of an attempt waits for the log only as long as the claim holds.
func TestEndsStopWithTheClaim(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	fs := &fileStates{steps: w.r.steps, task: &JobTask{task: task{Log: w.cfg.Log, trace: eventstore.NewTrace()}},
		files: []payload.File{{Name: "a.txt"}}, state: make([]domain.File, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error)
	go func() { ended <- fs.end(ctx, []fileCommand{{0, domain.ReadyFile{}}}) }()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it still waits for the log")
	}
}
