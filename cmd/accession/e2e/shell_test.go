package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/deploy/samples"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
	"github.com/accession-ingest/accession/projections/projtest"
)

// program prepares a run of the program.
func program(t *testing.T, environ []string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	binary, err := released()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
	return cmd
}

// call runs the program to its end.
func call(t *testing.T, environ []string, args ...string) (code int, out, errs string) {
	t.Helper()
	cmd := program(t, environ, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// ownSettings returns settings of a test's own, without tables, and a profile.
func ownSettings(t *testing.T) []string {
	t.Helper()
	zookeeper, natsURL := address(t, "ACCESSION_TEST_ZOOKEEPER"), address(t, "ACCESSION_TEST_NATS")
	db, err := url.Parse(address(t, projtest.Env))
	if err != nil {
		t.Fatal(err)
	}
	db.Path = "/" + projtest.Empty(t).Config().ConnConfig.Database
	name, dir := strings.ReplaceAll(uuid.NewString(), "-", ""), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "profiles"), 0o755); err != nil {
		t.Fatal(err)
	}
	profile := "name: maps\ncollection: maps\nowner: us\nidentifier: {naan: 99999, shoulder: fk4}\nfetch: {allow: [127.0.0.1/32], attempts: 1}\n"
	if err := os.WriteFile(filepath.Join(dir, "profiles", "maps.yaml"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := zktree.Destroy(ctx, []string{zookeeper}, "/test-"+name); err != nil {
			t.Error(err)
		}
		nc, err := nats.Connect(natsURL)
		if err != nil {
			t.Error(err)
			return
		}
		defer nc.Close()
		if js, err := jetstream.New(nc); err == nil {
			_ = js.DeleteStream(ctx, "TEST_"+name) // not made when the test failed early
		}
	})
	return []string{"ACCESSION_LISTEN_OPS=off", "ACCESSION_ZOOKEEPER=" + zookeeper, "ACCESSION_ZOOKEEPER_ROOT=/test-" + name, "ACCESSION_NATS=" + natsURL,
		"ACCESSION_NATS_STREAM=TEST_" + name, "ACCESSION_NATS_PREFIX=test." + name, "ACCESSION_POSTGRES=" + db.String(), "ACCESSION_DATA_DIR=" + dir,
		"ACCESSION_SPACE_RESERVE=1 MiB", "ACCESSION_SPACE_CYCLE=200ms"}
}

