package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/parquet-go/parquet-go"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
)

// A log that an earlier program began, with attributes in headers, and that goes on in
// structured mode is rebuilt from, verified, exported and continued like any other.
func TestLogOfBothEnvelopes(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	in.rest(in.submit(app.Deposit{Payload: base + samples.BatchManifest, Type: domain.TypeBatchManifest}))
	in.seen(len(samples.Objects())-1, domain.EventJobCleaned)
	in.shown()
	stop()
	before, exported := in.history(), in.exported()

	ctx := in.ctx()
	in.must(in.wired.Close())
	nc, err := nats.Connect(in.cfg.NATS[0])
	in.must(err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	in.must(err)
	in.must(js.DeleteStream(ctx, in.cfg.NATSStream))
	_, err = jslog.Open(ctx, nc, jslog.Config{Stream: in.cfg.NATSStream, Prefix: in.cfg.NATSPrefix, Instance: "test"})
	in.must(err)
	for i, r := range before {
		encode := binarymode.Encode
		if i >= len(before)/2 {
			encode = codec.Encode
		}
		m, err := encode(r, "test")
		in.must(err)
		_, err = js.PublishMsg(ctx, &nats.Msg{Subject: in.cfg.NATSPrefix + "." + m.Subject, Header: m.Header, Data: m.Data})
		in.must(err)
	}

	again := in.with()
	again.says(0, words("rebuild"))
	after := again.history()
	for i := range after {
		after[i].Stored = before[min(i, len(before)-1)].Stored
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("another history (-structured +both):\n%s", diff)
	}
	if diff := cmp.Diff(exported, again.exported()); diff != "" {
		t.Errorf("another export (-structured +both):\n%s", diff)
	}
	if r := again.settled(); len(r.Findings) > 0 {
		t.Errorf("rebuilt, and then\n%s", findings(r.Findings))
	}
	again.serveInProcess()
	again.rest(again.submit(app.Deposit{Payload: base + samples.SingleFile}))
	again.agree()
}

// exported returns all events as Parquet has them, but for the times at which the log
// stored them.
func (in *installation) exported() []export.EventRow {
	in.t.Helper()
	name := filepath.Join(in.t.TempDir(), "events.parquet")
	in.says(0, []string{"replay", "--format", "parquet", "--out", name})
	data, err := os.ReadFile(name)
	in.must(err)
	rows, err := parquet.Read[export.EventRow](bytes.NewReader(data), int64(len(data)))
	in.must(err)
	for i := range rows {
		rows[i].Stored = time.Time{}
	}
	return rows
}
