package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// working starts a worker of the compute queue, which is stopped at the end of the test.
func (in *installation) working(command string, more ...string) *os.Process {
	in.t.Helper()
	c := in.command(append([]string{"compute", "worker", "--exec", command}, more...)...)
	c.Stdout, c.Stderr = in.t.Output(), in.t.Output()
	in.must(c.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Wait() // it was stopped
	}()
	in.t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM)
		<-ended
	})
	return c.Process
}

// TestFilesOfADirectoryAreProcessed is the part of the scenarios about processing, for files
// without a job: Normal, Failure 3 and Failure 7; TestProcessingOfADirectoryTimesOut has Failure 5.
// The files of an open directory live to their end, by a worker: one is processed at once, one at its second attempt, one is given up after three and
// taken up again by an operator, one fails for good, and one outlives the death of its worker.
func TestFilesOfADirectoryAreProcessed(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_good.dat 20-Nov-2026 09:05 28", "2_late.dat 20-Nov-2026 09:05 28", "3_never.dat 20-Nov-2026 09:05 29", "4_bad.dat 20-Nov-2026 09:05 27")
	in := newInstallation(t, "ready_interval=100ms", "file_retry_delay=0")
	p := newPolled(t, in, dir)
	rules, keeps := filepath.Join(t.TempDir(), "rules.json"), t.TempDir()
	in.must(os.WriteFile(rules, []byte(`{"keep_duplicates":true,"process":{"priority":200}}`), 0o600))
	in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "spectra"})
	p.serveInProcess(run.RoleDownload, run.RoleReady, run.RoleDaemons)
	script := filepath.Join(keeps, "spectrum")
	in.must(os.WriteFile(script, []byte(`cd "${0%/*}"
case "$1" in
*late*) test -e late || { touch late; exit 1; } ;;
*never*) test -e found || exit 1 ;;
*bad*) echo no header; exit 65 ;;
*dies*) test -e died || { touch died; kill -9 "$(cat pid)"; exit 1; } ;;
esac
wc -c < "$1" > "$2"
`), 0o600))
	worker := in.working("sh " + script + " {in} {out}")
	in.must(os.WriteFile(filepath.Join(keeps, "pid"), []byte(strconv.Itoa(worker.Pid)), 0o600))
	p.polled()

	p.reaches("1_good.dat", domain.FileProcessed)
	p.went("1_good.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSED")
	p.reaches("2_late.dat", domain.FileProcessed)
	p.went("2_late.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:exit_status", "READY", "PROCESSING", "PROCESSED")
	p.reaches("4_bad.dat", domain.FileAbandoned)
	p.went("4_bad.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:exit_status", "ABANDONED:attempts_used_up")
	p.reaches("3_never.dat", domain.FileAbandoned)
	p.went("3_never.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:exit_status", "READY", "PROCESSING", "PROCESSING_FAILED:exit_status",
		"READY", "PROCESSING", "PROCESSING_FAILED:exit_status", "ABANDONED:attempts_used_up")
	in.must(os.WriteFile(filepath.Join(keeps, "found"), nil, 0o600))
	in.says(0, []string{"file", "requeue", string(dir.hash("3_never.dat")), "--reason", "found"})
	p.reaches("3_never.dat", domain.FileProcessed)

	dir.set(func() { dir.files = append(dir.files, "5_dies.dat 20-Nov-2026 09:06 28") })
	p.asked()
	waitFor(t, "the worker to die", func() bool { _, err := os.Stat(filepath.Join(keeps, "died")); return err == nil })
	in.working("sh " + script + " {in} {out}")
	p.reaches("5_dies.dat", domain.FileProcessed)
	p.went("5_dies.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:worker_lost", "READY", "PROCESSING", "PROCESSED")

	waitFor(t, "no entry to wait", func() bool {
		return in.count("select count(*) from accession.compute_entry where status in ('PENDING', 'STAGING', 'RUNNING')") == 0
	})
	in.shown()
	in.says(0, []string{"file", "show", string(dir.hash("5_dies.dat"))}, "PROCESSED", "entries", "SUCCESSFUL", "FAILED")
	in.says(2, words("compute submit --dataset nights --input http://files.test/a --key file/1"), "one of those of files")
	in.says(0, words("verify"))
}

