package compute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// leaves is how long the outputs of a command are read after it has ended: what it has started
// in another process group may hold them.
const leaves = 2 * time.Second

// command is a command that is run for an entry.
type command struct {
	text    string // for sh, with {in}, {out} and {outputs}
	dir     string
	in      []string // the files of the inputs
	out     string   // where the result is written
	outputs string   // the directory in which files are left
	env     []string
	memory  int64 // bytes of address space that each of its processes may have, 0 = any
}

// around is the command of sh around the command $1. Its end of a pipe, descriptor 3, is read
// until the worker dies: then all that the command has started is killed. $2 is the limit of
// memory in KiB, "" = none.
const around = `(read -r _ <&3; kill -9 0) >/dev/null 2>&1 &
exec 3<&-
[ -z "$2" ] || ulimit -v "$2" || exit 126
exec /bin/sh -c "$1"`

// limit is the limit of memory as sh takes it.
func (c command) limit() string {
	if c.memory == 0 {
		return ""
	}
	return strconv.FormatInt(max(1, c.memory>>10), 10)
}

// run is what a command has left.
type run struct {
	status int            // its exit status
	signal syscall.Signal // that has killed it, 0 = none; then there is no status
	lines  string         // the last that it wrote, on both outputs
}

// shellSignals is what a shell adds to the number of a signal that has killed what it ran, for
// its own exit status.
const shellSignals = 128

// ended says how the command ended, with the limit of memory under which it ran, 0 = any: a
// process that gets no memory decides itself how it ends.
func (r run) ended(memory int64) string {
	s := fmt.Sprintf("the command ended with exit status %d", r.status)
	switch number := syscall.Signal(r.status - shellSignals); {
	case r.signal != 0:
		s = fmt.Sprintf("the command was killed by signal %d (%s)", r.signal, r.signal)
	case number > 0 && number <= syscall.SIGSYS:
		s += fmt.Sprintf(", as after signal %d (%s)", number, number)
	}
	if memory > 0 {
		s += fmt.Sprintf(", under the limit of %.4g MiB of memory for each process", float64(memory)/(1<<20))
	}
	return s
}

// shell returns the command with the names of its files.
func (c command) shell() string {
	in := make([]string, len(c.in))
	for i, name := range c.in {
		in[i] = quote(name)
	}
	return strings.NewReplacer("{in}", strings.Join(in, " "), "{outputs}", quote(c.outputs), "{out}", quote(c.out)).Replace(c.text)
}

// quote quotes a text for sh.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// execute runs a command in a process group of its own, which is killed when ctx ends, and
// when the command has ended.
func execute(ctx context.Context, c command) (run, error) {
	from, to, err := os.Pipe()
	if err != nil {
		return run{}, err
	}
	defer from.Close()
	alive, living, err := os.Pipe() // living is closed with this process, however it ends
	if err != nil {
		_ = to.Close() // nothing was written
		return run{}, err
	}
	defer living.Close()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", around, "sh", c.shell(), c.limit())
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = c.dir, c.env, to, to, []*os.File{alive}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	err = cmd.Start()
	_, _ = to.Close(), alive.Close() // the command has its own
	if err != nil {
		return run{}, err
	}
	var lines tail
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(&lines, from)
	}()
	err = cmd.Wait()
	_ = kill() // what it has left behind
	_ = from.SetReadDeadline(time.Now().Add(leaves))
	<-read
	left := run{lines: lines.String()}
	if ended, exited := errors.AsType[*exec.ExitError](err); exited {
		left.status, err = ended.ExitCode(), nil
		if how, is := ended.Sys().(syscall.WaitStatus); is && how.Signaled() {
			left.signal = how.Signal()
		}
	}
	return left, err
}

// tail keeps the end of what is written to it.
type tail struct{ last []byte }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p[max(0, len(p)-maxLines):]...)
	if over := len(t.last) - maxLines; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	return len(p), nil
}

// String returns it as text.
func (t *tail) String() string { return strings.ToValidUTF8(string(t.last), "�") }
