package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// service is what is special about one server.
type service interface {
	// fresh reports whether there is no data yet, so that prepare takes a while.
	fresh() bool
	// prepare makes directories, configuration and, when fresh, the first data.
	prepare(ctx context.Context, n *launcher) error
	// command is the server in the foreground; its command line holds marker.
	command() (*exec.Cmd, error)
	// healthy returns nil when the server answers and is this very one, not another
	// one at the same port.
	healthy(ctx context.Context) error
	// address is its part of Addresses.
	address() string
	// data is the directory of its data.
	data() string
	// marker is the path by which a left-over process is recognised.
	marker() string
	// stopSignal asks it to stop in order; also what it gets when we die.
	stopSignal() syscall.Signal
}

// member is one server of a stack, up or down.
type member struct {
	stack   *Stack
	name    Server
	service service
	logFile string

	mu   sync.Mutex // held while it starts, stops or is killed
	proc *process   // nil when down
}

func (m *member) pid() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc == nil || m.proc.ended() {
		return 0
	}
	return m.proc.pid
}

func (m *member) start(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil && !m.proc.ended() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if m.service.fresh() {
		m.stack.report(m.name, Preparing)
	}
	if err := m.service.prepare(ctx, m.stack.launcher); err != nil {
		return m.fault("prepare", err)
	}
	m.stack.report(m.name, Starting)
	if err := m.run(ctx); err != nil {
		return err
	}
	go m.watch(m.proc)
	m.stack.report(m.name, Healthy)
	return nil
}

// run starts the server and waits until it answers; again and again while the
// processes of the one before have not gone.
func (m *member) run(ctx context.Context) error {
	for {
		if err := m.spawn(); err != nil {
			return m.fault("start", err)
		}
		err := m.awaitHealth(ctx)
		if err == nil {
			return nil
		}
		b, can := m.service.(interface{ busy(words string) bool })
		again := can && m.proc.ended() && ctx.Err() == nil && b.busy(tail(m.logFile))
		if !again {
			return errors.Join(m.fault("start", err), m.proc.kill())
		}
	}
}

// spawn starts the server in a process group of its own, so that Ctrl-C on the
// terminal reaches us alone and we stop the servers in order.
func (m *member) spawn() error {
	cmd, err := m.service.command()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(m.logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own copy
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if m.proc, err = m.stack.launcher.start(cmd, m.service.stopSignal()); err != nil {
		return err
	}
	return m.stack.dir.addProcess(m.name, processInfo{PID: m.proc.pid, Marker: m.service.marker(), Started: time.Now().UTC()})
}

// watch reports the server's death, unless it was ordered.
func (m *member) watch(p *process) {
	<-p.done
	if !p.wanted.Load() {
		m.stack.end(m.fault("run", fmt.Errorf("it ended by itself: %v", p.state())))
	}
}

// awaitHealth asks until the server answers, it ends, or ctx does.
func (m *member) awaitHealth(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ask, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := m.service.healthy(ask)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-m.proc.done:
			return fmt.Errorf("it ended before it answered: %v", m.proc.state())
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w (%w)", context.Cause(ctx), err)
		case <-tick.C:
		}
	}
}

func (m *member) stop(ctx context.Context) error {
	return m.end("stop", func() error {
		m.stack.report(m.name, Stopping)
		err := m.proc.stop(ctx, m.service.stopSignal())
		m.stack.report(m.name, Stopped)
		if err != nil {
			return err
		}
		return m.stack.dir.removeProcess(m.name)
	})
}

func (m *member) kill() error { return m.end("kill", func() error { return m.proc.kill() }) }

// end brings the server down by how, unless it is down already.
func (m *member) end(op string, how func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc == nil {
		return nil
	}
	m.proc.wanted.Store(true)
	err := how()
	m.proc = nil
	if err != nil {
		return m.fault(op, err)
	}
	return nil
}

func (m *member) fault(op string, err error) error {
	return &ServerError{Server: m.name, Op: op, Err: err, Log: m.logFile, Tail: tail(m.logFile)}
}
