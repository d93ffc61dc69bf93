package stack

import (
	"bufio"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

var testAddresses = Addresses{ZooKeeper: "z:1", NATS: "nats://n:2", Postgres: "postgres://p:3"}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit == nil {
		return 0
	}
	return exit.ExitCode()
}

// A command gets the addresses under the names that were asked for, and under no
// others; its exit status comes back.
func TestExecGivesAddresses(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]struct {
		out    string
		status int
	}{
		`echo $ACCESSION_TEST_ZOOKEEPER $ACCESSION_TEST_NATS $ACCESSION_TEST_POSTGRES; exit 5`: {"z:1 nats://n:2 postgres://p:3\n", 5},
		`echo "[$ACCESSION_POSTGRES]" $KEPT`:                                                   {"[] kept\n", 0},
		`cat`:                                                                                  {"input", 0},
		`kill -9 $$`:                                                                           {"", 137},
	} {
		cmd := exec.Command(exe, "sh", "-c", script)
		cmd.Env = append(os.Environ(), roleVariable+"=exec", "ACCESSION_POSTGRES=production", "KEPT=kept")
		cmd.Stdin = strings.NewReader("input")
		out, err := cmd.Output()
		if status := exitCode(t, err); status != want.status || string(out) != want.out {
			t.Errorf("%s: %q, status %d, want %q, %d", script, out, status, want.out, want.status)
		}
	}
	if got := testAddresses.Environ(ServicePrefix)[0]; got != "ACCESSION_ZOOKEEPER=z:1" {
		t.Errorf("service name: %s", got)
	}
}

func TestExecWithoutProgram(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{nil, {"/does/not/exist"}} {
		if _, err := Exec(t.Context(), testAddresses, TestPrefix, argv); err == nil {
			t.Errorf("Exec of %q succeeded", argv)
		}
	}
}

// A signal that reaches us reaches the command.
func TestExecForwardsSignals(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd, _, out := inRole(t, "exec", "env", roleVariable+"=command", exe)
	lines := bufio.NewReader(out)
	if line, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatal(err)
	}
	if status := exitCode(t, cmd.Wait()); status != 10+int(syscall.SIGTERM) {
		t.Errorf("status %d, want %d", status, 10+int(syscall.SIGTERM))
	}
}
