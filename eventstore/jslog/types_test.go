package jslog_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/codec"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// The stream by types has every event of the log once and in order, although its copier
// is cut off again and again, and a second one works beside it.
func TestCopyByType(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	cfg := fresh(t, nc)
	log := openAt(t, nc, cfg)
	types := fresh(t, nc)
	to := jslog.TypesConfig{Stream: types.Stream, Prefix: types.Stream}
	const jobs, versions = 40, 30
	appended := make(chan struct{})
	go func() {
		defer close(appended)
		for v := range int64(versions) {
			var list []domain.Recorded
			for n := range int64(jobs) {
				list = append(list, event(n+1, v+1))
			}
			appends := first(list...)
			for i := range appends {
				if v > 0 {
					last, err := log.Last(t.Context(), list[i].Aggregate)
					if err != nil {
						t.Error(err)
						return
					}
					appends[i].ExpectSeq = last.Seq
				}
			}
			if _, err := log.Append(t.Context(), appends); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	copied := func() uint64 { return lastOf(t, js, to.Stream) }
	cuts := 0
	for deadline := time.Now().Add(3 * time.Minute); copied() < jobs*versions; cuts++ {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events were copied", copied(), jobs*versions)
		}
		done := make(chan struct{}, 2)
		var copiers []func(context.Context)
		for range 2 {
			conn := connect(t, natsURL(t))
			second := openAt(t, conn, cfg)
			copiers = append(copiers, func(ctx context.Context) {
				defer func() { done <- struct{}{} }()
				_ = second.CopyByType(ctx, to) // one of the two is refused
				conn.Close()                   // like a kill: what is on its way may arrive or not
			})
		}
		// Each time longer, so that a busy machine comes to its end too.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(60+20*cuts)*time.Millisecond)
		for _, c := range copiers {
			go c(ctx)
		}
		<-done
		<-done
		cancel()
	}
	<-appended
	if cuts < 2 {
		t.Errorf("the copier was cut off %d times", cuts)
	}
	c, err := js.OrderedConsumer(t.Context(), to.Stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var got []*nats.Msg
	for len(got) < jobs*versions {
		msg, err := c.Next(jetstream.FetchMaxWait(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, &nats.Msg{Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data()})
	}
	for i, m := range got {
		if seq := m.Header.Get(jslog.HeaderSeq); seq != fmt.Sprint(i+1) {
			t.Fatalf("message %d is event %s of the log", i+1, seq)
		}
		original, err := stream(t, js, cfg.Stream).GetMsg(t.Context(), uint64(i+1))
		if err != nil {
			t.Fatal(err)
		}
		if string(original.Data) != string(m.Data) || original.Header.Get("content-type") != m.Header.Get("content-type") || m.Header.Get("Nats-Expected-Last-Subject-Sequence") != "" {
			t.Fatalf("message %d is %v, not %v", i+1, m.Header, original.Header)
		}
		words := strings.Split(strings.TrimPrefix(codec.Identify(codec.Message{Header: m.Header, Data: m.Data}).Type, "accession."), ".")
		if want := to.Prefix + ".types." + words[0] + "." + words[1] + strings.TrimPrefix(original.Subject, cfg.Prefix+".job"); m.Subject != want {
			t.Fatalf("message %d is on %s, not %s", i+1, m.Subject, want)
		}
	}
}

// lastOf returns the last number of a stream, 0 = there is none.
func lastOf(t *testing.T, js jetstream.JetStream, name string) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

func stream(t *testing.T, js jetstream.JetStream, name string) jetstream.Stream {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A copy of another log is not continued.
func TestCopyOfAnotherLog(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	types := fresh(t, nc)
	to := jslog.TypesConfig{Stream: types.Stream, Prefix: types.Stream}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	logOf := func(n int64) *jslog.Log {
		log := openAt(t, nc, fresh(t, nc))
		mustAppend(t, log, first(event(n, 1))...)
		return log
	}
	one, other := logOf(1), logOf(2)
	copying, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- one.CopyByType(copying, to) }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for lastOf(t, js, to.Stream) == 0 && ctx.Err() == nil {
		<-tick.C
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := other.CopyByType(ctx, to); err == nil || !strings.Contains(err.Error(), "another log") {
		t.Errorf("a copy of another log is continued: %v", err)
	}
}

// The lag is unknown before the first copy, counts what is missing and since when, and is
// refused for a copy of another log.
func TestTypesLag(t *testing.T) {
	t.Parallel()
	nc := connect(t, natsURL(t))
	log := openAt(t, nc, fresh(t, nc))
	types := fresh(t, nc)
	to := jslog.TypesConfig{Stream: types.Stream, Prefix: types.Stream}
	lag := func() *jslog.TypesLag {
		t.Helper()
		l, err := log.TypesLag(t.Context(), to)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	mustAppend(t, log, first(event(1, 1), event(2, 1))...)
	if l := lag(); l != nil {
		t.Errorf("without a stream by types: %+v", l)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- log.CopyByType(ctx, to) }()
	for deadline := time.Now().Add(time.Minute); ; {
		if l := lag(); l != nil && *l == (jslog.TypesLag{}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the copy never has all events")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	mustAppend(t, log, first(event(3, 1), event(4, 1), event(5, 1))...)
	if l := lag(); l.Events != 3 || l.Age < 0 || l.Age > time.Hour {
		t.Errorf("three events later: %+v", l)
	}
	other := openAt(t, nc, fresh(t, nc))
	mustAppend(t, other, first(event(7, 1), event(8, 1))...)
	if l, err := other.TypesLag(t.Context(), to); err == nil {
		t.Errorf("of another log: %+v", l)
	}
}
