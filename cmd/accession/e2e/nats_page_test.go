package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/deploy/samples"
)

// TestCommandsOfNATS asks the server what the nats commands of docs/events.md ask,
// with the stream and the subjects that stand there: each finds what it is to find.
func TestCommandsOfNATS(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	in := newInstallation(t)
	base := webServer(t, samples.Handler())
	stop := in.serveInProcess().stop
	in.rest(in.submit(app.Deposit{Payload: base + samples.SingleFile}))
	stop()
	nc, err := nats.Connect(in.cfg.NATS[0])
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("ACCESSION", in.cfg.NATSStream, "accession.v1.", in.cfg.NATSPrefix+".", "'", "")
	ctx, asked := in.ctx(), 0
	for line := range strings.Lines(string(page)) {
		args := strings.Fields(here.Replace(line))
		if len(args) < 4 || args[0] != "nats" {
			continue
		}
		after := func(flag string) string {
			for i, a := range args[:len(args)-1] {
				if a == flag {
					return args[i+1]
				}
			}
			return ""
		}
		stream, err := js.Stream(ctx, args[3])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		asked++
		switch what := args[1] + " " + args[2]; {
		case what == "stream info":
			if stream.CachedInfo().State.Msgs == 0 {
				t.Errorf("%s: the stream is empty", line)
			}
		case what == "stream get" && after("--last-for") != "":
			_, err = stream.GetLastMsgForSubject(ctx, after("--last-for"))
		case what == "stream get":
			var seq uint64
			if seq, err = strconv.ParseUint(args[4], 10, 64); err == nil {
				_, err = stream.GetMsg(ctx, seq)
			}
		case what == "consumer add":
			_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: args[4], FilterSubject: after("--filter"),
				DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy})
		case what == "consumer next":
			var c jetstream.Consumer
			if c, err = stream.Consumer(ctx, args[4]); err == nil {
				var m jetstream.Msg
				if m, err = c.Next(); err == nil && !strings.Contains(string(m.Data()), `"type":"accession.job.`) {
					t.Errorf("%s: got %s", line, m.Data())
				}
			}
		default:
			t.Errorf("nobody knows what %s asks", line)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if asked < 5 {
		t.Errorf("only %d commands are on the page", asked)
	}
}
