//go:build soak && linux

package powercut_test

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/eventstore/jslog"
)

// client writes to one server and reads everything back. A new one is made after
// each power cut.
type client interface {
	// write makes the entries durable, all or none, by one of several writers; they
	// are noted only when it returns nil.
	write(ctx context.Context, entries []string) error
	// all is what the server has.
	all(ctx context.Context) (map[string]bool, error)
	close()
}

// dial opens a client of a server; the first one makes what the writes need.
func dial(ctx context.Context, name stack.Server, at stack.Addresses) (client, error) {
	switch name {
	case stack.ZooKeeper:
		return dialZooKeeper(at.ZooKeeper)
	case stack.NATS:
		return dialNATS(ctx, at.NATS)
	default:
		return dialPostgres(ctx, at.Postgres, "on")
	}
}

// zooKeeper writes as a transition does: one multi that makes nodes.
type zooKeeper struct{ conn *zk.Conn }

type silent struct{}

func (silent) Printf(string, ...any) {}

func dialZooKeeper(at string) (client, error) {
	conn, events, err := zk.Connect([]string{at}, 10*time.Second, zk.WithLogger(silent{}))
	if err != nil {
		return nil, err
	}
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	go func() {
		for range events { // it blocks who does not listen
		}
	}()
	return zooKeeper{conn}, nil
}

func (z zooKeeper) write(_ context.Context, entries []string) error {
	var ops []any
	for _, e := range entries {
		ops = append(ops, &zk.CreateRequest{Path: "/" + e, Data: []byte(e), Acl: zk.WorldACL(zk.PermAll)})
	}
	_, err := z.conn.Multi(ops...)
	return err
}

func (z zooKeeper) all(context.Context) (map[string]bool, error) {
	if _, err := z.conn.Sync("/"); err != nil {
		return nil, err
	}
	names, _, err := z.conn.Children("/")
	return set(names), err
}

func (z zooKeeper) close() { z.conn.Close() }

func set(names []string) map[string]bool {
	all := make(map[string]bool, len(names))
	for _, n := range names {
		all[n] = true
	}
	return all
}

// natsClient writes into a stream with the log's own settings; several entries go as
// an atomic batch, as the relay sends them.
type natsClient struct {
	nc *nats.Conn
	js jetstream.JetStream
}

var logConfig = jslog.Config{Stream: "CUT", Prefix: "cut", Instance: "cut"}

func dialNATS(ctx context.Context, at string) (client, error) {
	nc, err := nats.Connect(at, nats.NoReconnect())
	if err != nil {
		return nil, err
	}
	if _, err := jslog.Open(ctx, nc, logConfig); err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	return natsClient{nc, js}, err
}

func (n natsClient) write(ctx context.Context, entries []string) error {
	for i, e := range entries[:len(entries)-1] {
		m := nats.NewMsg("cut.job." + e)
		m.Header.Set("Nats-Batch-Id", entries[0])
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(i+1))
		m.Data = []byte(e)
		if err := n.nc.PublishMsg(m); err != nil {
			return err
		}
	}
	last := entries[len(entries)-1]
	m := nats.NewMsg("cut.job." + last)
	m.Data = []byte(last)
	if len(entries) > 1 {
		m.Header.Set("Nats-Batch-Id", entries[0])
		m.Header.Set("Nats-Batch-Sequence", strconv.Itoa(len(entries)))
		m.Header.Set("Nats-Batch-Commit", "1")
	}
	_, err := n.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	return err
}

func (n natsClient) all(ctx context.Context) (map[string]bool, error) {
	stream, err := n.js.Stream(ctx, logConfig.Stream)
	if err != nil {
		return nil, err
	}
	all, end := map[string]bool{}, stream.CachedInfo().State.LastSeq
	if end == 0 {
		return all, nil
	}
	c, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	messages, err := c.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return nil, err
		}
		all[string(m.Data())] = true
		if meta, err := m.Metadata(); err != nil || meta.Sequence.Stream >= end {
			return all, err
		}
	}
}

func (n natsClient) close() { n.nc.Close() }

// postgres writes a transaction of several rows.
type postgres struct{ db *pgxpool.Pool }

func dialPostgres(ctx context.Context, at, synchronous string) (client, error) {
	cfg, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, err
	}
	cfg.ConnConfig.RuntimeParams["synchronous_commit"] = synchronous
	db, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(ctx, "create table if not exists cut (entry text primary key)")
	return postgres{db}, err
}

func (p postgres) write(ctx context.Context, entries []string) error {
	return pgx.BeginFunc(ctx, p.db, func(tx pgx.Tx) error {
		for _, e := range entries {
			if _, err := tx.Exec(ctx, "insert into cut values ($1)", e); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p postgres) all(ctx context.Context) (map[string]bool, error) {
	rows, err := p.db.Query(ctx, "select entry from cut")
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read back: %w", err)
	}
	return set(names), nil
}

func (p postgres) close() { p.db.Close() }
