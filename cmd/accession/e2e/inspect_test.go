package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// What is not yet in the log when a check begins is waited for.
func TestVerifyWaitsForTheRelay(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.submit(app.Deposit{Payload: "http://127.0.0.1:1/x.txt"})
	begun, ended := make(chan struct{}), make(chan app.Verified, 1)
	var once sync.Once
	ctx := in.ctx()
	go func() {
		v, err := in.app.Verify(ctx, app.VerifyOptions{Wait: patience, Progress: func(app.VerifyProgress) { once.Do(func() { close(begun) }) }})
		if err != nil {
			t.Error(err)
		}
		ended <- v
	}()
	<-begun
	in.serveInProcess("relay", "projector")
	if v := <-ended; len(v.Findings) > 0 {
		t.Errorf("it did not wait:\n%s", findings(v.Findings))
	}
}

// An inspection shows a job as it was at one moment, however fast it changes.
func TestInspectReadsOneMoment(t *testing.T) {
	t.Parallel()
	in, m := newMixture(t)
	id := domain.JobID(m.waiting[0])
	live, err := in.wired.Inspect(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	handler, err := in.wired.Handler(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	entry := func(priority int) string {
		return "/jobs/states/pending/" + domain.EntryName(priority, id)
	}
	ctx, stop := context.WithTimeout(in.ctx(), 500*time.Millisecond)
	defer stop()
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			_, err := handler.Job(context.WithoutCancel(ctx), id, domain.ReprioritiseJob{Priority: 6 + n%2}, eventstore.Meta{Actor: "user/test"})
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	for ctx.Err() == nil {
		observed, err := live.InspectJob(in.ctx(), id, entry(5), entry(6), entry(7))
		if err != nil {
			t.Fatal(err)
		}
		var entries []string
		for node := range observed.Nodes {
			if strings.HasPrefix(node, "/jobs/states/") {
				entries = append(entries, node)
			}
		}
		var priority int
		if _, err := fmt.Sscan(observed.Nodes["/jobs/"+string(id)+"/priority"], &priority); err != nil || len(entries) != 1 || entries[0] != entry(priority) {
			t.Fatalf("%v: priority %d and entries %v at version %d", err, priority, entries, observed.Version)
		}
	}
	writer.Wait()
}
