package e2e

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/storetest"
)

// worked are the states in which daemons take jobs, in their order.
var worked = []domain.JobState{domain.JobPending, domain.JobEstimating, domain.JobProvisioning, domain.JobDownloading,
	domain.JobProcessing, domain.JobRecording, domain.JobNotify}

// TestUnreadableAtTheHead damages the first job in each queue, and a pending batch
// before another: the ones behind go on, the damaged ones are reported everywhere,
// and when they were repaired they go on too.
// Shows: P1
func TestUnreadableAtTheHead(t *testing.T) {
	t.Parallel()
	in := newForProcesses(t, "attempts: 3", "listen_ops=127.0.0.1:0", "ops_pprof=true", "queue_concurrency=metadata=20", "outbox_grace=500ms")
	f := newFiles(t, 2, -1)
	kit := storetest.NewKit(t, in.live)
	s := in.serve()
	for _, why := range []string{"a test", ""} { // a queue that was paused once has a node for ever
		for _, queue := range append(worked, domain.JobState(domain.QueueIngest)) {
			kit.Hold(domain.HoldQueue, string(queue), why)
		}
	}
	waitFor(in.t, "its leads", func() bool {
		leads := 0
		for node := range in.takes().nodes {
			if strings.HasPrefix(node, "/leaders/") {
				leads++
			}
		}
		return leads == 6 // four relays, those of the working space and of the compute queue
	})
	before := in.takes(s)
	heads, second := map[domain.JobState]domain.JobID{}, map[domain.JobID]bool{}
	for i := len(worked) - 1; i >= 0; i-- { // two jobs come to each, and no further
		state := worked[i]
		kit.Hold(domain.HoldQueue, string(state), "a test")
		in.submitFiles(f, "?objects="+string(state)) // others than those of the jobs before, which have not ended
		waitFor(in.t, "two jobs in "+string(state), func() bool {
			view, err := in.live.Overview(t.Context())
			in.must(err)
			return view.Queues[state] == 2
		})
		first := domain.NewJobID(int64(2*(len(worked)-i) - 1))
		heads[state], second[first.Plus(1)] = first, true
	}
	kit.Hold(domain.HoldQueue, domain.QueueIngest, "a test")
	broken := []domain.BatchID{in.submitFiles(f, "?objects=broken"), in.submitFiles(f, "?objects=next")}[0]
	s.stop()

	conn, _, err := zk.Connect([]string{in.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	in.must(err)
	defer conn.Close()
	spoil := func(node string) {
		_, err := conn.Set(in.settings["zookeeper_root"]+node, []byte("{garbage"), -1)
		in.must(err)
	}
	subjects := map[string]bool{broken.Aggregate().String(): true}
	for i, state := range worked {
		id := heads[state]
		subjects[id.Aggregate().String()] = true
		if i%2 == 0 {
			spoil("/jobs/" + string(id) + "/status")
		} else {
			in.must(conn.Delete(in.settings["zookeeper_root"]+"/jobs/"+string(id)+"/configuration", -1))
		}
	}
	spoil("/batches/" + string(broken) + "/status")
	for _, state := range append(worked, domain.JobState(domain.QueueIngest)) {
		kit.Hold(domain.HoldQueue, string(state), "")
	}

	s = in.serve()
	in.await("the jobs behind the damaged ones", 0, func(r domain.Recorded) bool {
		if r.Type == domain.EventJobCompleted {
			delete(second, domain.JobID(r.Aggregate.ID))
		}
		return len(second) == 0
	})
	for _, id := range heads {
		waitFor(in.t, "the log to tell of "+string(id), func() bool {
			return strings.Contains(s.log.tail(1<<20), `"a job cannot be read and is set aside: run `+"`accession verify`"+` for details","job":"`+string(id))
		})
	}
	s.says(`"a batch cannot be read and is left alone: run ` + "`accession verify`" + ` for details","batch":"` + string(broken))
	waitFor(in.t, "the metric", func() bool {
		_, text := s.asked("/metrics")
		return strings.Contains(text, "\naccession_unreadable 8\n")
	})

	for _, finding := range in.found() {
		if finding.Remedy == "" || finding.Severity != app.Repairable {
			t.Errorf("no remedy for %s", finding)
		}
		delete(subjects, finding.Subject)
	}
	if len(subjects) > 0 {
		t.Errorf("verify says nothing of %v", subjects)
	}
	in.found("--repair", "--yes")
	if left := in.found(); len(left) > 0 {
		t.Errorf("after the repair: %v", left)
	}
	in.allReported(len(worked)+2, 2*(len(worked)+2))
	in.sent()
	in.back(before, moreHeap, s)
	s.stop()
	in.proven()
}

// found runs a check, with repairs or without, and returns what it found.
func (in *installation) found(args ...string) []app.Finding {
	in.t.Helper()
	out, err := in.command(append([]string{"verify", "-o", "json"}, args...)...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		in.t.Fatal(err)
	}
	var v app.Verified
	if err := json.Unmarshal(out, &v); err != nil {
		in.t.Fatalf("verify: %v\n%s\n%s", err, out, exit.Stderr)
	}
	return v.Findings
}
