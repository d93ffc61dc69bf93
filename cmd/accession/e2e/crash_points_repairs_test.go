package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
)

// failsWhatRuns: an operator fails a job whose worker died during a download, before
// another takes over. What the command could not end is ended when the job is requeued.
func failsWhatRuns(o *crashInstallation, point string) {
	o.finish()
	id := o.deposit("again")
	o.dies("daemon/downloading/start/after", nil, "serve")
	s := o.serve("--roles=relay,projector")
	var job string
	waitFor(o.t, "the download in the tables", func() bool {
		return o.db.QueryRow(o.t.Context(), `select f.job_id from accession.file f join accession.job j on j.id = f.job_id
			where j.batch_id = $1 and f.status = 'DOWNLOADING'`, id).Scan(&job) == nil
	})
	o.dies(point, nil, "job", "fail", job, "--reason", "withdrawn")
	s.stop()
	o.finish()
	o.run("job", "requeue", job, "--reason", "it was wanted after all")
	o.finish()
	if n := o.count("select count(*) from accession.job where id = $1 and status = 'completed'", job); n != 1 {
		o.t.Errorf("%s is not completed after a death at %s", job, point)
	}
}

// raisesIDs: both next ids were lowered. The next repair ends what the first has begun.
func raisesIDs(o *crashInstallation, point string) {
	o.finish(o.deposit("again")) // the second at least, so that 2 is in use
	o.verifies()
	was, err := o.live.NextIDs(o.t.Context())
	o.must(err)
	conn, _, err := zk.Connect([]string{o.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	o.must(err)
	defer conn.Close()
	for _, kind := range []string{"bid", "jid"} {
		_, err := conn.Set(o.settings["zookeeper_root"]+"/ids/"+kind, []byte("2"), -1) // 1 would be a tree that has nothing
		o.must(err)
	}
	repair := []string{"verify", "--repair", "--yes", "--wait", "1s"}
	o.dies(point, nil, repair...)
	// The exit code is for what was found before the repair.
	out, _ := o.command(repair...).CombinedOutput()
	if o.interrupt == nil && !strings.Contains(string(out), "ids_low") {
		o.t.Errorf("repair after a death at %s:\n%s", point, out)
	}
	next, err := o.live.NextIDs(o.t.Context())
	if err != nil || next.Batch < was.Batch || next.Job < was.Job {
		o.t.Errorf("the next ids are %+v after a death at %s (%v), and were %+v", next, point, err, was)
	}
}

// depositsAFile: the command that deposits a file dies when the deposit is accepted. It is
// no fault of the deposit that later ones are not compared with it.
func depositsAFile(o *crashInstallation, point string) {
	o.finish()
	o.n++
	file := filepath.Join(o.dir, "deposit-"+o.number()+".txt")
	o.must(os.WriteFile(file, []byte(o.number()), 0o600))
	known, err := o.live.Batches(o.t.Context())
	o.must(err)
	o.dies(point, nil, "submit", "--profile", "test", file)
	now, err := o.live.Batches(o.t.Context())
	o.must(err)
	old := map[domain.BatchID]bool{}
	for _, id := range known {
		old[id] = true
	}
	added := 0
	for _, id := range now {
		if !old[id] {
			o.batches = append(o.batches, id)
			added++
		}
	}
	if o.interrupt == nil && added != 1 {
		o.t.Errorf("%d deposits were accepted before a death at %s", added, point)
	}
	o.finish()
}

// depositsOnce: the command that deposits under an idempotency key dies; the same command
// makes the one batch.
func depositsOnce(o *crashInstallation, point string) {
	o.finish()
	o.n++
	file := filepath.Join(o.dir, "deposit-"+o.number()+".txt")
	o.must(os.WriteFile(file, []byte(o.number()), 0o600))
	known, err := o.live.Batches(o.t.Context())
	o.must(err)
	submit := []string{"submit", "--profile", "test", "--idempotency-key", "deposit " + o.number(), file}
	added := func() []domain.BatchID {
		now, err := o.live.Batches(o.t.Context())
		o.must(err)
		return slices.DeleteFunc(now, func(id domain.BatchID) bool { return slices.Contains(known, id) })
	}
	if strings.HasPrefix(point, "record/command/restore/") {
		o.run(submit...)
		o.batches = append(o.batches, added()...)
		o.finish()
		o.exec("delete from record.command")
		o.dies(point, nil, "verify", "--repair", "--yes")
		o.run("verify", "--repair", "--yes")
		o.run(submit...)
	} else {
		o.dies(point, nil, submit...)
		o.run(submit...)
		o.batches = append(o.batches, added()...)
	}
	if len(added()) != 1 {
		o.t.Errorf("%d batches are made by a deposit under a key that died at %s", len(added()), point)
	}
	o.finish()
}

// releases: a process that releases a collection dies. What it had not come to is held until
// the next one releases it.
func releases(o *crashInstallation, point string) {
	o.finish()
	o.run("collection", "hold", "test", "--yes")
	s := o.serve()
	for range 3 {
		id := o.deposit("again")
		o.await("a held batch", 0, func(r domain.Recorded) bool { return r.BatchID == id && r.Type == domain.EventBatchHeld })
	}
	o.must(o.app.CatchUp(o.t.Context()))
	s.stop()
	release := []string{"collection", "release", "test", "--all", "--yes"}
	o.dies(point, nil, release...)
	waitFor(o.t, "the release of all", func() bool {
		said, err := o.command(release...).CombinedOutput()
		return err == nil || strings.Contains(string(said), "collection test is not on hold")
	})
	o.finish()
}

// parks: deposits that wait are parked.
func parks(o *crashInstallation, point string) {
	o.finish()
	o.run("queue", "suspend", "metadata", "--reason", "x", "--yes")
	for range 3 {
		o.deposit("again")
	}
	park := []string{"queue", "park", "tester", "--reason", "x"}
	o.dies(point, nil, park...)
	waitFor(o.t, "the parking of all", func() bool {
		_, err := o.command(park...).CombinedOutput()
		return err == nil
	})
	s := o.serve("--roles=relay,projector")
	o.must(o.app.CatchUp(o.t.Context()))
	if n := o.count("select count(*) from accession.batch where status = 'held' and reason_code = 'parked'"); n != 3 {
		o.t.Errorf("%d are parked, want 3", n)
	}
	o.run("queue", "unpark", "tester", "--reason", "x")
	s.stop()
	o.run("queue", "resume", "metadata", "--reason", "x", "--yes")
	o.finish()
}

// repairsRings: nodes of a deposit queue are damaged while a batch waits there. The second
// repair ends what the first has begun.
func repairsRings(o *crashInstallation, point string) {
	o.finish()
	o.verifies()
	s := o.serve("--roles=relay,projector")
	o.deposit("again")
	o.verifies()
	conn, _, err := zk.Connect([]string{o.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	o.must(err)
	defer conn.Close()
	names := o.settings["zookeeper_root"] + "/queues/metadata/names"
	_, err = conn.Set(names+"/tester", []byte("999"), -1)
	o.must(err)
	_, err = conn.Create(names+"/cleo", []byte("998"), 0, zk.WorldACL(zk.PermAll))
	o.must(err)
	o.dies(point, nil, "verify", "--repair", "--yes", "--wait", "1s")
	_, _ = o.command("verify", "--repair", "--yes", "--wait", "1s").CombinedOutput() // its exit code is for what was found before
	o.verifies()
	s.stop()
	o.finish()
}

// repairsQueries: a query that waits has lost what it asks.
func repairsQueries(o *crashInstallation, point string) {
	o.finish()
	o.verifies()
	s := o.serve("--roles=relay,projector")
	id := o.ask()
	conn, _, err := zk.Connect([]string{o.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	o.must(err)
	defer conn.Close()
	o.must(conn.Delete(o.settings["zookeeper_root"]+"/queries/"+string(id)+"/request", -1))
	o.dies(point, nil, "verify", "--repair", "--yes", "--wait", "1s")
	_, _ = o.command("verify", "--repair", "--yes", "--wait", "1s").CombinedOutput() // its exit code is for what was found before
	o.verifies()
	s.stop()
	s = o.serve()
	o.answered(id)
	s.stop()
	o.finish()
}

// repairsEntries: an entry of the compute queue that waits has lost its key.
func repairsEntries(o *crashInstallation, point string) {
	o.finish()
	o.verifies()
	s := o.serve("--roles=relay,projector")
	group := uuid.NewString()
	o.run("compute", "submit", "--dataset", "nights", "--group", group, "--key", group, "--input", newOpenDirectory(o.t).URL+"/a.txt")
	o.verifies()
	conn, _, err := zk.Connect([]string{o.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	o.must(err)
	defer conn.Close()
	o.must(conn.Delete(o.settings["zookeeper_root"]+keyOf(group), -1))
	o.dies(point, nil, "verify", "--repair", "--yes", "--wait", "1s")
	_, _ = o.command("verify", "--repair", "--yes", "--wait", "1s").CombinedOutput() // its exit code is for what was found before
	o.verifies()
	work := o.command("compute", "worker", "--profile", "test", "--datasets", "nights", "--exec", "wc -c < {in} > {out}")
	o.must(work.Start())
	waitFor(o.t, "the result of "+group, func() bool {
		return o.count("select count(*) from accession.compute_entry where group_name = $1 and status = 'SUCCESSFUL'", group) == 1
	})
	_ = work.Process.Signal(syscall.SIGTERM)
	_ = work.Wait() // it was stopped
	s.stop()
	o.finish()
}
