package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/accession-ingest/accession/cmd/internal/cli"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/zklive"
	"github.com/accession-ingest/accession/internal/testkit/history"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
)

// asProgram makes the test binary be the program itself.
const asProgram = "ACCESSION_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if stack.ChildMain() { // NATS of a test's own stack
		return
	}
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(context.Background(), os.Args[1:], cli.System()))
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(crashDir) // "" when no test needed the build
		os.Exit(code)
	}))
}

// patience is how long a test waits for what takes a second or two, and half a minute
// with ten thousand files; a busy machine may be ten times as slow.
const patience = 5 * time.Minute

// installation is one of a test's own: a tree, a stream, a database and
// directories, in which the test runs the program as processes.
type installation struct {
	t        testing.TB
	settings map[string]string
	program  string // the binary to run
	environ  []string
	live     *zklive.Store
	log      *jslog.Log
	db       *pgxpool.Pool
	dir      string

	late      int   // faults that ZooKeeper's own log has shown
	begun     int64 // what ZooKeeper had done when nothing was there yet
	bystander *bystander
}

// newInstallation makes one in which processes may die again and again in the
// middle of downloads.
func newInstallation(t testing.TB) *installation {
	t.Helper()
	return newFetching(t, "attempts: 20, timeout: 60s")
}

// newFetching makes one whose profile says of fetching what is given, with settings
// of its own, each key=value.
func newFetching(t testing.TB, fetch string, set ...string) *installation {
	t.Helper()
	in := prepared(t, fetch, set...)
	in.open()
	return in
}

// prepared makes one in which nothing was ever opened: there is no tree, no stream
// and no directory, only the tables.
func prepared(t testing.TB, fetch string, set ...string) *installation {
	t.Helper()
	name, dir := strings.ReplaceAll(uuid.NewString(), "-", ""), t.TempDir()
	in := &installation{t: t, dir: dir, db: projtest.DB(t), program: os.Args[0]}
	in.settings = map[string]string{
		"instance": "test", "zookeeper": address(t, "ACCESSION_TEST_ZOOKEEPER"), "zookeeper_root": "/test-" + name,
		"zookeeper_session_timeout": "1s", "nats": address(t, "ACCESSION_TEST_NATS"), "nats_stream": "TEST_" + name,
		"nats_prefix": "test." + name, "postgres": in.databaseURL(), "data_dir": dir, "space_reserve": "1 MiB",
		"space_cycle": "200ms", "retry_delay": "50ms", "janitor_interval": "500ms", "stop_grace": "5s", "log_format": "json", "listen_ops": "off",
		"max_processing_attempts": "20", // an attempt that a killed process made counts
	}
	var err error
	_, in.begun, err = history.Server(t.Context(), in.settings["zookeeper"])
	in.must(err)
	in.set(set...)
	in.must(os.MkdirAll(filepath.Join(dir, "profiles"), 0o755))
	in.must(os.WriteFile(filepath.Join(dir, "profiles", "test.yaml"), []byte(`name: test
collection: test
owner: The tests
identifier: {naan: 99999, shoulder: fk4}
notify: {from: accession@example.org, to: [depositor@example.org], on: [report]}
fetch: {allow: [127.0.0.1/32], `+fetch+`}
`), 0o600))
	return in
}

// open opens the servers for the test itself, until it ends.
func (in *installation) open() {
	in.t.Helper()
	t := in.t
	cfg, err := config.Load(config.Sources{Flags: in.settings})
	in.must(err)
	in.live, err = zklive.Open(t.Context(), zklive.Config{Servers: cfg.ZooKeeper, Root: cfg.ZooKeeperRoot, Shards: 4})
	in.must(err)
	nc, err := nats.Connect(cfg.NATS[0])
	in.must(err)
	in.log, err = jslog.Open(t.Context(), nc, jslog.Config{Stream: cfg.NATSStream, Prefix: cfg.NATSPrefix, Instance: "test"})
	in.must(err)
	defer in.bystand() // and its end before what follows
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		in.should(in.live.Destroy(ctx))
		in.should(in.live.Close())
		js, err := jetstream.New(nc)
		in.should(err)
		in.should(js.DeleteStream(ctx, cfg.NATSStream))
		nc.Close()
	})
}

func address(t testing.TB, name string) string {
	t.Helper()
	at := os.Getenv(name)
	if at == "" {
		t.Fatalf("%s is not set: run the tests through `make test` or `accession stack exec -- go test ./...`", name)
	}
	return at
}

