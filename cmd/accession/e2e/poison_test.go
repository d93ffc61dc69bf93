package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
)

// TestPoisonIsHeld: what no program can read holds the aggregate on whose subject
// it lies. Deposits go on, and operators see it.
func TestPoisonIsHeld(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	in.serveInProcess()
	in.rest(in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest}))
	place := in.publish("job.jid0000009999", "ce-specversion: 1.0, half an event")
	id := in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest})
	in.rest(id)
	held, err := tables.Poison(in.ctx(), in.app, tables.PoisonFilter{Limit: 10}, "")
	if err != nil || *held.Total != 1 || held.Next != "" || len(held.Items) != 1 || held.Items[0].AggregateID != "jid0000009999" || held.Items[0].Seq != int64(place) {
		t.Fatalf("%+v, %v", held, err)
	}
	if s := status.Of(in.ctx(), in.app); s.Projection.HeldEvents != 1 || s.Projection.HeldAggregates != 1 {
		t.Errorf("status: %+v", s.Projection)
	}
	row, err := tables.PoisonAt(in.ctx(), in.app, place)
	if err != nil || !strings.Contains(row.Error, "ce-specversion") || !strings.Contains(row.Data, "half an event") {
		t.Errorf("%+v, %v", row, err)
	}
	in.publish("job.jid0000009998", "half an event of another")
	last := in.publish("job.jid0000009997", "and of a third")
	in.must(in.app.CatchUp(in.ctx()))
	seen, from := 0, ""
	for {
		var page app.Page[tables.PoisonEvent]
		in.must(json.Unmarshal([]byte(in.says(0, []string{"poison", "ls", "-o", "json", "--limit", "1", "--cursor", from})), &page))
		if len(page.Items) != 1 || *page.Total != 3 || page.Items[0].Seq < int64(place) {
			t.Fatalf("%+v", page)
		}
		seen, from = seen+1, string(page.Next)
		if page.Next == "" {
			if page.Items[0].Seq != int64(last) {
				t.Errorf("the last of all is %d, not %d", page.Items[0].Seq, last)
			}
			break
		}
	}
	if seen != 3 {
		t.Errorf("%d pages of one", seen)
	}
	in.says(0, words("poison ls --older-than 1d"), "no events are held")
	in.says(0, words("poison ls --since 1d --limit 2"), "2 of 3 events", "--cursor")
	in.says(2, words("poison ls --cursor x"), "no cursor")
	attempts := func() (n int) {
		in.must(in.db.QueryRow(in.ctx(), `select sum(attempts) from accession.poison_event`).Scan(&n))
		return n
	}
	before := attempts()
	in.says(1, words("poison retry --all --dry-run"), "job/jid0000009998", "ce-specversion", "nothing was changed")
	if n := attempts(); n != before {
		t.Errorf("a dry run counts as an attempt: %d, before %d", n, before)
	}
	done, err := tables.RetryPoison(in.ctx(), in.app, domain.Aggregate{Kind: domain.KindJob, ID: "jid0000009999"})
	if err != nil || len(done) != 1 || done[0].Applied != 0 || done[0].Waiting != 1 || done[0].Error == "" {
		t.Errorf("%+v, %v", done, err)
	}
}

// publish puts something into the log that the program would not write.
func (in *installation) publish(subject, data string) (place uint64) {
	in.t.Helper()
	conn, err := nats.Connect(strings.Join(in.cfg.NATS, ","))
	if err != nil {
		in.t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		in.t.Fatal(err)
	}
	ack, err := js.Publish(in.ctx(), in.cfg.NATSPrefix+"."+subject, []byte(data))
	if err != nil {
		in.t.Fatal(err)
	}
	return ack.Sequence
}
