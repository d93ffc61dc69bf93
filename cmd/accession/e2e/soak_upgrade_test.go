//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
)

// before is the last commit of the program without deposit queues.
const before = "3cc9675"

// TestSoakUpgrade: an installation that the program of an earlier commit has made is
// upgraded to this one while it works and while batches wait, as docs/operating.md says:
// migrate, rebuild, one process after the other, the format. Old and new processes run side
// by side meanwhile. Every deposit is done once, those that waited come first, and
// verify finds nothing.
// Shows: P1 P11
func TestSoakUpgrade(t *testing.T) {
	const works, waits, fresh, few = 60, 40, 60, 6
	in := prepare(t, "attempts: 20, timeout: 60s", append(forProcesses[:len(forProcesses):len(forProcesses)], "zookeeper_session_timeout=4s",
		"listen_ops=127.0.0.1:0", "stop_grace=30s", "workers=batch-pending=1")...)
	in.db = projtest.Empty(t)
	in.set("postgres=" + in.databaseURL())
	old := in.with()
	old.program = programOf(t, before)
	old.run("migrate")
	running := []*service{old.serve(), old.serve(), old.serve()}
	for _, s := range running {
		s.until(200, "ok")
	}
	in.open()
	f, files, begun := newFiles(t, 1, -1), 0, time.Now()
	deposit := func(by *installation, user string, n int) (ids []domain.BatchID) {
		t.Helper()
		for range n {
			if by == old {
				old.run("submit", "--profile", "test", "--type", "file", "--submitter", user, f.URL+fmt.Sprintf("/file/%d", files))
			} else {
				ids = append(ids, by.depositBy(user, f.URL+fmt.Sprintf("/file/%d", files), domain.TypeFile))
			}
			files++
		}
		return ids
	}
	exchange := func(step string) {
		t.Helper()
		since := time.Now()
		for i, s := range running {
			next := in.serve()
			next.until(200, "ok")
			s.stop()
			running[i] = next
		}
		figure(t, "%s: three processes exchanged in %.1f s", step, time.Since(since).Seconds())
	}

	deposit(old, "mal", works)
	in.run("migrate")
	in.run("rebuild")
	in.reach(domain.EventBatchListed, 1)
	old.run("queue", "pause", "ingest", "--reason", "upgrade")
	deposit(old, "mal", waits-few)
	deposit(old, "ana", few)
	exchange("while old batches wait")
	side := deposit(in, "mal", 2) // by the new program, in the old format
	waiting := in.waiting()
	figure(t, "%d batches wait, %d of them by the new program", len(waiting), len(side))
	in.raiseFormat()
	exchange("to the new format")
	user := map[domain.BatchID]string{}
	upgraded := in.with()
	for name, n := range map[string]int{"mal": fresh, "ana": few} {
		for _, id := range deposit(upgraded, name, n) {
			user[id] = name
		}
	}
	in.says(0, words("queue resume ingest --reason upgrade"))
	in.reach(domain.EventBatchCompleted, files)
	for _, s := range running {
		s.stop()
	}
	figure(t, "%d deposits, %d of them accepted by the old program, done in %.0f s", files, works+waits, time.Since(begun).Seconds())
	in.proven()
	in.whole(files)
	in.grabbedInTurn(user)
	in.begunFirst(waiting, user, len(running)-1)
	in.says(0, words("verify"))
}

// waiting returns the batches that were submitted and not begun yet.
func (in *installation) waiting() (ids []domain.BatchID) {
	in.t.Helper()
	in.sent()
	begun := map[string]bool{}
	all := in.history()
	for _, r := range all {
		if r.Type == domain.EventBatchListed {
			begun[r.Aggregate.ID] = true
		}
	}
	for _, r := range all {
		if r.Type == domain.EventBatchSubmitted && !begun[r.Aggregate.ID] {
			ids = append(ids, domain.BatchID(r.Aggregate.ID))
		}
	}
	return ids
}

// programOf builds the program of a commit of this repository.
func programOf(t *testing.T, commit string) string {
	t.Helper()
	dir := t.TempDir()
	run := func(remedy, in, name string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), name, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), "GOFLAGS=") // no protection is taken out of it
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, remedy)
		}
		return strings.TrimSpace(string(out))
	}
	const remedy = "the history of the repository is needed, up to commit " + before + ": in a copy without it, git fetch --unshallow"
	top := run(remedy, ".", "git", "rev-parse", "--show-toplevel")
	run(remedy, top, "git", "cat-file", "-e", commit+"^{commit}")
	source, program := filepath.Join(dir, "source"), filepath.Join(dir, "accession")
	run("", top, "git", "archive", "--format=tar", "--output="+filepath.Join(dir, "source.tar"), commit)
	if err := os.Mkdir(source, 0o755); err != nil {
		t.Fatal(err)
	}
	run("", dir, "tar", "-xf", "source.tar", "-C", source)
	run("", source, "go", "build", "-o", program, "./cmd/accession")
	return program
}
