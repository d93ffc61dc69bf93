package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/mailread"
)

// killedAt runs the program until it kills itself at the point.
func (in *installation) killedAt(point string, args ...string) {
	in.t.Helper()
	binary, err := crashing()
	in.must(err)
	cmd := in.commandOf(binary, args...)
	cmd.Env = append(cmd.Env, "ACCESSION_CRASH="+point)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	in.must(cmd.Start())
	in.t.Cleanup(func() { _ = cmd.Process.Kill() }) // when the test ends before it died
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		in.t.Fatalf("%v was to die at %s: %v\n%s", args, point, err, said.String())
	}
}

// TestCreationKilledAtEachStep: a process that makes the jobs of a batch dies at each step
// of it. The next one goes on, and there is exactly one job for each row, and one
// mail.
// Shows: P1
func TestCreationKilledAtEachStep(t *testing.T) {
	t.Parallel()
	const few, many = 10, 170 // one write, and three
	points := thirdOf(t, []string{
		"daemon/batch-pending/keep-manifest/before", "daemon/batch-pending/keep-manifest/after",
		"daemon/batch-pending/reserve-ids/after", "daemon/batch-pending/list/after",
		"daemon/batch-pending/create-jobs/before", "daemon/batch-pending/create-jobs/after",
		"daemon/batch-pending/create-jobs/before:2", "daemon/batch-pending/create-jobs/after:2",
		"daemon/batch-pending/create-jobs/before:3", "daemon/batch-pending/create-jobs/after:3",
		"daemon/mail/send/before", "notify/mail/rename/before", "notify/mail/rename/after", "daemon/mail/send/after",
		"daemon/turn/move/before", "daemon/turn/move/after", "relay/events/append/before:3", "relay/mark/move/before:2",
	})
	const side = 2 // several at once: they wait for the sessions of those that were killed
	for first := range side {
		t.Run(fmt.Sprint(first), func(t *testing.T) {
			t.Parallel()
			in := newForProcesses(t, "attempts: 20, timeout: 60s", "queue_concurrency=metadata=20")
			in.tell("queued")
			in.run("queue", "pause", "pending", "--reason", "jobs are only made", "--yes")
			fewFiles, manyFiles := newFiles(t, few, -1), newFiles(t, many, -1)
			died, has := map[domain.BatchID]string{}, map[domain.BatchID]int{}
			for i := first; i < len(points); i += side {
				f, rows := fewFiles, few
				if strings.Contains(points[i], ":") { // not at the first write
					f, rows = manyFiles, many
				}
				id := in.submitFiles(f)
				died[id], has[id] = points[i], rows
				in.killedAt(points[i], "serve")
				s := in.serve()
				s.works() // the one that died may have published all
				in.reach(domain.EventBatchStarted, len(died))
				s.stop()
			}
			last := in.serve()
			in.sent()
			in.proven()
			last.stop()
			for id, point := range died {
				rows := has[id]
				if n := in.count(`select count(*) from accession.job where batch_id = $1`, id); n != rows {
					t.Errorf("died at %s: %d jobs", point, n)
				}
				if n := in.count(`select count(distinct manifest_row) from accession.job where batch_id = $1 and manifest_row between 0 and $2`, id, rows-1); n != rows {
					t.Errorf("died at %s: %d of %d rows have a job", point, n, rows)
				}
				if n := len(in.mails(id)); n != 1 {
					t.Errorf("died at %s: %d mails say that %s was accepted", point, n, id)
				}
			}
		})
	}
}

// tell makes the profile ask for other mails than reports.
func (in *installation) tell(what string) { in.editProfile("on: [report]", "on: ["+what+"]") }

// mails returns the texts of the mails about a batch.
func (in *installation) mails(id domain.BatchID) (texts []string) {
	in.t.Helper()
	for _, m := range in.letters(id) {
		texts = append(texts, m.Text)
	}
	return texts
}

// letters returns the mails about a batch, with what is attached.
func (in *installation) letters(id domain.BatchID) (all []mailread.Mail) {
	in.t.Helper()
	files, err := filepath.Glob(filepath.Join(in.dir, "mail", "[^.]*")) // the others are being written
	in.must(err)
	for _, name := range files {
		f, err := os.Open(name)
		in.must(err)
		m, err := mailread.Read(f)
		in.must(errors.Join(err, f.Close()))
		if body := m.Text; strings.Contains(strings.ReplaceAll(body, "deposited before, as "+string(id), ""), string(id)) {
			all = append(all, m)
		}
	}
	return all
}

