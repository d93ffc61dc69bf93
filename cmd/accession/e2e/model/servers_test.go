package model_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/storetest"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/testkit/tree"
	"github.com/accession-ingest/accession/internal/testkit/zkline"
)

// onServers runs everything over ZooKeeper and JetStream, in a tree and a stream of its
// own.
type onServers struct {
	t      *rapid.T
	root   string
	keeper *zklive.Store
	l      *jslog.Log
	lines  map[storetest.Store]*zkline.Line
}

func newOnServers(t *rapid.T, nc *nats.Conn) *onServers {
	name := strings.ReplaceAll(uuid.NewString(), "-", "")
	o := &onServers{t: t, root: "/test-" + name, lines: map[storetest.Store]*zkline.Line{}}
	var err error
	o.keeper, err = zklive.Open(t.Context(), zklive.Config{Servers: []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, Root: o.root, Shards: 2})
	o.must(err)
	o.l, err = jslog.Open(t.Context(), nc, jslog.Config{Stream: "TEST_" + name, Prefix: "test." + name, Instance: "test"})
	o.must(err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = o.keeper.Close()
		if err := tree.Destroy(ctx, []string{os.Getenv("ACCESSION_TEST_ZOOKEEPER")}, o.root); err != nil {
			t.Error(err)
		}
		js, err := jetstream.New(nc)
		if err == nil {
			err = js.DeleteStream(ctx, "TEST_"+name)
		}
		if err != nil {
			t.Error(err)
		}
	})
	return o
}

func (o *onServers) must(err error) {
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *onServers) open() storetest.Store {
	l := zkline.New(o.t, os.Getenv("ACCESSION_TEST_ZOOKEEPER"))
	s, err := zklive.Open(o.t.Context(), zklive.Config{Servers: []string{l.Address()}, Root: o.root, SessionTimeout: 10 * time.Second,
		GroupCommit: true, RelayHints: true})
	o.must(err)
	o.t.Cleanup(func() { _ = s.Close() })
	store := storetest.StoreOf(s)
	o.lines[store] = l
	return store
}

// expire ends the session at the server, and waits until the store has the next one.
func (o *onServers) expire(s storetest.Store) {
	store := s.Live.(*zklive.Store)
	_, before := store.Sessions()
	o.must(o.lines[s].End())
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		if live, lost := store.Sessions(); live && lost > before {
			return
		}
		if time.Now().After(end) {
			o.t.Fatal("the session does not end")
		}
	}
}

// restart closes the store: the server ends its session at once, as it does after a
// while when the process died.
func (o *onServers) restart(s storetest.Store) storetest.Store {
	o.must(s.Live.(*zklive.Store).Close())
	return o.open()
}

func (o *onServers) log() eventstore.Log { return o.l }
func (o *onServers) idle() time.Duration { return 30 * time.Millisecond }
func (o *onServers) exact() bool         { return false }
func (o *onServers) slow() bool          { return true }

// whole is what the program's own check finds.
func (o *onServers) whole(ctx context.Context) (wrong []string, err error) {
	report, err := consistency.Verify(ctx, consistency.Config{Live: consistency.Live{Inspector: o.keeper, RingInspector: o.keeper, QueryInspector: o.keeper, EntryInspector: o.keeper, Layout: o.keeper, State: o.keeper, Entries: o.keeper, IDs: o.keeper}, Log: o.l, Wait: 2 * time.Second})
	for _, f := range report.Findings {
		wrong = append(wrong, f.String())
	}
	return wrong, err
}

// TestModelOnServers does some of it over the real servers.
//
// Shows: P2 P3 P5
func TestModelOnServers(t *testing.T) {
	nc := connected(t)
	defer nc.Close()
	const enough = 200
	long(t, "120", "1")
	begun := commands.Load()
	for commands.Load() < begun+enough && !t.Failed() {
		rapid.Check(t, func(rt *rapid.T) { runs(rt, newOnServers(rt, nc)) })
	}
	t.Logf("%d commands", commands.Load()-begun)
}

// connected returns a connection to the NATS that tests may use.
func connected(t *testing.T) *nats.Conn {
	t.Helper()
	for _, name := range []string{"ACCESSION_TEST_ZOOKEEPER", "ACCESSION_TEST_NATS"} {
		if os.Getenv(name) == "" {
			t.Fatal(name + " is not set: run the tests through `make test` or `accession stack exec -- go test ./...`")
		}
	}
	nc, err := nats.Connect(os.Getenv("ACCESSION_TEST_NATS"))
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

// TestDepositsOnServers does some of it over the real servers.
//
// Shows: P2 P3
func TestDepositsOnServers(t *testing.T) {
	nc := connected(t)
	defer nc.Close()
	long(t, "120", "3")
	rapid.Check(t, func(rt *rapid.T) { deposited(rt, newOnServers(rt, nc)) })
}
