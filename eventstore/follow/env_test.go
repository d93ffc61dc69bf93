package follow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/follow"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// log is a stream that looks like Accession's, written as a test likes.
type log struct {
	follow.Options // how it is followed
	js             jetstream.JetStream
	close          func()
}

func natsURL() (string, error) {
	url := os.Getenv("ACCESSION_TEST_NATS")
	if url == "" {
		return "", errors.New("ACCESSION_TEST_NATS is not set: run the tests through `make test` or `accession stack exec -- go test ./...`")
	}
	return url, nil
}

// openLog makes a log at a server.
func openLog(url string) (*log, error) {
	id := "test-" + uuid.NewString()
	l := &log{Options: follow.Options{URL: url, Stream: id, Prefix: id + ".v1"}, close: func() {}}
	if err := l.connect(); err != nil {
		return nil, err
	}
	err := l.create(l.Prefix)
	return l, err
}

// connect makes the connection to write with, a new one if there is one.
func (l *log) connect() error {
	l.close()
	nc, err := nats.Connect(l.URL)
	if err != nil {
		return err
	}
	l.close = nc.Close
	l.js, err = jetstream.New(nc)
	return err
}

func (l *log) create(prefix string) error {
	_, err := l.js.CreateStream(context.Background(), jetstream.StreamConfig{Name: l.Stream, Subjects: []string{prefix + ".>"}, AllowDirect: true})
	return err
}

func (l *log) destroy() error { return l.js.DeleteStream(context.Background(), l.Stream) }

// newLog makes a log of the test's own at the shared server.
func newLog(t testing.TB) *log {
	t.Helper()
	url, err := natsURL()
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLog(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.destroy(); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Error(err)
		}
		l.close()
	})
	return l
}

func (l *log) append(messages ...codec.Message) error {
	for _, m := range messages {
		msg := &nats.Msg{Subject: l.Prefix + "." + m.Subject, Header: m.Header, Data: m.Data}
		if _, err := l.js.PublishMsg(context.Background(), msg); err != nil {
			return fmt.Errorf("append to %s: %w", msg.Subject, err)
		}
	}
	return nil
}

func (l *log) mustAppend(t testing.TB, messages ...codec.Message) {
	t.Helper()
	if err := l.append(messages...); err != nil {
		t.Fatal(err)
	}
}

// message returns an event as it stands in the log.
func message(t domain.EventType, a domain.Aggregate, version, batch int64, data domain.EventData) codec.Message {
	e := domain.Event{Type: t, Aggregate: a, Version: version, Data: data}
	m, err := codec.Encode(domain.Recorded{Event: e, Time: domain.At(time.UnixMilli(1_700_000_000_000)), BatchID: domain.NewBatchID(batch),
		Actor: domain.DaemonActor("test"), CommandID: "command of " + e.ID(), Zxid: version, Epoch: 1}, "test")
	if err != nil {
		panic(err)
	}
	return m
}

// waiting returns number v of job n, which belongs to batch n%2+1.
func waiting(n, v int64) codec.Message {
	return message(domain.EventJobWaiting, domain.NewJobID(n).Aggregate(), v, n%2+1,
		&domain.JobWaiting{JobMove: domain.JobMove{From: domain.JobProvisioning, To: domain.JobProvisioning, Priority: 5}})
}

func open(t testing.TB, o follow.Options) *follow.Follower {
	t.Helper()
	f, err := follow.Open(within(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// take reads n events and returns their ids and the last one's position.
func take(t testing.TB, f *follow.Follower, n int) (ids []string, at follow.Position) {
	t.Helper()
	for e, err := range f.Events(within(t)) {
		if err != nil {
			t.Fatalf("after %q: %v", ids, err)
		}
		if ids, at = append(ids, e.ID), e.Position; len(ids) == n {
			break
		}
	}
	return ids, at
}

// fails reads until an error.
func fails(t testing.TB, f *follow.Follower) (ids []string, err error) {
	t.Helper()
	for e, err := range f.Events(within(t)) {
		if err != nil {
			return ids, err
		}
		ids = append(ids, e.ID)
	}
	t.Fatal("the loop ended without an error")
	return ids, nil
}
