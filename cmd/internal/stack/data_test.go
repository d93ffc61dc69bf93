package stack

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	natsclient "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// world is one client of each server.
type world struct {
	zk *zk.Conn
	js jetstream.JetStream
	pg *pgx.Conn
}

func connect(t *testing.T, at Addresses) world {
	t.Helper()
	zkc, _, err := zk.Connect([]string{at.ZooKeeper}, 5*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(zkc.Close)
	nc, err := natsclient.Connect(at.NATS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	pg, err := pgx.Connect(t.Context(), at.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pg.Close(context.Background()) })
	return world{zk: zkc, js: js, pg: pg}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// write leaves one value in each server.
func (w world) write(t *testing.T, value string) {
	t.Helper()
	ctx := t.Context()
	_, zkErr := w.zk.Create("/kept", []byte(value), 0, zk.WorldACL(zk.PermAll))
	_, streamErr := w.js.CreateStream(ctx, jetstream.StreamConfig{Name: "KEPT", Subjects: []string{"kept"}})
	_, publishErr := w.js.Publish(ctx, "kept", []byte(value))
	_, pgErr := w.pg.Exec(ctx, "create table kept as select '"+value+"'::text as value")
	if err := errors.Join(zkErr, streamErr, publishErr, pgErr); err != nil {
		t.Fatal(err)
	}
}

// check compares what each server kept.
func (w world) check(t *testing.T, want string) {
	t.Helper()
	ctx := t.Context()
	node, _, err := w.zk.Get("/kept")
	if err != nil || string(node) != want {
		t.Errorf("ZooKeeper kept %q (%v), want %q", node, err, want)
	}
	stream, err := w.js.Stream(ctx, "KEPT")
	if err != nil {
		t.Fatal(err)
	}
	msg, err := stream.GetMsg(ctx, 1)
	if err != nil || string(msg.Data) != want {
		t.Errorf("JetStream kept %v (%v), want %q", msg, err, want)
	}
	var row string
	if err := w.pg.QueryRow(ctx, "select value from kept").Scan(&row); err != nil || row != want {
		t.Errorf("PostgreSQL kept %q (%v), want %q", row, err, want)
	}
}

// durability asks the running servers whether they sync what they acknowledge.
func (w world) durability(t *testing.T) {
	t.Helper()
	var fsync string
	if err := w.pg.QueryRow(t.Context(), "show fsync").Scan(&fsync); err != nil || fsync != "on" {
		t.Errorf("PostgreSQL: fsync = %q (%v), want on", fsync, err)
	}
}
