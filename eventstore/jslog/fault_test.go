package jslog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/relay"
)

// An append whose question or answer is lost is found out, and never written
// twice, also when the first try arrives after the second.
// Shows: P3 C5
func TestLostMessages(t *testing.T) {
	t.Parallel()
	single := first(event(1, 1))
	several := []eventstore.Append{{Event: event(1, 1)}, {Event: event(2, 1)}, {Event: event(1, 2)}}
	for name, tc := range map[string]struct {
		events   []eventstore.Append
		ask      bool // the question is lost, not the answer
		overtake bool // another writer follows before the client is back
		usurp    bool // another command takes the number before the client is back
		want     error
	}{
		"answer":                   {events: single},
		"answer of a batch":        {events: several},
		"question":                 {events: single, ask: true},
		"question of a batch":      {events: several, ask: true},
		"somebody follows":         {events: single, overtake: true, want: eventstore.ErrUnknown},
		"somebody is first":        {events: single, ask: true, usurp: true, want: eventstore.ErrConflict},
		"somebody follows a batch": {events: several, overtake: true, want: eventstore.ErrUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := connect(t, natsURL(t))
			cfg := fresh(t, direct)
			watcher := openAt(t, direct, cfg)
			p := newProxy(t)
			l := openAt(t, connect(t, p.url()), cfg)
			ctx := within(t, 30*time.Second)

			p.lose(tc.ask, !tc.ask)
			type answer struct {
				seqs []uint64
				err  error
			}
			answered := make(chan answer, 1)
			go func() {
				seqs, err := l.Append(ctx, tc.events)
				answered <- answer{seqs, err}
			}()
			if !tc.ask {
				n := 0
				for _, err := range watcher.Read(ctx, eventstore.ReadOptions{Follow: true, To: uint64(len(tc.events))}) {
					if n++; err != nil {
						t.Fatal(err)
					}
				}
			}
			want := []string{}
			for i, e := range tc.events {
				want = append(want, fmt.Sprintf("%d %s", i+1, e.Event.ID()))
			}
			if tc.overtake {
				last, err := watcher.Last(ctx, tc.events[0].Event.Aggregate)
				if err != nil {
					t.Fatal(err)
				}
				next := event(1, last.Version+1)
				mustAppend(t, watcher, eventstore.Append{Event: next, ExpectSeq: last.Seq})
				want = append(want, fmt.Sprintf("%d %s", len(want)+1, next.ID()))
			}
			if tc.usurp {
				other := tc.events[0]
				other.Event.CommandID = "another command"
				mustAppend(t, watcher, other)
			}
			p.cut()
			got := <-answered
			if !errors.Is(got.err, tc.want) || (got.err == nil) != (tc.want == nil) {
				t.Fatalf("got %v, want %v", got.err, tc.want)
			}
			if tc.want == nil {
				for i, seq := range got.seqs {
					if seq != uint64(i+1) {
						t.Errorf("places %v", got.seqs)
					}
				}
			}
			p.release()
			if diff := cmp.Diff(want, ids(t, watcher, eventstore.ReadOptions{})); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}
		})
	}
}

// The outcome stays unknown when the server does not come back in time, and when
// the connection is closed for good.
// Shows: C5
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*nats.Conn, context.CancelFunc){
		"context":    func(_ *nats.Conn, cancel context.CancelFunc) { cancel() },
		"connection": func(nc *nats.Conn, _ context.CancelFunc) { nc.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := connect(t, natsURL(t))
			cfg := fresh(t, direct)
			watcher := openAt(t, direct, cfg)
			p := newProxy(t)
			nc := connect(t, p.url())
			l := openAt(t, nc, cfg)
			p.lose(false, true)
			ctx, cancel := context.WithCancel(within(t, 30*time.Second))
			defer cancel()
			answered := make(chan error, 1)
			go func() {
				_, err := l.Append(ctx, first(event(1, 1)))
				answered <- err
			}()
			for _, err := range watcher.Read(ctx, eventstore.ReadOptions{Follow: true, To: 1}) {
				if err != nil {
					t.Fatal(err)
				}
			}
			end(nc, cancel)
			if err := <-answered; !errors.Is(err, eventstore.ErrUnknown) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// startServer runs a server of the test's own, at a port that it keeps when it is
// started again.
func startServer(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true, SyncAlways: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server does not start")
	}
	return s
}

// restart stops a server and starts it again at the same address, with what a
// directory holds.
func restart(t *testing.T, s *server.Server, dir string) *server.Server {
	t.Helper()
	addr, ok := s.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatalf("the server listens at %v", s.Addr())
	}
	stop(s)
	return startServer(t, dir, addr.Port)
}

func stop(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

// A restart of the server in the middle of appending and following: nothing is
// lost or doubled, and both go on.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir, server.RANDOM_PORT)
	nc := connect(t, s.ClientURL())
	l := openAt(t, nc, jslog.Config{Stream: "restart", Prefix: "restart", Instance: "test"})
	const total = 60
	ctx := within(t, 60*time.Second)
	appended := make(chan error, 1)
	half := make(chan struct{})
	go func() {
		appended <- func() error {
			expect := uint64(0)
			for v := int64(1); v <= total; v++ {
				seqs, err := l.Append(ctx, []eventstore.Append{{Event: event(1, v), ExpectSeq: expect}})
				if err != nil {
					return err
				}
				if expect = seqs[0]; v == total/2 {
					close(half)
				}
			}
			return nil
		}()
	}()
	followed := make(chan error, 1)
	go func() {
		followed <- func() error {
			v := int64(0)
			for e, err := range l.Read(ctx, eventstore.ReadOptions{Follow: true, To: total}) {
				if err != nil {
					return err
				}
				if v++; e.Version != v || e.Seq != uint64(v) {
					return fmt.Errorf("%s at place %d, want number %d", e.ID(), e.Seq, v)
				}
			}
			return nil
		}()
	}()
	<-half
	s = restart(t, s, dir)
	defer s.Shutdown()
	if err := <-appended; err != nil {
		t.Errorf("append: %v", err)
	}
	if err := <-followed; err != nil {
		t.Errorf("follow: %v", err)
	}
}

// A relay rides through a restart: every job's events are there once, in order.
func TestRelayOverServerRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir, server.RANDOM_PORT)
	l := openAt(t, connect(t, s.ClientURL()), jslog.Config{Stream: "relay", Prefix: "relay", Instance: "test"})
	const jobs, versions = 2000, 4
	o := newFullOutbox(jobs, versions)
	ctx, stop := context.WithCancel(within(t, 60*time.Second))
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- (&relay.Relay{Outbox: o, Log: l, Logger: slog.New(slog.DiscardHandler)}).Run(ctx)
	}()
	at := map[domain.Aggregate]int64{}
	for e, err := range l.Read(ctx, eventstore.ReadOptions{Follow: true, To: jobs * versions}) {
		if err != nil {
			t.Fatal(err)
		}
		if at[e.Aggregate]++; at[e.Aggregate] != e.Version {
			t.Fatalf("%s stands at the place of number %d", e.ID(), at[e.Aggregate])
		}
		if e.Seq == jobs {
			s = restart(t, s, dir)
		}
	}
	<-o.end
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if info, err := l.Info(within(t, 10*time.Second)); err != nil || info.Last != jobs*versions {
		t.Errorf("%d events in the log, %v", info.Last, err)
	}
	s.Shutdown()
}
