package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/app/standing"
	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/deploy/samples"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
)

// TestStatusOfWhatStandsStill: a pause, a pause that cannot be read, a hold, a state that
// no process serves, the job that waits there, one that cannot be read and an overdue
// attempt are each in the status with a remedy, and in the metrics.
func TestStatusOfWhatStandsStill(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "listen_ops=127.0.0.1:0", "workers=job-downloading=0", "download_timeout=1ms")
	in.says(0, []string{"queue", "pause", "notify", "--reason", "receiver down"})
	conn, root := in.zookeeper(), in.cfg.ZooKeeperRoot
	_, err := conn.Create(root+"/locks/queue/recording", nil, 0, zk.WorldACL(zk.PermAll))
	in.must(err)
	s := in.serveInProcess(run.RoleDaemons, run.RoleRelay, run.RoleProjector)
	base := webServer(t, samples.Handler())
	in.submit(app.Deposit{Payload: base + samples.SingleFile})
	in.submit(app.Deposit{Payload: base + samples.SingleFile})
	came := in.seen(2, domain.EventJobProvisioned)
	good, damaged := came[0].Aggregate.ID, came[1].Aggregate.ID
	in.says(0, []string{"collection", "hold", "test", "--reason", "new terms"})
	in.discover("slow.txt").do(domain.StartDownload{Worker: "w", Limits: domain.Limits{Max: 3}})
	in.shown()
	_, err = conn.Set(root+"/jobs/"+damaged+"/status", []byte("{garbage"), -1)
	in.must(err)
	var got status.Status
	waitFor(t, "an overdue attempt", func() bool {
		got = status.Of(in.ctx(), in.app)
		return got.Overdue != nil && *got.Overdue == 1
	})
	if !got.OK() {
		t.Errorf("a server does not answer: %+v", got.Servers)
	}
	name := func(list []standing.Hold) (names []string) {
		for _, h := range list {
			if h.Unreadable {
				h.Name += " unreadable"
			}
			names = append(names, h.Name)
		}
		return names
	}
	for _, d := range []string{
		cmp.Diff([]string{"notify", "recording unreadable"}, name(got.Pauses)),
		cmp.Diff([]string{"test"}, name(got.Holds)),
		cmp.Diff([]standing.Unserved{{Kind: domain.KindJob, State: "downloading", Daemon: domain.DaemonJobDownloading}}, got.Unserved),
		cmp.Diff([]standing.Oldest{{Kind: domain.KindJob, Status: "downloading", State: "downloading", ID: good}}, got.Oldest, cmpopts.IgnoreFields(standing.Oldest{}, "Since", "Seconds")),
		cmp.Diff([]standing.Unreadable{{Kind: domain.KindJob, ID: damaged}}, got.Unreadable, cmpopts.IgnoreFields(standing.Unreadable{}, "Error")),
	} {
		if d != "" {
			t.Error(d)
		}
	}
	texts := []string{"queue notify is paused since", "receiver down", "accession queue resume notify", "accession queue resume recording", "its node cannot be read",
		"collection test is on hold since", "accession collection release test", "no process works on jobs in state downloading", good,
		"job " + damaged + " cannot be read", "1 attempts at files are overdue", "accession sweep", "audit       never started"}
	in.says(0, words("status"), texts...)
	in.says(0, words("status -o json"), `"code": "paused"`, `"code": "held"`, `"code": "unserved"`, `"code": "unreadable"`, `"code": "overdue"`)
	waitFor(t, "the metrics", func() bool {
		_, text := s.asked("/metrics")
		for _, line := range []string{`accession_state_unserved{aggregate="job",state="downloading"} 1`, `accession_state_unserved{aggregate="job",state="processing"} 0`,
			`accession_holds{kind="queue"} 2`, `accession_holds{kind="collection"} 1`, "accession_overdue_files 1"} {
			if !strings.Contains(text, "\n"+line+"\n") {
				return false
			}
		}
		return true
	})
}

// TestStatusIsWatched: into a pipe comes one status, or one board of a deposit queue, after
// the other, as blocks of text or as lines of JSON, until the command is interrupted.
func TestStatusIsWatched(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	for _, c := range []struct {
		args []string
		is   func(line string) bool
	}{
		{words("status --watch"), func(line string) bool { return strings.HasPrefix(line, "status at ") }},
		{words("status --watch -o json"), func(line string) bool {
			var s status.Status
			return json.Unmarshal([]byte(line), &s) == nil && s.OK() && s.Standing != nil
		}},
		{words("queue board --watch"), func(line string) bool { return strings.HasPrefix(line, "board at ") }},
		{words("queue board query --watch -o json"), func(line string) bool {
			var b queues.Board
			return json.Unmarshal([]byte(line), &b) == nil && b.Queue == fair.QueueQuery
		}},
	} {
		watch := in.command(c.args...)
		out, err := watch.StdoutPipe()
		in.must(err)
		in.must(watch.Start())
		hung := time.AfterFunc(patience, func() { _ = watch.Process.Kill() })
		lines := bufio.NewReader(out)
		for seen := 0; seen < 2; {
			line, err := lines.ReadString('\n')
			in.must(err)
			if c.is(line) {
				seen++
			}
		}
		in.must(watch.Process.Signal(os.Interrupt))
		_, _ = io.Copy(io.Discard, lines)
		_ = watch.Wait()
		hung.Stop()
		if code := watch.ProcessState.ExitCode(); code != 130 {
			t.Errorf("%v ends with exit code %d", c.args, code)
		}
	}
}

// TestStatusComparesTheHeap: the status says when ZooKeeper has a smaller heap than the
// setting, if its servers say how large it is.
func TestStatusComparesTheHeap(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	const text = "deposits are refused too late"
	if said := in.says(0, words("status")); strings.Contains(said, text) {
		t.Errorf("of the heap that the private server has:\n%s", said)
	}
	in.says(0, words("status --set zookeeper_heap=3GiB"), in.settings["zookeeper"]+" has a heap of ", "zookeeper_heap says 3072 MiB: "+text)
}