// TestDeletionKilledAtEachStep: a process that deletes a failed batch (B11) or a held one
// (B12), or cleans a completed one up (B13), dies at each step of it; so does the
// janitor. Then another janitor finishes, and nothing is left.
// Shows: P1 P8
func TestDeletionKilledAtEachStep(t *testing.T) {
	t.Parallel()
	const jobs = 3
	parts := []string{"zklive/remove/after-part:1", "zklive/remove/after-part:2", "zklive/remove/after-part:3", "zklive/remove/after-part:4", "zklive/remove/batch/after"}
	deleted := append([]string{"eventstore/deletion/remove-work/before", "eventstore/deletion/remove-work/after", "eventstore/deletion/delete-job/after",
		"eventstore/deletion/delete-job/after:2", "eventstore/deletion/delete-job/after:3", "eventstore/deletion/remove/before"}, parts...)
	cleaned := append([]string{"eventstore/deletion/remove-work/before", "eventstore/deletion/remove-work/after", "eventstore/deletion/remove/before",
		"zklive/remove/job/after", "zklive/remove/job/after:2", "zklive/remove/job/after:3"}, parts...)
	held := []string{"eventstore/deletion/remove/before", "zklive/remove/after-part", "zklive/remove/batch/after"}
	byJanitor := []string{"eventstore/deletion/remove-work/before", "zklive/remove/job/after:2", "zklive/remove/after-part:3", "zklive/remove/batch/after"}

	in := newForProcesses(t, "attempts: 20, timeout: 60s")
	f := newFiles(t, jobs, -1)
	submit := func(n int, query ...string) (ids []domain.BatchID) {
		for range n {
			ids = append(ids, in.submitFiles(f, query...))
		}
		return ids
	}
	s := in.serve()
	retired := submit(len(byJanitor)) // the lowest ids: the janitor gets to them first
	toClean, toDelete := submit(len(cleaned)), submit(len(deleted), "?lost")
	in.reach(domain.EventBatchCompleted, len(retired)+len(toClean))
	in.reach(domain.EventBatchFailed, len(toDelete))
	in.run("collection", "hold", "test", "--reason", "to have held batches", "--yes")
	toDrop := submit(len(held))
	in.reach(domain.EventBatchHeld, len(toDrop))
	s.stop()

	kill := func(verb string, ids []domain.BatchID, points []string) {
		for i, id := range ids {
			in.killedAt(points[i], "batch", verb, string(id), "--reason", "a test", "--yes")
		}
	}
	kill("delete", toDelete, deleted)
	kill("cleanup", toClean, cleaned)
	kill("delete", toDrop, held)
	in.settings["retention"] = "1ms"
	for _, point := range byJanitor {
		in.killedAt(point, "serve")
	}

	last := in.serve()
	waitFor(t, "every batch to be gone", func() bool {
		left, err := in.live.Batches(t.Context())
		in.must(err)
		return len(left) == 0
	})
	in.sent()
	in.proven()
	last.stop()
	for _, top := range []string{"/batches", "/jobs"} {
		for path := range in.nodesFrom(top) {
			if strings.Contains(path, "bid0") || strings.Contains(path, "jid0") {
				t.Errorf("%s is left", path)
			}
		}
	}
	in.should(filepath.WalkDir(filepath.Join(in.dir, "work"), func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, "jid0") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
	for _, id := range slices.Concat(retired, toClean) {
		if n := in.count(`select count(*) from accession.event where batch_id = $1 and type = 'job.deleted'`, id); n != 0 {
			t.Errorf("%s was cleaned up, and %d events say that a job was deleted", id, n)
		}
	}
	for _, id := range toDelete {
		if n, each := in.count(`select count(*) from accession.event where batch_id = $1 and type = 'job.deleted'`, id),
			in.count(`select count(distinct aggregate_id) from accession.event where batch_id = $1 and type = 'job.deleted'`, id); n != jobs || each != jobs {
			t.Errorf("%s was deleted: %d events of %d of its %d jobs say so", id, n, each, jobs)
		}
	}
}
