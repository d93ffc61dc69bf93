package stack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
)

// stopTimeout is how long a server may take to stop in order before it is killed.
const stopTimeout = 30 * time.Second

// errStopped is the error of a start after the stack's end.
var errStopped = errors.New("the stack was stopped")

// launcher starts all children from one goroutine that is bound to its thread: the
// kernel signals the death of their parent to children when the thread that forked them
// ends, and Go may end any other thread while the process lives on.
type launcher struct {
	starts chan func()
	stop   context.CancelFunc
	ended  chan struct{}
}

func newLauncher() *launcher {
	ctx, cancel := context.WithCancel(context.Background())
	n := &launcher{starts: make(chan func()), stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case start := <-n.starts:
				start()
			case <-ctx.Done():
				return
			}
		}
	}()
	return n
}

// close ends the goroutine; no child may be alive any more. A second close does
// nothing.
func (n *launcher) close() {
	n.stop()
	<-n.ended
}

// process is a child of ours.
type process struct {
	cmd    *exec.Cmd
	pid    int
	done   chan struct{} // closed when it has ended and was waited for
	err    error         // of its end; only after done
	wanted atomic.Bool   // its end was ordered
}

// start starts cmd so that it gets the signal orphan when this process dies.
func (n *launcher) start(cmd *exec.Cmd, orphan syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	setDeathSignal(cmd.SysProcAttr, orphan)
	result := make(chan error, 1)
	select {
	case n.starts <- func() { result <- cmd.Start() }:
	case <-n.ended:
		return nil, errStopped
	}
	if err := <-result; err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// run starts cmd and waits for it.
func (n *launcher) run(cmd *exec.Cmd) error {
	p, err := n.start(cmd, syscall.SIGKILL)
	if err != nil {
		return err
	}
	<-p.done
	return p.err
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// state describes how it ended; only after done.
func (p *process) state() *os.ProcessState { return p.cmd.ProcessState }

// stop asks with sig, and kills when that takes longer than stopTimeout or ctx.
func (p *process) stop(ctx context.Context, sig syscall.Signal) error {
	if p.ended() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	_ = p.cmd.Process.Signal(sig) // it may have ended already
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return p.kill()
	}
}

// kill ends it and its children at once and returns when all are gone.
// (PostgreSQL's backends lead process groups of their own. One that is left may wait for
// ever for a lock of one that was killed, and keep the memory of both.)
func (p *process) kill() error {
	if p.cmd.Process.Signal(syscall.SIGSTOP) == nil { // so that it starts no more of them
		awaitHalt(p.pid)
	}
	children := descendants(p.pid)
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
	return endAll(context.Background(), children, syscall.SIGKILL)
}
