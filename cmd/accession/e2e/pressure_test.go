package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// try deposits a batch and returns its id, or the exit code and what was said.
func (in *installation) try(f *fileServer) (id domain.BatchID, code int, said string) {
	in.t.Helper()
	var out, errs bytes.Buffer
	cmd := in.command("submit", f.URL+"/batch.checkm", "--type", "file_batch_manifest", "--profile", "test", "-o", "json")
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "", exit.ExitCode(), errs.String()
	}
	in.must(err)
	var answer struct {
		BatchID domain.BatchID `json:"id"`
	}
	in.must(json.Unmarshal(out.Bytes(), &answer))
	return answer.BatchID, 0, ""
}

// allReported waits until so many batches were reported and so many jobs cleaned up.
func (in *installation) allReported(batches, jobs int) {
	in.t.Helper()
	reported, cleaned := map[domain.Aggregate]bool{}, 0
	defer func() {
		if in.t.Failed() {
			in.t.Logf("%d of %d batches were reported, %d of %d jobs cleaned up", len(reported), batches, cleaned, jobs)
		}
	}()
	in.await("the end of all batches", 0, func(r domain.Recorded) bool {
		switch r.Type {
		case domain.EventJobCleaned:
			cleaned++
		case domain.EventBatchReported:
			reported[r.Aggregate] = true
		}
		return cleaned == jobs && len(reported) == batches
	})
}

// TestNATSAwayUntilTheOutboxIsFull: first deposits are refused, at last nothing
// moves any more; when NATS is back everything ends well, and nothing was counted.
// It was killed, or it stood still, with all that was sent to it before.
// Shows: P1 P8
func TestNATSAwayUntilTheOutboxIsFull(t *testing.T) {
	t.Parallel()
	ways := map[string]func(*natsServer) (back func()){
		"killed":  func(n *natsServer) func() { n.kill(); return n.start },
		"stopped": func(n *natsServer) func() { n.signal(syscall.SIGSTOP); return func() { n.signal(syscall.SIGCONT) } },
	}
	for _, name := range thirdOf(t, slices.Sorted(maps.Keys(ways))) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			natsAway(t, ways[name])
		})
	}
}

func natsAway(t *testing.T, leaves func(*natsServer) func()) {
	t.Helper()
	const jobs, full, stop = 30, 8, 25 // the jobs of one deposit come past the last limit
	log := newNATS(t)
	in := newForProcesses(t, "attempts: 20, timeout: 60s", "nats="+log.url(), "outbox_warn=4", fmt.Sprintf("outbox_full=%d", full), fmt.Sprintf("outbox_stop=%d", stop),
		"group_commit=false", "zookeeper_session_timeout=4s", "open_timeout=5s", "outbox_grace=500ms", "listen_ops=127.0.0.1:0", "ops_pprof=true")
	f := newFiles(t, jobs, -1)
	s := in.serve()
	s.until(200, "ok")
	batches := []domain.BatchID{in.submitFiles(f)}
	in.allReported(1, jobs)
	for _, verb := range []string{"pause", "resume"} { // a queue that was paused once has a node for ever
		in.run("queue", verb, "downloading", "--yes")
	}
	before := in.takes(s)
	comes := sync.OnceFunc(leaves(log))
	t.Cleanup(comes) // the stream can be removed also when this fails

	waitFor(in.t, "a deposit to be refused", func() bool {
		id, code, said := in.try(f)
		if code == 0 {
			batches = append(batches, id)
			return false
		}
		if code != 7 || !strings.Contains(said, "decisions in the outbox that the log does not have yet") ||
			!strings.Contains(said, `hint":"nothing was taken or changed: try again in 30s`) {
			t.Fatalf("exit code %d: %s", code, said)
		}
		return true
	})
	s.tells("nothing is claimed or changed")
	s.until(503, "not ready: nats, outbox")
	in.run("queue", "pause", "downloading", "--reason", "to see that an operator can")
	in.run("queue", "resume", "downloading")
	for range 20 { // it stands still: each worker may have had one more under way
		d, err := in.live.Depth(t.Context())
		in.must(err)
		if d.Unsent < full || d.Unsent > stop+25 {
			t.Fatalf("%d unsent, with a limit of %d", d.Unsent, stop)
		}
		<-time.After(50 * time.Millisecond)
	}

	comes()
	waitFor(in.t, "room for a deposit", func() bool {
		id, code, said := in.try(f)
		if code == 0 {
			batches = append(batches, id)
		} else if code != 7 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		return code == 0
	})
	s.until(200, "ok")
	n := len(batches) * jobs
	in.allReported(len(batches), n)
	in.back(before, moreHeap, s)
	s.stop()
	in.proven()
	// The batches name the same objects: each job made a version.
	for what, query := range map[string]string{
		"completed jobs":            `select count(*) from accession.job where status = 'completed'`,
		"versions in the inventory": `select count(*) from record.object_version`,
	} {
		if got := in.count(query); got != n {
			t.Errorf("%s: %d, want %d", what, got, n)
		}
	}
	if got := in.count(`select max(download_attempts) from accession.file`); got != 1 {
		t.Errorf("a download was counted %d times", got)
	}
	if got := in.count(`select count(*) from accession.retry`); got != 0 {
		t.Errorf("%d failures", got)
	}
}

