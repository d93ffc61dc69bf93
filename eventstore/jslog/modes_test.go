package jslog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/internal/testkit/binarymode"
)

// A log that begins in binary mode is read and continued: the events of one aggregate may
// be in both modes, and are copied by type as they are.
func TestBothModes(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	cfg := fresh(t, nc)
	l := openAt(t, nc, cfg)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t, 60*time.Second)
	want := []domain.Recorded{event(1, 1), event(2, 1), event(1, 2), event(2, 2), event(3, 1)}
	for _, r := range want[:2] {
		m, err := binarymode.Encode(r, cfg.Instance)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := js.PublishMsg(ctx, &nats.Msg{Subject: cfg.Prefix + "." + m.Subject, Header: m.Header, Data: m.Data}); err != nil {
			t.Fatal(err)
		}
	}
	last, err := l.Last(ctx, want[0].Aggregate)
	if wantLast := (eventstore.LastEvent{Version: 1, Seq: 1, CommandID: want[0].CommandID}); err != nil || last != wantLast {
		t.Fatalf("%+v, %v, want %+v", last, err, wantLast)
	}
	mustAppend(t, l, eventstore.Append{Event: want[2], ExpectSeq: 1}, eventstore.Append{Event: want[3], ExpectSeq: 2}, eventstore.Append{Event: want[4]})
	if last, err = l.Last(ctx, want[0].Aggregate); err != nil || last.Version != 2 || last.Seq != 3 || last.CommandID != want[2].CommandID {
		t.Fatalf("%+v, %v", last, err)
	}
	n := 0
	for got, err := range l.Read(ctx, eventstore.ReadOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		r := want[n]
		r.Seq, r.Stored, r.Source = uint64(n+1), got.Stored, "/accession/"+cfg.Instance
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("event %d (-want +got):\n%s", n+1, diff)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d events were read, want %d", n, len(want))
	}
	checkCopies(t, nc, l, cfg, len(want))
}

// checkCopies copies a log of jobs by type.
func checkCopies(t *testing.T, nc *nats.Conn, l *jslog.Log, cfg jslog.Config, events int) {
	t.Helper()
	to := fresh(t, nc)
	ctx, stop := context.WithCancel(within(t, 60*time.Second))
	sub, err := nc.SubscribeSync(to.Stream + ".types.>")
	if err == nil {
		err = nc.FlushWithContext(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.CopyByType(ctx, jslog.TypesConfig{Stream: to.Stream, Prefix: to.Stream}) }()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		copied, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatal(err)
		}
		original, err := stream(t, js, cfg.Stream).GetMsg(ctx, uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		token := original.Subject[strings.LastIndexByte(original.Subject, '.')+1:]
		if copied.Subject != to.Stream+".types.job.waiting."+token || string(copied.Data) != string(original.Data) ||
			copied.Header.Get("content-type") != original.Header.Get("content-type") || copied.Header.Get("ce-id") != original.Header.Get("ce-id") {
			t.Errorf("event %d is copied to %s as %v %s", i+1, copied.Subject, copied.Header, copied.Data)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
