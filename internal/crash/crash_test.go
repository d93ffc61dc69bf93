package crash_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// build compiles testdata/program.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "program")
	args := append([]string{"build", "-o", binary}, flags...)
	if out, err := exec.Command("go", append(args, "./testdata/program")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// A build with the tag dies by SIGKILL at the named hit; one without never does.
func TestPoint(t *testing.T) {
	t.Parallel()
	release, tagged := build(t), build(t, "-tags", "crashpoints")
	const all = "ababab"
	for _, c := range []struct {
		name, binary, points string
		out                  string
		killed               bool
		status               int
	}{
		{"release build", release, "first", all, false, 0},
		{"no variable", tagged, "", all, false, 0},
		{"another point", tagged, "third", all, false, 0},
		{"first hit", tagged, "first", "", true, 0},
		{"before the effect", tagged, "second/before", "a", true, 0},
		{"after the effect", tagged, "second/after", "ab", true, 0},
		{"third hit", tagged, "first:3", "abab", true, 0},
		{"too few hits", tagged, "first:4", all, false, 0},
		{"whichever first", tagged, "first:3,second/before:2", "aba", true, 0},
		{"no number", tagged, "first:x", "", false, 2},
		{"zero", tagged, "first:0", "", false, 2},
		{"twice", tagged, "first,first:2", "", false, 2},
		{"empty name", tagged, "first,", "", false, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(c.binary)
			cmd.Env = append(os.Environ(), "ACCESSION_CRASH="+c.points)
			out, err := cmd.Output()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
			killed := ws.Signaled() && ws.Signal() == syscall.SIGKILL
			if string(out) != c.out || killed != c.killed || !killed && ws.ExitStatus() != c.status {
				t.Errorf("printed %q, killed %v, status %d; want %q, %v, %d",
					out, killed, ws.ExitStatus(), c.out, c.killed, c.status)
			}
		})
	}
}

// A process that is to stop at a point does so, once or again and again, and goes on
// when it is told to.
func TestStop(t *testing.T) {
	t.Parallel()
	binary := build(t, "-tags", "crashpoints")
	for points, times := range map[string]int{"second/before:2": 1, "second/before:1+": 3, "second/before:2+": 1, "first:3+,second/before:2": 2} {
		t.Run(points, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			cmd := exec.Command(binary)
			cmd.Stdout, cmd.Env = &out, append(os.Environ(), "ACCESSION_STOP="+points)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for n := range times {
				var ws syscall.WaitStatus
				if _, err := syscall.Wait4(cmd.Process.Pid, &ws, syscall.WUNTRACED, nil); err != nil || !ws.Stopped() {
					t.Fatalf("it did not stop after %d times: %v, %x", n, err, ws)
				}
				if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Wait(); err != nil || out.String() != "ababab" {
				t.Errorf("it ended with %v after %q", err, out.String())
			}
		})
	}
}

// A process writes down the points that it passes, in their order, also the one at which it dies.
func TestPassed(t *testing.T) {
	t.Parallel()
	tagged, file := build(t, "-tags", "crashpoints"), filepath.Join(t.TempDir(), "passed")
	for _, c := range []struct{ points, want string }{
		{"", strings.Repeat("first\nsecond/before\nsecond/after\n", 3)},
		{"second/before:2", "first\nsecond/before\nsecond/after\nfirst\nsecond/before\n"},
	} {
		cmd := exec.Command(tagged)
		cmd.Env = append(os.Environ(), "ACCESSION_PASSED="+file, "ACCESSION_CRASH="+c.points)
		if err := cmd.Run(); (err != nil) != (c.points != "") {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
			t.Errorf("%q: passed %q, %v", c.points, got, err)
		}
		_ = os.Remove(file)
	}
}

// A clock that is wrong by no duration ends the process at its start.
func TestClockThatCannotBeRead(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(build(t, "-tags", "crashpoints"))
	cmd.Env = append(os.Environ(), "ACCESSION_CLOCK=soon")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 || len(out) > 0 {
		t.Errorf("it ended with %v after %q", err, out)
	}
}
