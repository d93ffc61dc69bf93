package e2e

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/eventstore/follow"
)

// Another program that follows a batch from its deposit to its end, with a
// break after every event, sees what the history says, in its order.
func TestFollowABatch(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	stop := in.serveInProcess().stop
	id := in.submit(app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile, Title: "followed"})

	o := follow.Options{URL: in.settings["nats"], Stream: in.settings["nats_stream"], Prefix: in.settings["nats_prefix"], Batch: string(id)}
	var got []string
	for end := false; !end; {
		f, err := follow.Open(in.ctx(), o)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range f.Events(in.ctx()) {
			if err != nil {
				t.Fatal(err)
			}
			got, o.After, end = append(got, e.Type+" "+e.ID), e.Position, e.Type == "batch.completed"
			break
		}
		f.Close()
	}
	stop()
	var want []string
	for e, err := range in.app.Tail(in.ctx(), app.TailOptions{Selection: app.Selection{Batch: id}}) {
		if err != nil {
			t.Fatal(err)
		}
		if len(want) < len(got) { // what comes after the end is cleaned up
			want = append(want, string(e.Type)+" "+e.ID)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
