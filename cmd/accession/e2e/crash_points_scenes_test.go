package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/bulk"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore/jslog"
	"github.com/accession-ingest/accession/eventstore/zklive"
	zktree "github.com/accession-ingest/accession/internal/testkit/tree"
	"github.com/accession-ingest/accession/projections/projtest"
)

// finish lets a process work until nothing is left to do, but right after another has.
func (o *crashInstallation) finish(...domain.BatchID) {
	o.t.Helper()
	now := func() [2]int64 { return [2]int64{int64(o.n), o.calls.Load()} }
	if o.done == now() {
		return
	}
	s := o.serve()
	s.works()
	o.still()
	s.stop()
	o.done = now()
}

// run calls the program in the test's own process, where it cannot die.
func (o *crashInstallation) run(args ...string) string {
	o.t.Helper()
	return o.says(0, args)
}

// works waits until the service does, and would hear that it is to stop.
func (s *service) works() {
	s.in.t.Helper()
	s.tells(`"msg":"ready"`)
}

func deposits(o *crashInstallation, point string) {
	o.deposit("mixed")
	o.deposit("again")
	o.dies(point, nil, "serve")
}

func stops(o *crashInstallation, point string) {
	o.dies(point, func(p *os.Process, _ <-chan struct{}) {
		o.rests(o.deposit("again"))
		_ = p.Signal(syscall.SIGTERM)
	}, "serve")
}

// stopsWhileItWorks: what is under way when the process stops is released.
func stopsWhileItWorks(o *crashInstallation, point string) {
	o.dies(point, func(p *os.Process, dead <-chan struct{}) {
		o.deposit("slow")
		select {
		case <-o.slow:
		case <-dead:
		case <-time.After(reaching):
		}
		_ = p.Signal(syscall.SIGTERM)
	}, "serve")
}

// setsAProfile: a profile that is set is known to all, or to none.
func setsAProfile(o *crashInstallation, point string) {
	o.n++
	name := "set" + o.number()
	file := filepath.Join(o.dir, name+".yaml")
	o.must(os.WriteFile(file, []byte(strings.ReplaceAll(profileOf(""), ": test\n", ": "+name+"\n")), 0o600))
	set := []string{"profile", "set", name, file, "--reason", "a test"}
	o.dies(point, nil, set...)
	o.says(4, words("profile show "+name))
	o.run(set...)
	o.run("profile", "show", name)
}

func cleansUp(o *crashInstallation, point string) {
	o.finish(o.deposit("again"))
	for _, id := range o.batches {
		o.gone[id] = true // the janitor may begin with any of them
	}
	o.dies(point, nil, "serve", "--set=retention=1ms")
}

func deletes(o *crashInstallation, point string) {
	id := o.deposit("mixed")
	o.finish()
	o.gone[id] = true
	o.dies(point, nil, "batch", "delete", string(id), "--reason", "a test", "--yes")
}

// takesOver: a successor finds what a claim has left behind.
func takesOver(o *crashInstallation, point string) {
	o.finish()
	o.deposit("again")
	o.dies("daemon/downloading/win/before", nil, "serve")
	o.dies(point, nil, "serve")
}

// goesOn: the server of a file breaks off, and what there is of it is used by the next attempt.
func goesOn(o *crashInstallation, point string) {
	o.deposit("cut")
	o.dies(point, nil, "serve")
}

// findsDamage: files that an earlier claim has put into place are not what they
// were.
func findsDamage(o *crashInstallation, point string) {
	o.finish()
	id := o.deposit("mixed")
	o.dies("daemon/downloading/win/after", nil, "serve")
	files, err := filepath.Glob(filepath.Join(o.dir, "work", string(id), "*", "files", "a.txt"))
	o.must(err)
	if len(files) != 1 {
		o.t.Fatalf("in place: %q", files)
	}
	o.must(os.WriteFile(files[0], []byte("damaged"), 0o600))
	o.dies(point, nil, "serve")
}

// audits: a stored file of the system is missing while the auditor reads.
func audits(o *crashInstallation, point string) {
	o.finish(o.deposit("again"))
	o.verifies()
	files, err := filepath.Glob(filepath.Join(o.dir, "store", "objects", "*", "*", "*", "v*", "system", "accession-erc.txt"))
	o.must(err)
	if len(files) == 0 {
		o.t.Fatal("nothing is stored")
	}
	content, err := os.ReadFile(files[0])
	o.must(err)
	o.must(os.Remove(files[0]))
	o.dies(point, nil, "serve", "--set=audit_interval=10ms")
	o.must(os.WriteFile(files[0], content, 0o600))
}

