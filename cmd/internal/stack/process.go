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

// errStopped is the answer to a birth after the stack's end.
var errStopped = errors.New("the stack was stopped")

// nursery starts all children from one goroutine that is bound to its thread:
// the kernel tells children of their parent's death when the thread that forked
// them ends, and Go may end any other thread while the process lives on.
type nursery struct {
	births chan func()
	stop   context.CancelFunc
	ended  chan struct{}
}

func newNursery() *nursery {
	ctx, cancel := context.WithCancel(context.Background())
	n := &nursery{births: make(chan func()), stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(n.ended)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for {
			select {
			case birth := <-n.births:
				birth()
			case <-ctx.Done():
				return
			}
		}
	}()
	return n
}

// close ends the goroutine; no child may be alive any more. A second close does
// nothing.
func (n *nursery) close() {
	n.stop()
	<-n.ended
}

// begin starts cmd so that it gets the signal orphan when this process dies.
func (n *nursery) begin(cmd *exec.Cmd, orphan syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	setDeathSignal(cmd.SysProcAttr, orphan)
	result := make(chan error, 1)
	select {
	case n.births <- func() { result <- cmd.Start() }:
		return <-result
	case <-n.ended:
		return errStopped
	}
}

// run starts cmd and waits for it.
func (n *nursery) run(cmd *exec.Cmd) error {
	if err := n.begin(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	return cmd.Wait()
}

// process is a child that somebody waits for.
type process struct {
	cmd    *exec.Cmd
	pid    int
	done   chan struct{} // closed when it has ended and was waited for
	wanted atomic.Bool   // its end was ordered
}

// spawn starts a server. It gets a process group of its own, so that Ctrl-C on
// the terminal reaches us alone and we stop the servers in order.
func (n *nursery) spawn(cmd *exec.Cmd, orphan syscall.Signal) (*process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := n.begin(cmd, orphan); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = cmd.Wait() // the outcome is in ProcessState
	}()
	return p, nil
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
	_ = p.cmd.Process.Signal(sig) // it may have ended in this instant
	limit := time.NewTimer(stopTimeout)
	defer limit.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-limit.C:
	}
	return p.kill()
}

// kill ends it and its children at once and returns when all are gone.
// (PostgreSQL's backends lead process groups of their own.)
func (p *process) kill() error {
	children := descendants(p.pid)
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
	return endAll(context.Background(), children, syscall.SIGKILL)
}