func (in *installation) databaseURL() string {
	u, err := url.Parse(address(in.t, projtest.Env))
	in.must(err)
	u.Path = "/" + in.db.Config().ConnConfig.Database
	return u.String()
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

// command prepares the program with this installation's settings, which arguments
// may change.
func (in *installation) command(args ...string) *exec.Cmd { return in.commandOf(in.program, args...) }

// commandOf prepares another build of it.
func (in *installation) commandOf(binary string, args ...string) *exec.Cmd {
	var all []string
	for key, value := range in.settings {
		all = append(all, "--set", key+"="+value)
	}
	cmd := exec.Command(binary, append(all, args...)...) //nolint:noctx // the test ends it by signals
	cmd.Env = slices.Concat(os.Environ(), []string{asProgram + "=1"}, in.environ)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// run runs the program to its end and gives what it printed.
func (in *installation) run(args ...string) string {
	in.t.Helper()
	cmd := in.command(args...)
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		in.t.Fatalf("accession %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out)
}

// service is one `accession serve`.
type service struct {
	in   *installation
	cmd  *exec.Cmd
	log  *lockedBuffer
	once sync.Once
}

// serve starts one with further arguments.
func (in *installation) serve(args ...string) *service { return in.serveAt("", args...) }

// serveAt starts one with variables such as that which names a crash point,
// NAME=point, with spaces between them.
func (in *installation) serveAt(env string, args ...string) *service {
	in.t.Helper()
	s := &service{in: in, cmd: in.command(append([]string{"serve"}, args...)...), log: &lockedBuffer{}}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.Env = append(s.cmd.Env, strings.Fields(env)...)
	in.must(s.cmd.Start())
	in.t.Cleanup(func() {
		s.kill()
		if in.t.Failed() {
			in.t.Logf("log of serve %d:\n%s", s.cmd.Process.Pid, s.log.tail(6000))
		}
	})
	return s
}

// kill ends the process as a power cut would.
func (s *service) kill() {
	s.once.Do(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	})
}

// stop ends it as an operator does; it must exit 0.
func (s *service) stop() {
	s.in.t.Helper()
	s.once.Do(func() {
		s.in.should(s.cmd.Process.Signal(syscall.SIGTERM))
		if err := s.cmd.Wait(); err != nil {
			s.in.t.Errorf("serve did not stop in order: %v", err)
		}
	})
}

func (s *service) signal(sig os.Signal) {
	s.in.t.Helper()
	s.in.must(s.cmd.Process.Signal(sig))
}

// lockedBuffer keeps what a service logs.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string { return l.tail(1 << 30) }

func (l *lockedBuffer) tail(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.b.String()
	return s[max(0, len(s)-n):]
}

// await follows the log until want says that the event is the one.
func (in *installation) await(what string, from uint64, want func(domain.Recorded) bool) domain.Recorded {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	for r, err := range in.log.Read(ctx, eventstore.ReadOptions{From: from, Follow: true}) {
		if err != nil {
			in.t.Fatalf("waiting for %s: %v", what, err)
		}
		if want(r) {
			return r
		}
	}
	in.t.Fatalf("waiting for %s: %v", what, ctx.Err())
	return domain.Recorded{}
}

// proven fails the test unless the log is whole, and ZooKeeper, the fold of the
// log and the tables agree; and unless claims and changes were in order all the
// while. Everything must be at rest and projected.
func (in *installation) proven() {
	in.t.Helper()
	ctx, cancel := context.WithTimeout(in.t.Context(), patience)
	defer cancel()
	last := map[domain.Aggregate]int64{}
	for r, err := range in.log.Read(ctx, eventstore.ReadOptions{}) {
		in.must(err)
		if r.Version != last[r.Aggregate]+1 {
			in.t.Errorf("the log has %s after number %d of that aggregate", r.ID(), last[r.Aggregate])
		}
		cause := domain.Event{Aggregate: r.Aggregate, Version: r.Version - 1}.ID()
		if r.Type == domain.EventJobDeleted { // with its batch
			cause = domain.Event{Aggregate: r.BatchID.Aggregate(), Version: last[r.BatchID.Aggregate()]}.ID()
		}
		if r.Aggregate.Kind == domain.KindJob && r.Version > 1 && strings.HasPrefix(string(r.Actor), "daemon/") && r.CausationID != cause {
			in.t.Errorf("%s says it was caused by %q, not by %s", r.ID(), r.CausationID, cause)
		}
		last[r.Aggregate] = r.Version
	}
	for a, version := range last {
		in.must(projections.NewWaiter(in.db).For(ctx, a, version))
	}
	found, err := consistency.Compare(ctx, in.live, in.log, in.db)
	in.must(err)
	for _, d := range found {
		in.t.Errorf("difference: %s", d)
	}
	in.linearizable(ctx)
	in.apart(ctx)
}

// count asks SQL for one number.
func (in *installation) count(query string, args ...any) int {
	in.t.Helper()
	var n int
	in.must(in.db.QueryRow(in.t.Context(), query, args...).Scan(&n))
	return n
}