// triesAgain: a failed job is sent back when its cause is gone.
func triesAgain(o *crashInstallation, point string) {
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

// actsInBulk: a process dies while a bulk action is requested, carried out or cancelled. It
// comes to its end, once.
func actsInBulk(o *crashInstallation, point string) {
	id := o.deposit("mixed")
	o.finish()
	request := []string{"bulk", "begin", "job", "requeue", "--batch", string(id), "--state", "failed", "--yes", "--no-wait"}
	bulkActions := func() []bulk.Action {
		page, err := bulk.List(o.ctx(), o.app, true, bulk.ListFilter{}, 100, "")
		o.must(err)
		return page.Items
	}
	before := len(bulkActions())
	if operation := path.Dir(point); operation == "record/bulk/add" {
		o.dies(point, nil, request...)
	} else {
		o.run(request...)
		switch operation {
		case "record/bulk/cancel":
			o.dies(point, nil, "bulk", "cancel", bulkActions()[0].ID)
		case "record/bulk/again":
			if o.interrupt == nil {
				o.dies("app/bulk/one/before", nil, "serve")
			}
			o.dies(point, nil, "serve")
		default:
			o.dies(point, nil, "serve")
		}
	}
	s := o.serve()
	s.works()
	for _, begun := range bulkActions()[:len(bulkActions())-before] {
		waitFor(o.t, "the end of the bulk action", func() bool {
			now, err := bulk.Show(o.ctx(), o.app, begun.ID, true)
			o.must(err)
			return now.EndedAt != nil
		})
		if n := o.count(`select count(*) from accession.event where type = 'job.requeued' and command_id = $1`, "bulk-"+begun.ID); n > 1 {
			o.t.Errorf("one job was requeued %d times, after a death at %s", n, point)
		}
	}
	s.stop()
}

// sendsAgain: a process that sends a report again dies; the next one says so, and ends
// with one mail.
func sendsAgain(o *crashInstallation, point string) {
	id := o.deposit("again")
	o.finish()
	ask := []string{"batch", "send-report", string(id), "--reason", "they lost it"}
	o.dies(point, nil, ask...)
	if o.interrupt == nil {
		if out := o.run("batch", "send-report", string(id), "--dry-run"); !strings.Contains(out, "did not come to its end") {
			o.t.Errorf("after a death at %s nothing tells of a mail that may be under way:\n%s", point, out)
		}
	}
	// The mail system has taken away what is there: what comes after it are the same
	// bytes, and so the same Message-ID.
	drop := filepath.Join(o.dir, "mail", string(id)+"_2fagain_2f1.eml")
	taken, none := os.ReadFile(drop)
	if none == nil {
		o.must(os.Remove(drop))
	}
	o.run(ask...)
	if now, err := os.ReadFile(drop); o.interrupt == nil && (err != nil || (none == nil) != strings.HasSuffix(point, "/send/after") || none == nil && !bytes.Equal(now, taken)) {
		o.t.Errorf("after a death at %s: was\n%s\n%v, %v, is\n%s", point, taken, none, err, now)
	}
	o.finish()
	o.again[id] = o.count("select count(*) from record.delivery where batch_id = $1 and key like '%/again/%' and state = 'delivered'", id)
	mails := 0
	for _, text := range o.mails(id) {
		if strings.Contains(text, "Sent again on") {
			mails++
		}
	}
	if out := o.run("batch", "show", string(id)); mails != o.again[id] || o.interrupt == nil && mails != 1 || !strings.Contains(out, "report again mail") || !strings.Contains(out, "(they lost it)") {
		o.t.Errorf("%d mails and %d deliveries after a death at %s\n%s", mails, o.again[id], point, out)
	}
	var view app.BatchView
	o.must(json.Unmarshal([]byte(o.run("batch", "show", string(id), "-o", "json")), &view))
	if m := view.Messages; len(m) != 2+o.again[id] || m[1].Trace == "" || m[2].Trace == "" || m[2].By == "" || m[2].State != record.DeliveryDelivered {
		o.t.Errorf("shown after a death at %s: %+v", point, m)
	}
}

// leavesOut: an operator leaves a file out of its object.
func leavesOut(o *crashInstallation, point string) {
	o.finish()
	id := o.deposit("mixed")
	o.dies("daemon/downloading/win/after", nil, "serve")
	file := o.await("a file", 0, func(r domain.Recorded) bool {
		m, _ := domain.MoveOfFile(r.Data)
		return r.BatchID == id && r.Type == domain.EventFileDownloaded && m.Path == "a.txt"
	})
	o.run("file", "skip", file.Aggregate.ID, "--reason", "a test", "--yes")
	o.dies(point, nil, "serve")
}

// rebuilds: a process that rebuilds the tables dies. Until the swap the live ones are as
// they were, reports and deposits go on, and the next one ends what was begun;
// behind it the new ones are live, equal, and what is left can be dropped.
func rebuilds(o *crashInstallation, point string) {
	o.finish()
	const sqlIndexes = "select count(*) from pg_indexes where schemaname = 'accession'"
	const sqlAdvisory = "select count(*) from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())"
	before, indexes := o.digests(), o.count(sqlIndexes)
	o.dies(point, nil, "rebuild")
	if diff := cmp.Diff(before, o.digests()); diff != "" {
		o.t.Errorf("after a death at %s: %s", point, diff)
	}
	o.run("report", "submitters", "--format", "json")
	waitFor(o.t, "the lock of the dead", func() bool { return o.count(sqlAdvisory) == 0 }) // the server may not know yet that it is dead
	swapped := o.count("select count(*) from pg_namespace where nspname = 'accession_next'") == 0
	if o.interrupt == nil && swapped != (strings.Contains(point, "/drop/") || strings.HasSuffix(point, "/swap/after")) {
		o.t.Errorf("the new tables are live after a death at %s: %v", point, swapped)
	}
	if swapped {
		if out, err := o.command("rebuild", "--resume").CombinedOutput(); err == nil || !strings.Contains(string(out), "accession rebuild") {
			o.t.Errorf("resumed what is over, after a death at %s: %v\n%s", point, err, out)
		}
	} else {
		o.finish(o.deposit("again"))
		before = o.digests()
		if out := o.run("rebuild", "--resume", "--keep-old"); !strings.Contains(out, "accession_old") || strings.Contains(out, "DIFFERENT") {
			o.t.Errorf("resumed after a death at %s:\n%s", point, out)
		}
		if n := o.count("select count(*) from accession_old.event"); n != o.count("select count(*) from accession.event") {
			o.t.Errorf("the old history that is kept has %d events", n)
		}
	}
	o.run("rebuild", "--drop")
	if diff := cmp.Diff(before, o.digests()); diff != "" {
		o.t.Errorf("resumed after a death at %s: %s", point, diff)
	}
	if n := o.count(sqlIndexes); n != indexes {
		o.t.Errorf("%d indexes of %d are there after a death at %s", n, indexes, point)
	}
	if n := o.count("select count(*) from pg_namespace where nspname ~ '^(accession|report)_'"); n != 0 {
		o.t.Errorf("%d schemas are left after a death at %s", n, point)
	}
}

// digests returns those of the live tables.
func (o *crashInstallation) digests() map[string]projtest.Digest {
	o.t.Helper()
	d := projtest.Digests(o.t, o.db)
	if d["event"].Rows == 0 {
		o.t.Error("there is no event in the tables")
	}
	return d
}

func migrates(o *crashInstallation, point string) { o.dies(point, nil, "migrate") }

// retriesPoison: the tables refuse a batch for a while.
func retriesPoison(o *crashInstallation, point string) {
	o.finish()
	exec := func(sql string) {
		_, err := o.db.Exec(o.t.Context(), sql)
		o.must(err)
	}
	exec("alter table accession.batch add constraint poison check (payload_url not like '%again%') not valid")
	s := o.serve()
	o.rests(o.deposit("again"))
	waitFor(o.t, "a poison event", func() bool { return o.count("select count(*) from accession.poison_event") > 0 })
	o.still()
	s.stop()
	exec("alter table accession.batch drop constraint poison")
	o.dies(point, nil, "poison", "retry", "--all")
	o.run("poison", "retry", "--all")
}

func republishes(o *crashInstallation, point string) {
	subject := "replay." + uuid.NewString()
	if strings.Contains(point, "send") { // to a stream
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

// copies: a process that copies events by type dies; the next one ends with each event of
// the log, once and in its place.
func copies(o *crashInstallation, point string) {
	o.finish()
	name := strings.ReplaceAll(uuid.NewString(), "-", "")
	stream := "TYPES_" + name
	serve := []string{"--roles=types", "--set=nats_types_stream=" + stream, "--set=nats_types_prefix=types-" + name}
	nc, err := nats.Connect(o.settings["nats"])
	o.must(err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	o.must(err)
	defer func() { o.should(js.DeleteStream(context.WithoutCancel(o.t.Context()), stream)) }()
	o.dies(point, nil, append([]string{"serve"}, serve...)...)
	log, err := o.log.Info(o.t.Context())
	o.must(err)
	s := o.serve(serve...)
	s.works() // the copies may be there before
	var copied jetstream.Stream
	waitFor(o.t, "the copies", func() bool {
		if copied, err = js.Stream(o.t.Context(), stream); err != nil {
			return false
		}
		return copied.CachedInfo().State.LastSeq >= log.Last
	})
	s.stop()
	if n := copied.CachedInfo().State; n.LastSeq != log.Last || n.Msgs != log.Last {
		o.t.Errorf("%d copies up to %d of %d events after a death at %s", n.Msgs, n.LastSeq, log.Last, point)
	}
	for seq := uint64(1); seq <= log.Last; seq++ {
		m, err := copied.GetMsg(o.t.Context(), seq)
		o.must(err)
		if m.Header.Get(jslog.HeaderSeq) != fmt.Sprint(seq) {
			o.t.Errorf("number %d is a copy of %s after a death at %s", seq, m.Header.Get(jslog.HeaderSeq), point)
		}
	}
}

// repairs: a lock has a holder that does not exist.
func repairs(o *crashInstallation, point string) {
	id := o.deposit("mixed")
	o.finish()
	o.verifies()
	failed := o.await("a failed job", 0, func(r domain.Recorded) bool { return r.BatchID == id && r.Type == domain.EventJobFailed })
	conn, _, err := zk.Connect([]string{o.settings["zookeeper"]}, 10*time.Second, zk.WithLogInfo(false))
	o.must(err)
	defer conn.Close()
	lock := o.settings["zookeeper_root"] + "/jobs/" + failed.Aggregate.ID + "/lock"
	_, err = conn.Create(lock, []byte(`{"holder":"nobody"}`), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	o.must(err)
	o.dies(point, nil, "verify", "--repair", "--yes", "--wait", "1s")
	// The exit code is for what was found before the repair.
	out, _ := o.command("verify", "--repair", "--yes", "--wait", "1s").CombinedOutput()
	if o.interrupt == nil && !strings.Contains(string(out), "1 repaired") {
		o.t.Errorf("repair after a death at %s:\n%s", point, out)
	}
	if held, _, err := conn.Exists(lock); err != nil || held {
		o.t.Errorf("the lock is still there: %v", err)
	}
}

// restores: the tree is drawn anew elsewhere; the second try must end what the
// first has begun.
func restores(o *crashInstallation, point string) {
	o.finish()
	root := o.settings["zookeeper_root"] + "-restored"
	o.dies(point, nil, "--set=zookeeper_root="+root, "restore", "zookeeper")
	if !strings.HasSuffix(point, "/end/after") { // as long as the session of the dead one lasts it is refused
		waitFor(o.t, "a restore", func() bool {
			out, err := o.command("--set=zookeeper_root="+root, "restore", "zookeeper").CombinedOutput()
			return err == nil || o.interrupt != nil && strings.Contains(string(out), "is not empty") // a try before has ended it
		})
	}
	restored, err := zklive.Open(o.t.Context(), zklive.Config{Servers: []string{o.settings["zookeeper"]}, Root: root, Shards: 4})
	o.must(err)
	found, err := differences(o.t.Context(), restored, o.log, o.db)
	o.must(err)
	for _, d := range found {
		if strings.Contains(d.String(), "audit:maintenance") {
			continue // the restoration's own event, which no relay has carried yet
		}
		o.t.Errorf("restored after a death at %s: %s", point, d)
	}
	o.must(restored.Close())
	o.must(zktree.Destroy(o.t.Context(), o.cfg.ZooKeeper, root))
}