// TestTheProgramFromTheShell is what an operator does, command by command.
func TestTheProgramFromTheShell(t *testing.T) {
	t.Parallel()
	env := ownSettings(t)
	depositor := httptest.NewServer(samples.Handler())
	defer depositor.Close()
	step := func(wantCode int, says string, args ...string) string {
		t.Helper()
		code, out, errs := call(t, env, args...)
		if code != wantCode || !strings.Contains(out+errs, says) {
			t.Fatalf("accession %s: exit code %d, want %d with %q\n%s%s", strings.Join(args, " "), code, wantCode, says, out, errs)
		}
		return out
	}
	step(1, "hint: `accession migrate` makes and updates the tables", "serve")
	step(1, "hint: `accession migrate`", "batch", "ls")
	step(0, "schema accession", "migrate")
	step(0, "0 migrations applied", "migrate")
	step(0, "no batches", "batch", "ls")
	step(0, "no process serves", "status")
	// Accepted while no worker runs: it is there in the same instant.
	step(0, "bid0000000001 accepted; its content will say what it is", "submit", "--profile", "maps", depositor.URL+samples.SingleFile)
	step(0, "its jobs are not in the tables yet", "batch", "show", "bid0000000001")
	step(4, "there is no such batch", "batch", "show", "bid0000000009")

	serve := program(t, env, "serve")
	log, err := os.Create(filepath.Join(t.TempDir(), "serve.log"))
	if err != nil {
		t.Fatal(err)
	}
	serve.Stderr = log
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	local := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(local, []byte("a letter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	step(0, "bid0000000002 completed: 1 jobs listed, 1 completed, 0 failed", "submit", "--profile", "maps", "--title", "A letter", "--watch", local)
	step(6, "hint: `accession batch report bid0000000003` shows what failed and why", "submit", "--profile", "maps", "--type", "batch_manifest", "-w", depositor.URL+samples.BatchManifest)
	step(4, "in the tables", "batch", "report", "bid0000000009")
	var report struct {
		Status string           `json:"status"`
		Jobs   []map[string]any `json:"jobs"`
	}
	waitFor(t, "the report", func() bool {
		out := step(0, "", "batch", "report", "bid0000000003", "-o", "json")
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return report.Status == "failed"
	})
	if len(report.Jobs) != len(samples.Objects()) {
		t.Errorf("report: %+v", report)
	}
	step(0, "digest_mismatch", "batch", "report", "bid0000000003")
	more := "3 of 6 jobs; --limit or `accession job ls --batch bid0000000003` for more"
	step(0, more, "batch", "report", "bid0000000003", "--limit", "3")
	step(0, more, "batch", "show", "bid0000000003", "--limit", "3")
	for _, c := range []struct{ args, part, whole string }{
		{"batch report bid0000000003", `"truncated": true`, `"truncated": false`}, {"batch show bid0000000003", `"truncated": true`, `"truncated": false`},
		{"batch ls", `"next": "`, `"total": 3`}, {"job ls", `"next": "`, `"total": 8`},
	} {
		args := strings.Fields(c.args)
		out := step(0, c.part, append(args, "--limit", "2", "-o", "json")...)
		if whole := step(0, c.whole, append(args, "-o", "json")...); !strings.Contains(out, "total\": ") || len(whole) <= len(out) {
			t.Errorf("%v: %s", args, out)
		}
	}
	step(0, "2 of 3 batches; --limit or --cursor YmF0Y2gvYmlkMDAwMDAwMDAwMg for more", "batch", "ls", "--limit", "2")
	step(0, "2 of 8 jobs; --limit or --cursor am9iL2ppZDAwMDAwMDAwMDI for more", "job", "ls", "--limit", "2")
	step(0, "jid0000000003", "job", "ls", "--cursor", "am9iL2ppZDAwMDAwMDAwMDI")
	step(2, "is no cursor of a list of this kind", "batch", "ls", "--cursor", "am9iL2ppZDAwMDAwMDAwMDI")
	for _, noun := range []string{"job", "file"} {
		step(4, "there is no batch bid0000000009", noun, "ls", "--batch", "bid0000000009")
		step(2, "is not an id", noun, "ls", "--batch", "9")
		step(0, "no "+noun+"s", noun, "ls", "--batch", "bid0000000002", "--state", map[string]string{"job": "held", "file": "IGNORE"}[noun])
	}
	step(4, "there is no job jid0000000999", "file", "ls", "--job", "jid0000000999")
	step(4, `{"title":"Not Found","status":404,"detail":"list jobs: there is no batch bid0000000009","code":"not_found","hint":"`, "job", "ls", "--batch", "bid0000000009", "-o", "json")
	step(0, "A letter", "batch", "ls", "--state", "completed")
	step(0, "jid", "job", "ls", "--state", "failed")
	step(0, "pending → estimating", "job", "show", "jid0000000001")
	step(4, "there is no such job", "job", "show", "jid0000000999")
	step(0, `"type":"batch.submitted"`, "events", "tail", "--from", "1", "-o", "json")
	step(0, "batch.completed", "events", "tail", "--batch", "bid0000000002")
	step(0, "daemons,relay,projector", "status")
	step(0, "waits for clean-up", "status")
	if out := step(0, "state      batches", "status"); !strings.Contains(out, "failed           1") {
		t.Errorf("status does not count the batches: %s", out)
	}

	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := serve.Wait(); err != nil {
		text, _ := os.ReadFile(log.Name())
		t.Errorf("serve ended with %v:\n%s", err, text)
	}
}

// TestDemo runs the demonstration twice in one place, as newcomers do. The second time they
// leave it running, and make the first deposit of their own, as docs/depositing.md says.
func TestDemo(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	dir := filepath.Join(n.home, ".accession", "demo")
	says := func(run int, out string) {
		t.Helper()
		for _, want := range []string{"as intended", "6 listed = 5 completed + 1 failed + 0 held", "failed_again", "12 deposits of archive", "queue board metadata", "turn", "waits for its companion image-2.txt", "image-2.img  READY", "image-2.img was recovered", "/postgres.url)", "everything went as intended"} {
			if !strings.Contains(out, want) {
				t.Errorf("run %d does not say %q:\n%s", run, want, out)
			}
		}
	}
	ended := func(run int) {
		t.Helper()
		if _, running, err := stack.Find(dir); err != nil || running {
			t.Errorf("run %d left servers running: %v, %v", run, running, err)
		}
	}
	code, out, errs := call(t, nil, "demo", "--dir", dir)
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	says(1, out)
	ended(1)
	says(2, n.deposits())
	ended(2)
	if err := stack.Remove(context.Background(), dir); err != nil {
		t.Error(err)
	}
}

func TestInterruptStopsTheStackInOrder(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	dir := filepath.Join(home, ".accession", "stack")
	if work, err := store.OpenWork(filepath.Join(dir, "accession", "work"), "named"); err != nil || work.Close() != nil {
		t.Fatal(err)
	}
	cmd := program(t, nil, "stack", "--dir", dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(said.String(), "Ctrl-C") {
		n, err := out.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			t.Fatalf("the stack ended early: %v\n%s", err, said.String())
		}
	}
	if !strings.Contains(said.String(), "\n  export ACCESSION_INSTANCE=named\n") {
		t.Errorf("nothing names the installation whose data this is:\n%s", said.String())
	}
	if _, running, err := stack.Find(dir); err != nil || !running {
		t.Errorf("the stack says that it runs: %v, %v", running, err)
	}
	for variable, finds := range map[string]bool{"X=1": true, "ACCESSION_ZOOKEEPER=127.0.0.1:1": false, "ACCESSION_CONFIG=/dev/null": false} {
		printing := program(t, []string{variable}, "config", "print")
		printing.Dir = home
		text, err := printing.CombinedOutput()
		if err != nil || strings.Contains(string(text), "using the servers that run in .accession/stack\n") != finds || strings.Contains(string(text), "named ") != finds {
			t.Errorf("%s: %v\n%s", variable, err, text)
		}
	}
	code, list, errs := call(t, nil, "stack", "exec", "--dir", dir, "--", "sh", "-c", "echo $ACCESSION_TEST_ZOOKEEPER; exit 9")
	if code != 9 || !strings.HasPrefix(list, "127.0.0.1:") {
		t.Errorf("exec beside a running stack: %d, %q %s", code, list, errs)
	}
	if code, _, errs := call(t, nil, "stack", "--dir", dir); code != 3 || !strings.Contains(errs, "hint: stop it first") {
		t.Errorf("a second stack in the directory: %d, %s", code, errs)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the stack ended with %v", err)
	}
	if err := stack.Remove(context.Background(), dir); err != nil {
		t.Error(err)
	}
}

// TestSecondSignalStopsAtOnce: an operator who cannot wait is obeyed.
func TestSecondSignalStopsAtOnce(t *testing.T) {
	t.Parallel()
	env := append(ownSettings(t), "ACCESSION_STOP_GRACE=1h", "ACCESSION_LOG_FORMAT=text")
	asked := make(chan struct{}, 10)
	depositor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.Header().Set("Content-Length", "5")
			return
		}
		asked <- struct{}{}
		<-r.Context().Done()
	}))
	defer depositor.Close()
	for _, args := range [][]string{{"migrate"}, {"submit", "--profile", "maps", depositor.URL + "/x.txt"}} {
		if code, _, errs := call(t, env, args...); code != 0 {
			t.Fatalf("accession %v: %d %s", args, code, errs)
		}
	}
	serve := program(t, env, "serve")
	log, err := serve.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "stopping") {
	}
	if err := serve.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, log)
	if err := serve.Wait(); serve.ProcessState.ExitCode() != 130 {
		t.Errorf("ended with %v, want exit code 130", err)
	}
}
