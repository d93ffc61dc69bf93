package stack

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a server that is a shell script.
type shell struct {
	script string
	health error
}

func (shell) fresh() bool                              { return false }
func (shell) prepare(context.Context, *launcher) error { return nil }
func (s shell) command() (*exec.Cmd, error)            { return exec.Command("sh", "-c", s.script), nil }
func (s shell) healthy(context.Context) error          { return s.health }
func (shell) address() string                          { return "" }
func (shell) marker() string                           { return "" }
func (shell) stopSignal() syscall.Signal               { return syscall.SIGTERM }
func (shell) data() string                             { return "" }
func (s shell) member(t *testing.T) (*member, *Stack) {
	t.Helper()
	dir, err := openDirectory(newDir(t))
	if err != nil {
		t.Fatal(err)
	}
	st := newStack(dir, Options{})
	m := &member{stack: st, name: NATS, service: s, logFile: filepath.Join(dir.path, "log")}
	st.members = map[Server]*member{NATS: m}
	t.Cleanup(func() {
		if err := st.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m, st
}

// A server that dies while it starts is reported at once, with its last words.
func TestStartTellsTheLastWords(t *testing.T) {
	t.Parallel()
	m, _ := shell{script: "echo last words >&2; exit 3", health: errors.New("nothing there")}.member(t)
	err := m.start(t.Context())
	var fault *ServerError
	if !errors.As(err, &fault) || fault.Op != "start" || fault.Tail != "last words" {
		t.Fatalf("error %#v", err)
	}
	for _, part := range []string{"start nats", "exit status 3", "last words", m.logFile} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error lacks %q: %v", part, err)
		}
	}
	if m.pid() != 0 {
		t.Error("it counts as running")
	}
}

// A server that never answers is given up, and killed, when the caller's time ends.
func TestStartGivesUp(t *testing.T) {
	t.Parallel()
	m, _ := shell{script: "exec cat /dev/zero >/dev/null", health: errors.New("deaf")}.member(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := m.start(ctx)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "deaf") {
		t.Errorf("error %v, want the cancellation and the last answer", err)
	}
	if m.pid() != 0 {
		t.Error("it still runs")
	}
}

// A server that ignores the request to stop is killed when the context ends.
func TestStopKillsTheDeaf(t *testing.T) {
	t.Parallel()
	m, st := shell{script: "trap '' TERM; while :; do :; done"}.member(t)
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	pid := m.pid()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := st.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
}

// A child is killed with its server also when its command line has changed meanwhile, as
// those of PostgreSQL's processes do with each statement.
func TestKillEndsChildrenWithAnotherName(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "go")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ := shell{script: "sh -c 'read word < " + fifo + "; exec tail -f /dev/null' & echo ready; wait"}.member(t)
	if err := m.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	var children []orphan
	until(t, func() bool { children = descendants(m.pid()); return len(children) == 1 })
	before := commandLine(children[0].pid)
	if err := os.WriteFile(fifo, []byte("on\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { line := commandLine(children[0].pid); return line != "" && line != before })
	if err := endAll(t.Context(), children, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if at := began(children[0].pid); at != "" {
		t.Errorf("process %d still runs", children[0].pid)
	}
}

// until waits for a condition, which is looked at often.
func until(t *testing.T, is func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it did not come to be")
		}
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(strings.Repeat("x", 300)+"\n", 100)
	for name, c := range map[string]struct{ log, want string }{
		"empty":      {"", ""},
		"one":        {"only\n", "only"},
		"last lines": {strings.Repeat("old\n", 50) + strings.Repeat("new\n", tailLines), strings.TrimSpace(strings.Repeat("new\n", tailLines))},
		"long lines": {many + "end\n", strings.Repeat(strings.Repeat("x", 300)+"\n", tailBytes/301) + "end"},
	} {
		file := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(file, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tail(file); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if got := tail(filepath.Join(t.TempDir(), "missing")); got != "" {
		t.Errorf("missing file: %q", got)
	}
}

func TestMissingError(t *testing.T) {
	t.Parallel()
	err := &MissingError{Tools: []MissingTool{{"java", "default-jre-headless"}, {"initdb", "postgresql"}}}
	for _, part := range []string{"java, initdb", "default-jre-headless postgresql", "make setup", "compose.yaml"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q lacks %q", err, part)
		}
	}
	if missing := Missing(); len(missing) != 0 {
		t.Errorf("these tests need real servers: %v", &MissingError{Tools: missing})
	}
}
