package e2e

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/projections/projtest"
)

// world is an installation of a test's own: its tree in ZooKeeper, its stream, its
// database, its directories.
type world struct {
	t     *testing.T
	set   map[string]string // the settings that cfg was made of
	cfg   config.Resolved
	wired *wire.World
	app   *app.App
}

// server gives the address of a server that tests may use.
func server(t *testing.T, name string) string {
	t.Helper()
	at := os.Getenv(name)
	if at == "" {
		t.Fatalf("%s is not set: run the tests through `make test` or `accession stack exec -- go test ./...`", name)
	}
	return at
}

// profileYAML is the one profile of a world; tests may replace it.
const profileYAML = `name: test
collection: test
owner: The tests
identifier: {naan: 99999, shoulder: fk4}
notify: {from: accession@example.org, to: [depositor@example.org], on: [report]}
fetch: {allow: [127.0.0.1/32], attempts: 2, timeout: 2s}
`

// newWorld makes one, with its tables, and takes it down at the end of the test.
func newWorld(t *testing.T, set ...string) *world {
	t.Helper()
	zookeeper, natsURL := server(t, "ACCESSION_TEST_ZOOKEEPER"), server(t, "ACCESSION_TEST_NATS")
	name, dir := strings.ReplaceAll(uuid.NewString(), "-", ""), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "profiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "profiles", "test.yaml"), []byte(profileYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{
		"instance": "test", "zookeeper": zookeeper, "zookeeper_root": "/test-" + name, "zookeeper_session_timeout": "4s",
		"nats": natsURL, "nats_stream": "TEST_" + name, "nats_prefix": "test." + name, "postgres": databaseURL(t, projtest.DB(t)),
		"data_dir": dir, "space_reserve": "1 MiB", "space_cycle": "200ms", "retry_delay": "50ms", "janitor_interval": "300ms",
		"fetch_connect_timeout": "2s", "fetch_response_timeout": "1s", "outbox_grace": "500ms", "stop_grace": "5s", "listen_ops": "off",
	}
	for _, s := range set {
		key, value, _ := strings.Cut(s, "=")
		flags[key] = value
	}
	cfg, err := config.Load(config.Sources{Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, set: flags, cfg: cfg, wired: wire.New(cfg, slog.New(slog.DiscardHandler))}
	w.app = &app.App{World: w.wired, Actor: "user/test"}
	t.Cleanup(w.destroy)
	return w
}

// databaseURL names a test's database as a setting does.
func databaseURL(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	u, err := url.Parse(server(t, projtest.Env))
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + pool.Config().ConnConfig.Database
	return u.String()
}

func (w *world) destroy() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.wired.Close(); err != nil {
		w.t.Errorf("close: %v", err)
	}
	s, err := zklive.Open(ctx, zklive.Config{Servers: w.cfg.ZooKeeper, Root: w.cfg.ZooKeeperRoot})
	if err == nil {
		err = errors.Join(s.Destroy(ctx), s.Close())
	}
	if err != nil {
		w.t.Errorf("remove the tree: %v", err)
	}
	nc, err := nats.Connect(w.cfg.NATS[0])
	if err != nil {
		w.t.Errorf("remove the stream: %v", err)
		return
	}
	closed := make(chan struct{})
	nc.SetClosedHandler(func(*nats.Conn) { close(closed) })
	if js, err := jetstream.New(nc); err == nil {
		if err := js.DeleteStream(ctx, w.cfg.NATSStream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			w.t.Errorf("remove the stream: %v", err)
		}
	}
	nc.Close()
	<-closed
}

// serve runs the service until stop is called, or the test ends.
func (w *world) serve(roles ...run.Role) (stop func()) {
	w.t.Helper()
	if len(roles) == 0 {
		roles = run.AllRoles
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	log := &testLog{t: w.t}
	s := &run.Service{Config: w.cfg, Roles: roles, Version: "test", Ready: func() { close(ready) },
		Log: slog.New(slog.NewTextHandler(log, nil))}
	go func() { ended <- s.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				w.t.Errorf("the service ended with %v", err)
			}
			log.close()
		})
	}
	w.t.Cleanup(stop)
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		w.t.Fatalf("the service did not start: %v", err)
	}
	return stop
}

// testLog shows the service's log when the test fails.
type testLog struct {
	mu sync.Mutex
	t  *testing.T
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.t != nil {
		l.t.Log(strings.TrimSpace(string(p)))
	}
	return len(p), nil
}

func (l *testLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.t = nil
}

func (w *world) ctx() context.Context {
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	return ctx
}

// submit deposits and gives the batch.
func (w *world) submit(d app.Deposit) domain.BatchID {
	w.t.Helper()
	d.Profile, d.Submitter = "test", "tester"
	s, err := w.app.Submit(w.ctx(), d)
	if err != nil {
		w.t.Fatalf("submit %s: %v", d.Payload, err)
	}
	return s.Batch
}

// rest waits until a batch is at rest and the tables show it, and gives its report.
func (w *world) rest(id domain.BatchID) app.BatchReportView {
	w.t.Helper()
	ctx := w.ctx()
	end, err := w.app.Watch(ctx, id, 0, func(app.Event, app.Progress) {})
	if err == nil {
		err = w.app.WaitProjected(ctx, id, end.Version)
	}
	if err != nil {
		w.t.Fatalf("wait for %s: %v; it is %+v", id, err, end)
	}
	v, err := w.app.BatchReport(ctx, id, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// agree fails the test unless log, ZooKeeper and PostgreSQL hold the same. The
// janitor may still be cleaning up: it is waited for, by looking until the log
// stands still between two looks that agree.
func (w *world) agree() {
	w.t.Helper()
	ctx := w.ctx()
	live, err := w.wired.Live(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	log, err := w.wired.Log(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	db, err := w.wired.DB(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	for {
		if err := w.app.CatchUp(ctx); err != nil {
			w.t.Fatal(err)
		}
		before, err := log.Info(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		found, err := consistency.Compare(ctx, live, log, db)
		if err != nil {
			w.t.Fatal(err)
		}
		if len(found) == 0 {
			return
		}
		after, err := log.Info(ctx)
		if err != nil {
			w.t.Fatal(err)
		}
		if before.Last == after.Last {
			for _, d := range found {
				w.t.Error(d)
			}
			return
		}
	}
}
