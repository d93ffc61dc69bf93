package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Server names one of the three servers, in logs, files and errors.
type Server string

// The servers of a stack.
const (
	ZooKeeper  Server = "zookeeper"
	PostgreSQL Server = "postgres"
	NATS       Server = "nats"
)

// Phase is a step in the life of a server.
type Phase string

// The phases, in their order. Preparing comes only when there is a new data
// directory to make.
const (
	Preparing Phase = "preparing"
	Starting  Phase = "starting"
	Healthy   Phase = "healthy"
	Stopping  Phase = "stopping"
	Stopped   Phase = "stopped"
)

// startTimeout bounds how long one server may take until it answers. Far above
// the usual three seconds: a busy machine with two cores is no fault.
const startTimeout = 90 * time.Second

// Options says where a stack lives and what is called on its way.
type Options struct {
	// Dir is the data directory; made when it is missing. Required.
	Dir string
	// Log gets one line a phase. Nil: nothing is logged.
	Log *slog.Logger
	// Progress is called for each phase of each server, one call at a time. Optional.
	Progress func(Server, Phase)
	// ZooKeeperHeap is how large the heap of ZooKeeper may become, in bytes. Default
	// [DefaultHeap].
	ZooKeeperHeap int64
}

// DefaultHeap is how large the heap of ZooKeeper may become, in bytes.
const DefaultHeap = 2 << 30

// Addresses says how to reach the servers.
type Addresses struct {
	ZooKeeper string `json:"zookeeper"` // host:port
	NATS      string `json:"nats"`      // nats:// URL with the password
	Postgres  string `json:"postgres"`  // postgres:// URL of a superuser with the password, database "postgres"
}

// Stack is a running set of servers. Its methods may be called concurrently.
type Stack struct {
	opts     Options
	log      *slog.Logger
	dir      *directory
	launcher *launcher
	members  map[Server]*member

	reporting sync.Mutex // serialises Options.Progress

	life context.Context         // ends with the stack; its cause is the death of a server, if one died first
	end  context.CancelCauseFunc // ends life
}

// Start starts the three servers side by side and returns when all of them
// answer. ctx bounds the start only: the stack runs until Stop. Errors: ErrLocked
// when another stack runs in the directory, *MissingError when something is not
// installed, *ServerError when a server does not come up.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	if missing := Missing(); len(missing) > 0 {
		return nil, &MissingError{Tools: missing}
	}
	dir, err := openDirectory(opts.Dir)
	if err != nil {
		return nil, err
	}
	s := newStack(dir, opts)
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func newStack(dir *directory, opts Options) *Stack {
	s := &Stack{opts: opts, log: cmp.Or(opts.Log, slog.New(slog.DiscardHandler)), dir: dir, launcher: newLauncher()}
	s.life, s.end = context.WithCancelCause(context.Background())
	return s
}

func (s *Stack) start(ctx context.Context) error {
	if err := s.dir.endLeftovers(ctx); err != nil {
		return err
	}
	if err := removeStrays(apart, s.dir.state.Postgres); err != nil {
		s.log.Warn("stack: what another stack left behind stays", "error", err)
	}
	if err := os.MkdirAll(filepath.Join(s.dir.path, "logs"), 0o700); err != nil {
		return fmt.Errorf("stack: %w", err)
	}
	var err error
	for range portAttempts {
		if err = s.startServers(ctx); !portTaken(err) {
			return err
		}
		s.log.Warn("stack: a port was taken by another process in the last moment, trying others")
		if err := s.stopServers(ctx); err != nil {
			return err
		}
	}
	return err
}

func (s *Stack) startServers(ctx context.Context) error {
	ports, err := s.dir.choosePorts()
	if err != nil {
		return err
	}
	postgres, err := newPostgres(s.dir, ports[PostgreSQL])
	if err != nil {
		return err
	}
	s.members = map[Server]*member{
		ZooKeeper:  s.member(ZooKeeper, newZooKeeper(filepath.Join(s.dir.path, "zookeeper"), ports[ZooKeeper], s.opts.ZooKeeperHeap)),
		PostgreSQL: s.member(PostgreSQL, postgres),
		NATS:       s.member(NATS, &nats{dir: filepath.Join(s.dir.path, "nats"), port: ports[NATS], id: s.dir.state.ID, pass: s.dir.state.Password}),
	}
	if err := s.dir.update(func(st *state) { st.Addresses = s.Addresses() }); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, m := range s.members {
		group.Go(func() error { return m.start(ctx) })
	}
	return group.Wait()
}

func (s *Stack) member(name Server, svc service) *member {
	return &member{stack: s, name: name, service: svc, logFile: filepath.Join(s.dir.path, "logs", string(name)+".log")}
}

// Addresses returns how to reach the servers. They do not change.
func (s *Stack) Addresses() Addresses {
	return Addresses{
		ZooKeeper: s.members[ZooKeeper].service.address(),
		NATS:      s.members[NATS].service.address(),
		Postgres:  s.members[PostgreSQL].service.address(),
	}
}

// Dir returns the absolute path of the data directory.
func (s *Stack) Dir() string { return s.dir.path }

// Stop stops the servers side by side, in order (their data is flushed), and
// frees the directory. When ctx ends first they are killed. It returns what went
// wrong; the servers are gone in any case. A second Stop does nothing.
func (s *Stack) Stop(ctx context.Context) error {
	s.end(nil)
	err := s.stopServers(ctx)
	s.launcher.close()
	return errors.Join(err, s.dir.close())
}

func (s *Stack) stopServers(ctx context.Context) error {
	faults := make(chan error)
	for _, m := range s.members {
		go func() { faults <- m.stop(ctx) }()
	}
	var all error
	for range s.members {
		all = errors.Join(all, <-faults)
	}
	return all
}

// Done is closed when a server died without an order, and by Stop. Err then names
// the server.
func (s *Stack) Done() <-chan struct{} { return s.life.Done() }

// Err is nil while Done is open and after Stop, else the *ServerError of the
// server that died first.
func (s *Stack) Err() error {
	if cause := context.Cause(s.life); cause != context.Canceled { //nolint:errorlint // the cause that Stop gives, not one within another
		return cause
	}
	return nil
}

// DataDir returns the directory with the data of a server.
func (s *Stack) DataDir(name Server) string { return s.members[name].service.data() }

// Kill ends a server as kill -9 does, with all its processes, and returns when
// they are gone. Done stays open: this death was wanted. A server that is down
// already is no error.
func (s *Stack) Kill(name Server) error { return s.members[name].kill() }

// StartServer starts a server that Kill ended or that died, at its old address
// with its old data, and returns when it answers. On a running server it does
// nothing.
func (s *Stack) StartServer(ctx context.Context, name Server) error {
	return s.members[name].start(ctx)
}

// PID returns the process id of a server, 0 when it is down.
func (s *Stack) PID(name Server) int { return s.members[name].pid() }

func (s *Stack) report(name Server, phase Phase) {
	s.log.Info("stack", "server", string(name), "phase", string(phase))
	if s.opts.Progress == nil {
		return
	}
	s.reporting.Lock()
	defer s.reporting.Unlock()
	s.opts.Progress(name, phase)
}
