package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// patience is how long a test waits for what takes a second or two, and half a minute
// with ten thousand files; a busy machine may be ten times as slow.
const patience = 5 * time.Minute

// waitFor repeats a question until the answer is yes.
func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond) // who asks more often takes the time of what is waited for
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !is(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// await follows the log until want says that the event is the one.
func (in *installation) await(what string, from uint64, want func(domain.Recorded) bool) domain.Recorded {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	for r, err := range in.log.Read(ctx, eventstore.ReadOptions{From: from, Follow: true}) {
		if err != nil {
			in.t.Fatalf("waiting for %s: %v", what, err)
		}
		if want(r) {
			return r
		}
	}
	in.t.Fatalf("waiting for %s: %v", what, ctx.Err())
	return domain.Recorded{}
}

// reach waits until so many batches have an event of the type.
func (in *installation) reach(t domain.EventType, batches int) {
	in.t.Helper()
	seen := map[string]bool{}
	in.await(fmt.Sprintf("%d batches with %s", batches, t), 0, func(r domain.Recorded) bool {
		if r.Type == t {
			seen[r.Aggregate.ID] = true
		}
		return len(seen) == batches
	})
}

// sent waits until every event is in the log.
func (in *installation) sent() {
	in.t.Helper()
	waitFor(in.t, "every event to be in the log", func() bool {
		depth, err := in.live.Depth(in.t.Context())
		in.must(err)
		return depth.Unsent == 0
	})
}

// rest waits until a batch is at rest and the tables show it, and returns its report.
func (in *installation) rest(id domain.BatchID) app.BatchReportView {
	in.t.Helper()
	ctx := in.ctx()
	end, err := in.app.Watch(ctx, id, 0, func(app.Event, app.Progress) {})
	if err == nil {
		err = in.app.WaitProjected(ctx, id, end.Version)
	}
	if err != nil {
		in.t.Fatalf("wait for %s: %v; it is %+v", id, err, end)
	}
	v, err := in.app.BatchReport(ctx, id, 1000)
	if err != nil {
		in.t.Fatal(err)
	}
	return v
}

// seen follows the log from its start until n events of the types were seen, and
// returns them.
func (in *installation) seen(n int, types ...domain.EventType) []domain.Recorded {
	in.t.Helper()
	return in.seenOf("", n, types...)
}

// seenOf is the same for one batch and its jobs, "" = all.
func (in *installation) seenOf(batch domain.BatchID, n int, types ...domain.EventType) []domain.Recorded {
	in.t.Helper()
	log, err := in.wired.Log(in.ctx())
	if err != nil {
		in.t.Fatal(err)
	}
	var found []domain.Recorded
	for r, err := range log.Read(in.ctx(), eventstore.ReadOptions{Follow: true}) {
		if err != nil {
			in.t.Fatalf("%d of %d events %v: %v", len(found), n, types, err)
		}
		if slices.Contains(types, r.Type) && (batch == "" || r.BatchID == batch) {
			if found = append(found, r); len(found) == n {
				break
			}
		}
	}
	return found
}

// shown waits until the tables have what is committed now.
func (in *installation) shown() {
	in.t.Helper()
	if err := in.app.CatchUp(in.ctx()); err != nil {
		in.t.Fatal(err)
	}
}