// TestProcessingOfADirectoryTimesOut: the sweeper ends an attempt at a file of an open directory that
// takes too long, and the file is processed by another worker; the one that comes late is refused, its
// entry ends as that of a file that has moved on, and its result counts for nothing.
func TestProcessingOfADirectoryTimesOut(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_slow.dat 20-Nov-2026 09:05 28")
	in := newInstallation(t, "ready_interval=100ms", "file_retry_delay=0")
	p := newPolled(t, in, dir)
	rules := filepath.Join(t.TempDir(), "rules.json")
	in.must(os.WriteFile(rules, []byte(`{"process":{}}`), 0o600))
	in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "spectra"})
	p.serveInProcess(run.RoleDownload, run.RoleReady, run.RoleDaemons)
	p.polled()
	d := in.door()
	const olga = "olga operator/*"
	var late leases.Work
	d.ask(olga, "POST", "/v1/compute/claims", `{"worker":"late","datasets":["nights"],"wait":60,"lease":3600}`).into(d, &late)
	if late.Token == "" {
		t.Fatalf("%+v", late)
	}
	p.reaches("1_slow.dat", domain.FileProcessing)
	in.says(0, words("sweep"))
	p.reaches("1_slow.dat", domain.FileProcessing) // it has time
	in.says(0, words("timeouts set download=1h processing=1s --reason impatient"))
	waitFor(t, "the attempt to be overdue", func() bool {
		in.says(0, words("sweep"))
		states := p.lived("1_slow.dat")
		return len(states) > 6 && states[len(states)-1] == "READY"
	})
	in.says(0, words("timeouts set download=1h processing=1h --reason patient"))
	in.working("wc -c < {in} > {out}")
	p.reaches("1_slow.dat", domain.FileProcessed)
	d.ask(olga, "POST", "/v1/compute/claims/"+late.Token+"/complete", `{"result":"late"}`).is(d, http.StatusConflict, "refused")
	p.went("1_slow.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSING_FAILED:processing_timeout", "READY", "PROCESSING", "PROCESSED")

	hash := string(dir.hash("1_slow.dat"))
	in.shown()
	for what, query := range map[string]string{
		"the file":            "select count(*) from accession.file where raw_file_hash = $1 and status = 'PROCESSED' and processing_attempts = 2",
		"F13 by the sweeper":  "select count(*) from accession.file_transition where raw_file_hash = $1 and from_status = 'PROCESSING' and to_status = 'PROCESSING_FAILED' and reason_code = 'processing_timeout' and actor like '%sweeper'",
		"F14":                 "select count(*) from accession.file_transition where raw_file_hash = $1 and from_status = 'PROCESSING_FAILED' and to_status = 'READY'",
		"the late entry":      "select count(*) from accession.compute_entry where key = 'file/' || $1 || '/1' and status = 'FAILED' and reason_code = 'file_moved'",
		"the entry that won":  "select count(*) from accession.compute_entry where key = 'file/' || $1 || '/2' and status = 'SUCCESSFUL'",
		"its result, a count": "select count(*) from accession.compute_entry e join record.compute_result r on r.entry_id = e.id and r.sha256 = e.result_sha256 where e.key = 'file/' || $1 || '/2' and r.result = '28'",
	} {
		if n := in.count(query, hash); n != 1 {
			t.Errorf("%s: %d rows, want 1", what, n)
		}
	}
	in.says(0, words("verify"))
}

// TestCommandsEndWithTheirWorker: what a command has started does not outlive a worker that is
// killed, so that it changes nothing beside the worker that takes its work.
func TestCommandsEndWithTheirWorker(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess(run.RoleDaemons)
	begun := filepath.Join(t.TempDir(), "begun")
	in.must(syscall.Mkfifo(begun, 0o600))
	worker := in.working("sleep 1000 & echo $! > "+begun+"; wait", "--profile", "test")
	in.says(0, []string{"compute", "submit", "--dataset", "nights", "--input", newOpenDirectory(t).URL + "/a.txt"})
	text, err := os.ReadFile(begun) // when the command has written
	in.must(err)
	in.must(worker.Kill())
	waitFor(t, "what the command has started to end", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