// TestDepositsWaitForHeap: when the jobs in ZooKeeper, also finished ones, take what they
// may take of its heap, deposits are refused, with what to do; a clean-up makes room.
// Shows: P8
func TestDepositsWaitForHeap(t *testing.T) {
	t.Parallel()
	const jobs = 30 // while they are made they take less than a quarter of the heap
	in := newForProcesses(t, "attempts: 3", "zookeeper_heap=1 MiB", "listen_ops=127.0.0.1:0")
	f := newFiles(t, jobs, -1)
	s := in.serve()
	batches := 0
	waitFor(t, "a deposit to be refused", func() bool {
		_, code, said := in.try(f)
		if code == 0 {
			batches++
			in.allReported(batches, batches*jobs)
			return false
		}
		if code != 7 || !strings.Contains(said, "MiB of ZooKeeper's heap taken by") || !strings.Contains(said, `hint":"nothing was taken or changed: try again in 1m0s; completed batches go after`) {
			t.Fatalf("exit code %d: %s", code, said)
		}
		return true
	})
	if batches < 1 {
		t.Error("no deposit was taken")
	}
	text := s.get("/metrics")
	for name, want := range map[string]int{"batches": batches, "jobs": batches * jobs, "heap_limit_bytes": 512 << 10} {
		if line := fmt.Sprintf("accession_live_%s %d\n", name, want); !strings.Contains(text, line) {
			t.Errorf("the metrics do not say %s", line)
		}
	}
	in.run("batch", "cleanup", "bid0000000001", "--yes", "--reason", "to make room")
	waitFor(t, "room for a deposit", func() bool { _, code, _ := in.try(f); return code == 0 })
	in.allReported(batches+1, (batches+1)*jobs)
	s.stop()
	in.proven()
}

// TestDepositsWaitForAQueue: at the limit of a queue deposits are refused, with what
// to do; when there is room again they are taken, and all end well.
// Shows: P8
func TestDepositsWaitForAQueue(t *testing.T) {
	t.Parallel()
	const jobs, fit = 50, 2
	in := newForProcesses(t, "attempts: 3", fmt.Sprintf("queue_limit=%d", jobs*fit))
	f := newFiles(t, jobs, -1)
	in.run("queue", "pause", "pending", "--reason", "so that it fills", "--yes")
	s := in.serve()
	for range fit {
		in.submitFiles(f)
	}
	in.reach(domain.EventBatchStarted, fit)
	_, code, said := in.try(f)
	if code != 7 || !strings.Contains(said, "there are 100 jobs pending, and at 100 nothing more is taken") ||
		!strings.Contains(said, `hint":"nothing was taken or changed: try again in 1m0s`) {
		t.Errorf("exit code %d: %s", code, said)
	}
	in.run("queue", "resume", "pending", "--yes")
	one := newFiles(t, 1, -1)
	waitFor(in.t, "room for a deposit", func() bool { _, code, _ := in.try(one); return code == 0 })
	in.allReported(fit+1, fit*jobs+1)
	in.sent()
	s.stop()
	in.proven()
	if n := in.count(`select count(*) from accession.batch`); n != fit+1 {
		t.Errorf("%d batches, want %d", n, fit+1)
	}
}
