package compute

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// leaves is how long the outputs of a command are read after it has ended: what it has started
// in another process group may hold them.
const leaves = 2 * time.Second

// command is a command that is run for an entry.
type command struct {
	text string // for sh, with {in} and {out}
	dir  string
	in   []string // the files of the inputs
	out  string   // where the result is written
	env  []string
}

// run is what a command has left.
type run struct {
	status int
	lines  string // the last that it wrote, on both outputs
}

// shell returns the command with the names of its files.
func (c command) shell() string {
	in := make([]string, len(c.in))
	for i, name := range c.in {
		in[i] = quote(name)
	}
	return strings.NewReplacer("{in}", strings.Join(in, " "), "{out}", quote(c.out)).Replace(c.text)
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
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", c.shell())
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, to, to
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	kill := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = kill
	err = cmd.Start()
	_ = to.Close() // the command has its own
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
	if ended, exited := errors.AsType[*exec.ExitError](err); exited {
		return run{ended.ExitCode(), lines.String()}, nil
	}
	return run{0, lines.String()}, err
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
