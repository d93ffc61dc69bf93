package synced

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// variable names the file to which a watched process writes.
const variable = "ACCESSION_TEST_SYNCED"

// Run has write place files below a directory, in a process of its own, and ends the
// test unless all of them would outlast a power cut. It stands alone in a test or a
// subtest: what comes before it happens in both processes.
func Run(t *testing.T, write func(dir string)) {
	t.Helper()
	if dir := os.Getenv(variable); dir != "" {
		write(dir)
		return
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	parts := strings.Split(t.Name(), "/")
	for i, p := range parts {
		parts[i] = "^" + regexp.QuoteMeta(p) + "$"
	}
	cmd := exec.Command("/proc/self/exe", "-test.run="+strings.Join(parts, "/"), "-test.count=1")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	cmd.Stdout, cmd.Stderr = out, out
	type result struct {
		calls []call
		ok    bool
		err   error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // a process is traced by one thread
		defer runtime.UnlockOSThread()
		calls, ok, err := trace(cmd)
		done <- result{calls, ok, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatalf("watch the system calls of a process, as a debugger does: %v", r.err)
	}
	said, _ := os.ReadFile(out.Name())
	if !r.ok {
		t.Fatalf("the process that was watched failed:\n%s", said)
	}
	placed, faults := check(r.calls, dir)
	for _, f := range faults {
		t.Error(f)
	}
	if len(placed) == 0 {
		t.Fatalf("nothing was placed below %s:\n%s\n%v", dir, said, r.calls)
	}
}
