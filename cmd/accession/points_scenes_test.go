package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/proof"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/zklive"
)

// finish lets a process work until nothing is left to do.
func (o *office) finish(...domain.BatchID) {
	o.t.Helper()
	s := o.serve()
	s.works()
	o.still()
	s.stop()
}

// works waits until the service does, and would hear that it is to stop.
func (s *service) works() {
	s.in.t.Helper()
	settled(s.in.t, func() bool { return strings.Contains(s.log.tail(1<<20), `"msg":"ready"`) })
}

func deposits(o *office, point string) {
	o.deposit("mixed")
	o.deposit("again")
	o.dies(point, nil, "serve")
}

func stops(o *office, point string) {
	o.dies(point, func(p *os.Process, _ <-chan struct{}) {
		o.rests(o.deposit("again"))
		_ = p.Signal(syscall.SIGTERM)
	}, "serve")
}

// stopsWhileItWorks: what is under way when the process stops is handed back.
func stopsWhileItWorks(o *office, point string) {
	o.deposit("slow")
	o.dies(point, func(p *os.Process, dead <-chan struct{}) {
		select {
		case <-o.slow:
		case <-dead:
		case <-time.After(reaching):
		}
		_ = p.Signal(syscall.SIGTERM)
	}, "serve")
}

func cleansUp(o *office, point string) {
	o.finish(o.deposit("again"))
	for _, id := range o.batches {
		o.gone[id] = true // the janitor may begin with any of them
	}
	o.dies(point, nil, "serve", "--set=retention=1ms")
}

func deletes(o *office, point string) {
	id := o.deposit("mixed")
	o.finish()
	o.gone[id] = true
	o.dies(point, nil, "batch", "delete", string(id), "--reason", "a test", "--yes")
}

// takesOver: a successor finds what a claim has left behind.
func takesOver(o *office, point string) {
	o.finish()
	o.deposit("again")
	o.dies("daemon/downloading/before-win", nil, "serve")
	o.dies(point, nil, "serve")
}

// findsDamage: files that an earlier claim has put into place are not what they
// were.
func findsDamage(o *office, point string) {
	o.finish()
	id := o.deposit("mixed")
	o.dies("daemon/downloading/after-win", nil, "serve")
	files, err := filepath.Glob(filepath.Join(o.dir, "work", string(id), "*", "files", "a.txt"))
	o.must(err)
	if len(files) != 1 {
		o.t.Fatalf("in place: %q", files)
	}
	o.must(os.WriteFile(files[0], []byte("damaged"), 0o600))
	o.dies(point, nil, "serve")
}

// triesAgain: a failed job is sent back when its cause is gone.
func triesAgain(o *office, point string) {
	id := o.deposit("mixed")
	n := o.number()
	o.finish()
	o.mu.Lock()
	o.found[n] = true
	o.mu.Unlock()
	failed := o.await("a failed job", 0, func(r domain.Recorded) bool { return r.BatchID == id && r.Type == domain.EventJobFailed })
	o.run("job", "requeue", failed.Aggregate.ID, "--reason", "it was found")
	o.dies(point, nil, "serve")
}

// leavesOut: an operator leaves a file out of its object.
func leavesOut(o *office, point string) {
	o.finish()
	id := o.deposit("mixed")
	o.dies("daemon/downloading/after-win", nil, "serve")
	file := o.await("a file", 0, func(r domain.Recorded) bool {
		m, _ := domain.MoveOfFile(r.Data)
		return r.BatchID == id && r.Type == domain.EventFileDownloaded && m.Path == "a.txt"
	})
	o.run("file", "skip", file.Aggregate.ID, "--reason", "a test", "--yes")
	o.dies(point, nil, "serve")
}

// rebuilds: the tables are made anew beside the live ones, and what is left of that
// is dropped.
func rebuilds(o *office, point string) {
	o.finish()
	o.dies(point, nil, "rebuild")
	o.run("rebuild", "--drop")
}

func migrates(o *office, point string) { o.dies(point, nil, "migrate") }

// retriesPoison: the tables refuse a batch for a while.
func retriesPoison(o *office, point string) {
	o.finish()
	exec := func(sql string) {
		_, err := o.db.Exec(o.t.Context(), sql)
		o.must(err)
	}
	exec("alter table accession.batch add constraint poison check (payload_url not like '%again%') not valid")
	s := o.serve()
	o.rests(o.deposit("again"))
	settled(o.t, func() bool { return o.count("select count(*) from accession.poison_event") > 0 })
	o.still()
	s.stop()
	exec("alter table accession.batch drop constraint poison")
	o.dies(point, nil, "poison", "retry", "--all")
	o.run("poison", "retry", "--all")
}

func republishes(o *office, point string) {
	subject := "replay." + uuid.NewString()
	if strings.HasSuffix(point, "-send") { // to a stream
		nc, err := nats.Connect(o.settings["nats"])
		o.must(err)
		defer nc.Close()
		js, err := jetstream.New(nc)
		o.must(err)
		name := "REPLAY_" + strings.ReplaceAll(uuid.NewString(), "-", "")
		_, err = js.CreateStream(o.t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{subject + ".>"}})
		o.must(err)
		defer func() { o.should(js.DeleteStream(context.WithoutCancel(o.t.Context()), name)) }()
	}
	o.dies(point, nil, "replay", "--publish", subject)
}

// repairs: a lock is held in the name of nobody.
func repairs(o *office, point string) {
	id := o.deposit("mixed")
	o.finish()
	failed := o.await("a failed job", 0, func(r domain.Recorded) bool { return r.BatchID == id && r.Type == domain.EventJobFailed })
	conn, _, err := zk.Connect([]string{o.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	o.must(err)
	defer conn.Close()
	_, err = conn.Create(o.settings["zookeeper_root"]+"/jobs/"+failed.Aggregate.ID+"/lock", []byte(`{"holder":"nobody"}`), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	o.must(err)
	o.dies(point, nil, "verify", "--repair", "--yes", "--wait", "1s")
	// The exit code tells of what was found before the repair.
	out, _ := o.command("verify", "--repair", "--yes", "--wait", "1s").CombinedOutput()
	if !strings.Contains(string(out), "1 mended") {
		o.t.Errorf("repair after a death at %s:\n%s", point, out)
	}
}

// restores: the tree is drawn anew elsewhere; the second try must end what the
// first has begun.
func restores(o *office, point string) {
	o.finish()
	root := o.settings["zookeeper_root"] + "-restored"
	o.dies(point, nil, "--set=zookeeper_root="+root, "restore", "zookeeper")
	if !strings.HasSuffix(point, "/after-end") { // as long as the session of the dead one lasts it is refused
		settled(o.t, func() bool { return o.command("--set=zookeeper_root="+root, "restore", "zookeeper").Run() == nil })
	}
	restored, err := zklive.Open(o.t.Context(), zklive.Config{Servers: []string{o.settings["zookeeper"]}, Root: root, Shards: 4})
	o.must(err)
	found, err := proof.Compare(o.t.Context(), restored, o.log, o.db)
	o.must(err)
	for _, d := range found {
		if strings.Contains(d.String(), "audit:maintenance") {
			continue // the restoration's own event, which no relay has carried yet
		}
		o.t.Errorf("restored after a death at %s: %s", point, d)
	}
	o.must(restored.Destroy(o.t.Context()))
	o.must(restored.Close())
}
