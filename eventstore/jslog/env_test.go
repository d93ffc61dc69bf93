package jslog_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

func natsURL(t testing.TB) string {
	t.Helper()
	url := os.Getenv("ACCESSION_TEST_NATS")
	if url == "" {
		t.Fatal("ACCESSION_TEST_NATS is not set: run the tests through `make test` or `accession stack exec -- go test ./...`")
	}
	return url
}

func connect(t testing.TB, url string) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// fresh names a stream of the test's own, gone at its end.
func fresh(t testing.TB, nc *nats.Conn) jslog.Config {
	t.Helper()
	id := "test-" + uuid.NewString()
	t.Cleanup(func() {
		js, err := jetstream.New(nc)
		if err != nil {
			t.Error(err)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := js.DeleteStream(ctx, id); err != nil {
			t.Errorf("stream %s stays behind: %v", id, err)
		}
	})
	return jslog.Config{Stream: id, Prefix: id + ".v1", Instance: "test"}
}

func openAt(t testing.TB, nc *nats.Conn, cfg jslog.Config) *jslog.Log {
	t.Helper()
	l, err := jslog.Open(within(t, 10*time.Second), nc, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func open(t testing.TB) *jslog.Log {
	t.Helper()
	nc := connect(t, natsURL(t))
	return openAt(t, nc, fresh(t, nc))
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// event makes number v of job n, written by a command of its own.
func event(n, v int64) domain.Recorded {
	a := domain.NewJobID(n).Aggregate()
	e := domain.Event{Type: domain.EventJobWaiting, Aggregate: a, Version: v,
		Data: &domain.JobWaiting{JobMove: domain.JobMove{From: domain.JobProvisioning, To: domain.JobProvisioning, Priority: 5}}}
	return domain.Recorded{Event: e, Time: domain.At(time.UnixMilli(1_700_000_000_000)), BatchID: domain.NewBatchID(1),
		Actor: domain.DaemonActor("test"), CommandID: "command of " + e.ID(), Zxid: 7, Epoch: 1}
}

func first(list ...domain.Recorded) []eventstore.Append {
	var out []eventstore.Append
	for _, e := range list {
		out = append(out, eventstore.Append{Event: e})
	}
	return out
}

func mustAppend(t testing.TB, l eventstore.Log, list ...eventstore.Append) []uint64 {
	t.Helper()
	seqs, err := l.Append(within(t, 20*time.Second), list)
	if err != nil {
		t.Fatal(err)
	}
	return seqs
}

// ids gives what a read gives, as places and ids.
func ids(t testing.TB, l eventstore.Log, o eventstore.ReadOptions) []string {
	t.Helper()
	list := []string{}
	for e, err := range l.Read(within(t, 20*time.Second), o) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%d %s", e.Seq, e.ID()))
	}
	return list
}
