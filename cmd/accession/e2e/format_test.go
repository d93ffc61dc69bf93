package e2e

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/eventstore"
)

// A tree and a log that a newer program has changed are refused with exit code 8 and the
// remedy, before anything is taken; the format that this program wrote is served.
func TestNewerFormat(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	deposit := app.Deposit{Payload: webServer(t, samples.Handler()) + samples.SingleFile}
	in.submit(deposit)
	submit := []string{"submit", "--profile", "test", "--submitter", "tester", "--type", "file", deposit.Payload}
	in.says(0, submit)
	nc, closing := in.connectNATS()
	defer closing()
	js, err := jetstream.New(nc)
	in.must(err)
	stream, err := js.Stream(context.Background(), in.cfg.NATSStream)
	in.must(err)
	log := stream.CachedInfo().Config
	for _, raise := range []struct {
		what string
		do   func(format string)
	}{
		{"the log", func(format string) {
			log.Metadata = map[string]string{"accession-reads": "1", "accession-writes": format}
			_, err := js.UpdateStream(context.Background(), log)
			in.must(err)
		}},
		{"the tree", func(format string) {
			conn, _, err := zk.Connect(in.cfg.ZooKeeper, 10*time.Second, zk.WithLogInfo(false))
			in.must(err)
			defer conn.Close()
			_, err = conn.Set(in.settings["zookeeper_root"]+"/config/format", []byte(`{"reads":1,"writes":`+format+`}`), -1)
			in.must(err)
		}},
	} {
		newer := strconv.Itoa(eventstore.FormatNow + 1)
		raise.do(newer)
		in.says(8, submit, raise.what, "writes format "+newer, "docs/operating.md#upgrade")
		raise.do("1")
		in.says(0, submit)
	}
}
