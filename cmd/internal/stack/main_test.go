package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// roleVariable makes this test binary play another process's part.
const roleVariable = "ACCESSION_STACK_TEST_ROLE"

func TestMain(m *testing.M) {
	if ChildMain() {
		return
	}
	switch os.Getenv(roleVariable) {
	case "":
		goleak.VerifyTestMain(m)
	case "parent": // starts a stack in argument 1 and prints its process ids
		s, err := Start(context.Background(), Options{Dir: os.Args[1]})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		_ = json.NewEncoder(os.Stdout).Encode(parentReport{
			Addresses: s.Addresses(), PIDs: []int{s.PID(ZooKeeper), s.PID(PostgreSQL), s.PID(NATS)},
		})
		<-s.Done()
	case "idle": // waits until its standard input ends
		fmt.Println("ready")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "exec": // runs the arguments with addresses
		status, err := Exec(context.Background(), testAddresses, TestPrefix, os.Args[1:])
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(125)
		}
		os.Exit(status)
	case "command": // exits with the number of the signal that it gets, plus 10
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM)
		fmt.Println("ready")
		os.Exit(10 + int((<-signals).(syscall.Signal)))
	}
}

type parentReport struct {
	Addresses Addresses
	PIDs      []int
}

// inRole is this test binary in another process, with a pipe to its standard
// input and from its standard output.
func inRole(t *testing.T, role string, args ...string) (*exec.Cmd, io.WriteCloser, io.ReadCloser) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, in, out
}

// newDir is a directory that PostgreSQL's user can enter, unlike t.TempDir's,
// removed with all that a stack made of it.
func newDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "accession-stack-test-"+strconv.Itoa(os.Getpid())+"-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := os.Stat(dir + "/" + stateFile); err == nil {
			if err := Remove(context.Background(), dir); err != nil {
				t.Error(err)
			}
		}
		_ = os.RemoveAll(dir)
	})
	return dir
}

func start(t *testing.T, opts Options) *Stack {
	t.Helper()
	s, err := Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}
