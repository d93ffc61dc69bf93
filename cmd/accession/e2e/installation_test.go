package e2e

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/cmd/internal/wire"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
	"github.com/accession-ingest/accession/internal/testkit/history"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
	"github.com/accession-ingest/accession/projections/projtest"
)

func TestMain(m *testing.M) {
	if stack.ChildMain() { // NATS of a test's own stack
		return
	}
	flag.Parse()
	explicit := false
	flag.Visit(func(f *flag.Flag) { explicit = explicit || f.Name == "test.parallel" })
	if !explicit { // tests mostly wait: for sessions to end, for grace times
		_ = flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
	removeKey := bucket.SetKey()
	// A request that is made at the moment in which zk's connection is closed, and cannot be
	// written, gets three answers from zk (v1.0.4, queueRequest, sendData, flushRequests). It has
	// room for two, and the goroutine of the closed connection does not end.
	closed := goleak.IgnoreTopFunction("github.com/go-zookeeper/zk.(*Conn).flushRequests")
	goleak.VerifyTestMain(m, closed, goleak.Cleanup(func(code int) {
		removeKey()
		_ = os.RemoveAll(buildsDir)
		os.Exit(code)
	}))
}

// installation is one of a test's own: a tree, a stream, a database and directories.
// A test runs the program in it as processes ([installation.serve],
// [installation.run]) or in its own process ([installation.serveInProcess],
// [installation.call], app).
type installation struct {
	t        testing.TB
	settings map[string]string
	program  string // the binary to run, "" = [released]
	environ  []string
	calls    *atomic.Int64 // of the program
	dir      string
	db       *pgxpool.Pool

	// What follows from the settings; servers are opened when they are first needed.
	cfg   config.Resolved
	wired *wire.Installation
	app   *app.App

	// The test's own view, once it is opened.
	live      *zklive.Store
	log       *jslog.Log
	late      int           // faults that ZooKeeper's own log has shown
	begun     int64         // what ZooKeeper had done when nothing was there yet
	dryRun    []domain.Code // damages that [installation.mends] has tried to mend
	bystander *bystander
	front     *door  // of a process that serves, once one does so to be told of profiles
	mender    string // the key of an administrator there
}

// newInstallation returns one for a program in the test's own process, with further
// settings, each key=value. Nothing was ever opened: there are only the tables.
func newInstallation(t testing.TB, set ...string) *installation {
	t.Helper()
	return prepare(t, "attempts: 2, timeout: 1m", append([]string{"zookeeper_session_timeout=4s", "janitor_interval=300ms",
		"fetch_response_timeout=1m", "outbox_grace=500ms"}, set...)...)
}

// newImpatient is [newInstallation] of one that soon has enough of a server that does not answer,
// and still waits long enough, on a busy machine, for one that does.
func newImpatient(t testing.TB) *installation {
	t.Helper()
	in := newInstallation(t, "fetch_response_timeout=4s")
	in.editProfile("timeout: 1m", "timeout: 10s")
	return in
}

// newPatient is [newInstallation] of one that waits for a slow server until the test ends: no
// machine is too busy for it.
func newPatient(t testing.TB, set ...string) *installation {
	t.Helper()
	return prepare(t, "attempts: 20, timeout: 1h", append([]string{"zookeeper_session_timeout=4s", "janitor_interval=300ms",
		"fetch_response_timeout=30m", "fetch_manifest_timeout=1h", "outbox_grace=500ms"}, set...)...)
}

// forProcesses are the settings of an installation whose processes are killed.
var forProcesses = []string{"zookeeper_session_timeout=1s", "janitor_interval=500ms", "log_format=json", "postgres_conns=4",
	"max_processing_attempts=20"} // an attempt that a killed process made counts

// newForProcesses returns one that is opened, for processes that are killed and
// started again; fetch is what its profile says of fetching.
func newForProcesses(t testing.TB, fetch string, set ...string) *installation {
	t.Helper()
	in := prepare(t, fetch, append(slices.Clone(forProcesses), set...)...)
	in.open()
	return in
}

// prepare makes directories, a profile and the tables, and removes everything at the
// end of the test.
func prepare(t testing.TB, fetch string, set ...string) *installation {
	t.Helper()
	name, dir := strings.ReplaceAll(uuid.NewString(), "-", ""), t.TempDir()
	in := &installation{t: t, dir: dir, db: projtest.DB(t), calls: new(atomic.Int64)}
	in.settings = map[string]string{
		"instance": "test", "zookeeper": address(t, "ACCESSION_TEST_ZOOKEEPER"), "zookeeper_root": "/test-" + name,
		"nats": address(t, "ACCESSION_TEST_NATS"), "nats_stream": "TEST_" + name, "nats_prefix": "test." + name,
		"postgres": in.databaseURL(), "data_dir": dir, "space_reserve": "1 MiB",
		"space_cycle": "200ms", "retry_delay": "50ms", "stop_grace": "5s", "listen_ops": "off",
		"open_timeout": "2m", // no machine is too busy for it
	}
	var err error
	_, in.begun, err = history.Server(t.Context(), in.settings["zookeeper"])
	in.must(err)
	in.set(set...)
	in.must(os.MkdirAll(filepath.Join(dir, "profiles"), 0o755))
	in.must(os.WriteFile(in.profileFile(), []byte(profileOf(fetch)), 0o600))
	t.Cleanup(in.destroy)
	return in
}

// profileOf returns the text of the one profile; fetch is what it says of fetching.
func profileOf(fetch string) string {
	return `name: test
collection: test
owner: The tests
identifier: {naan: 99999, shoulder: fk4}
notify: {from: accession@example.org, to: [depositor@example.org], on: [report]}
fetch: {allow: [127.0.0.1/32], ` + fetch + `}
`
}

// editProfile replaces a text in the profile.
func (in *installation) editProfile(from, to string) {
	in.t.Helper()
	text, err := os.ReadFile(in.profileFile())
	in.must(err)
	if !bytes.Contains(text, []byte(from)) {
		in.t.Fatalf("the profile does not say %q:\n%s", from, text)
	}
	in.must(os.WriteFile(in.profileFile(), bytes.Replace(text, []byte(from), []byte(to), 1), 0o600))
}

func (in *installation) profileFile() string { return filepath.Join(in.dir, "profiles", "test.yaml") }

// set changes settings, each key=value.
func (in *installation) set(settings ...string) {
	in.t.Helper()
	for _, s := range settings {
		key, value, _ := strings.Cut(s, "=")
		in.settings[key] = value
	}
	in.configure()
}

// configure prepares what follows from the settings, and closes what was opened by earlier ones.
func (in *installation) configure() {
	in.t.Helper()
	var err error
	if in.wired != nil {
		in.must(in.wired.Close())
	}
	in.cfg, err = config.Load(config.Sources{Flags: in.settings})
	in.must(err)
	in.wired = wire.New(in.cfg, slog.New(slog.DiscardHandler))
	in.app = &app.App{Open: in.wired.Resources(), Actor: "user/test"}
}

// destroy closes what the test opened and removes the tree and the stream. Removing has
// no limit of its own: nothing is tested by it, and a large tree takes a busy server
// minutes.
func (in *installation) destroy() {
	ctx := context.WithoutCancel(in.t.Context())
	in.should(in.wired.Close())
	in.should(zktree.Destroy(ctx, in.cfg.ZooKeeper, in.cfg.ZooKeeperRoot))
	nc, closeNATS := in.connectNATS()
	defer closeNATS()
	js, err := jetstream.New(nc)
	in.should(err)
	if err := js.DeleteStream(ctx, in.cfg.NATSStream); !errors.Is(err, jetstream.ErrStreamNotFound) {
		in.should(err)
	}
}

// nodesFrom returns a node and all nodes below it, by name below the root.
func (in *installation) nodesFrom(name string) map[string]zktree.Node {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	nodes, err := zktree.Dump(ctx, in.cfg.ZooKeeper, in.cfg.ZooKeeperRoot, name)
	in.must(err)
	return nodes
}

// connectNATS connects to NATS; closing returns when nothing of the connection runs
// any more.
func (in *installation) connectNATS() (nc *nats.Conn, closing func()) {
	in.t.Helper()
	closed := make(chan struct{})
	nc, err := nats.Connect(in.cfg.NATS[0], nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	in.must(err)
	return nc, func() { nc.Close(); <-closed }
}

// open opens the servers for the test itself, until it ends.
func (in *installation) open() {
	in.t.Helper()
	ctx := in.t.Context()
	var err error
	in.live, err = zklive.Open(ctx, zklive.Config{Servers: in.cfg.ZooKeeper, Root: in.cfg.ZooKeeperRoot, Shards: 4})
	in.must(err)
	in.t.Cleanup(func() { in.should(in.live.Close()) })
	nc, closeNATS := in.connectNATS()
	in.t.Cleanup(closeNATS)
	in.log, err = jslog.Open(ctx, nc, jslog.Config{Stream: in.cfg.NATSStream, Prefix: in.cfg.NATSPrefix, Instance: "test"})
	in.must(err)
	in.bystand()
}

// address returns the address of a server that tests may use.
func address(t testing.TB, name string) string {
	t.Helper()
	at := os.Getenv(name)
	if at == "" {
		t.Fatalf("%s is not set: run the tests through `make test` or `accession stack exec -- go test ./...`", name)
	}
	return at
}

// databaseURL names the test's database as a setting does.
func (in *installation) databaseURL() string {
	in.t.Helper()
	u, err := url.Parse(address(in.t, projtest.Env))
	in.must(err)
	u.Path = "/" + in.db.Config().ConnConfig.Database
	return u.String()
}

func (in *installation) ctx() context.Context {
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	in.t.Cleanup(cancel)
	return ctx
}

func (in *installation) must(err error) {
	in.t.Helper()
	if err != nil {
		in.t.Fatal(err)
	}
}

func (in *installation) should(err error) {
	in.t.Helper()
	if err != nil {
		in.t.Error(err)
	}
}

// count asks SQL for one number.
func (in *installation) count(query string, args ...any) int {
	in.t.Helper()
	var n int
	in.must(in.db.QueryRow(in.t.Context(), query, args...).Scan(&n))
	return n
}
