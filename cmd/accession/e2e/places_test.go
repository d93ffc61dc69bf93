package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// TestPlacesOfBatchesThatRest: an operator frees the place of a running batch, and the
// janitor the place of one whose jobs are held; each time the next deposit of the user is
// grabbed. The batches go on outside the queue.
// Shows: P11
func TestPlacesOfBatchesThatRest(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "janitor_interval=200ms", "queue_concurrency=metadata=1")
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	in.serveInProcess()
	in.says(0, words("queue pause pending --reason x"))
	var all []domain.BatchID
	for _, name := range []string{"/1.txt", "/2.txt", "/3.txt"} {
		all = append(all, in.depositBy("ana", payload+name, domain.TypeFile))
	}
	in.seenOf(all[0], 1, domain.EventBatchStarted)
	in.says(3, words("queue free "+string(all[1])+" --reason x"), "does not count as running")
	in.says(4, words("queue free bid0000009999 --reason x"), "there is no such batch")
	in.says(2, words("queue free "+string(all[0])), "--reason")
	in.says(0, words("queue free "+string(all[0])+" --reason stuck --dry-run"), "would stay processing", "running batches of ana")
	in.says(0, words("queue free "+string(all[0])+" --reason stuck"), "stays processing")
	in.seenOf(all[1], 1, domain.EventBatchStarted)
	in.agree()

	in.says(0, words("collection hold test --reason terms"))
	in.says(0, words("queue resume pending"))
	freed := in.seenOf(all[1], 1, domain.EventBatchFreed)[0]
	if d, ok := freed.Data.(*domain.BatchFreed); !ok || d.User != "ana" || d.Reason.Code != domain.CodeJobsRest || freed.Actor != domain.DaemonActor(domain.DaemonJanitor) {
		t.Errorf("%+v by %s", freed.Data, freed.Actor)
	}
	in.seenOf(all[2], 1, domain.EventBatchHeld) // it was grabbed, and its collection is on hold
	by := in.seenOf(all[0], 1, domain.EventBatchFreed)[0]
	if d, ok := by.Data.(*domain.BatchFreed); !ok || d.Reason.Code != domain.CodeFreed || d.Reason.Message != "stuck" || !strings.HasPrefix(string(by.Actor), "user/") {
		t.Errorf("%+v by %s", by.Data, by.Actor)
	}
	in.agree()
	in.says(0, words("collection release test --all --reason signed"))
	for _, id := range all {
		in.rest(id)
	}
	in.agree()
}

// TestBoardNamesBatchesThatRest: where no janitor runs, the board names a running batch whose
// jobs are held, with the command that frees its place, until it is freed.
func TestBoardNamesBatchesThatRest(t *testing.T) {
	t.Parallel()
	in := newInstallation(t, "workers=janitor=0", "queue_concurrency=metadata=1")
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	in.serveInProcess()
	in.says(0, words("queue pause pending --reason x"))
	first := in.depositBy("ana", payload+"/1.txt", domain.TypeFile)
	in.depositBy("ana", payload+"/2.txt", domain.TypeFile)
	in.seenOf(first, 1, domain.EventBatchStarted)
	in.shown()
	names := "`accession queue free " + string(first)
	if said := in.says(0, words("queue board"), "1 waiting, 1 running", "1 of 1", "at the limit", "1 grabbed in"); strings.Contains(said, names) {
		t.Errorf("its job may still go on:\n%s", said)
	}
	in.says(0, words("collection hold test --reason terms"))
	in.says(0, words("queue resume pending"))
	in.seenOf(first, 1, domain.EventJobHeld)
	in.shown()
	in.says(0, words("queue board"), names, "1 of 1")
	in.says(0, words("queue board -o json"), `"batch": "`+string(first)+`"`, `"obstacle": "at_concurrency"`, `"recent_grabs": 1`)
	in.says(0, words("queue free "+string(first)+" --reason stuck"))
	in.seen(2, domain.EventBatchGrabbed)
	in.seen(1, domain.EventBatchHeld)
	in.shown()
	if said := in.says(0, words("queue board"), "0 waiting, 0 running"); strings.Contains(said, names) {
		t.Errorf("it is free:\n%s", said)
	}
	in.agree()
}

// TestParkedDepositsAndTheBoard: operators park what waits of a user, by the time of its
// reception or by name, and let it wait again, in its order; the board says who is served
// when, and why some are not.
// Shows: P11
func TestParkedDepositsAndTheBoard(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	payload := webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("x")) }))
	in.serveInProcess()
	in.says(0, words("queue board"), "no deposits", "0 waiting, 0 running, 0 parked")
	in.says(0, words("queue suspend metadata --reason x"))
	var all []domain.BatchID
	for i := range 5 {
		all = append(all, in.depositBy("ana", fmt.Sprintf("%s/%d.txt", payload, i), domain.TypeFile))
	}
	between := time.Now().UTC().Format(time.RFC3339Nano)
	last := in.depositBy("ana", payload+"/5.txt", domain.TypeFile)
	ben := in.depositBy("ben", payload+"/6.txt", domain.TypeFile)
	in.says(0, words("queue board"), "7 waiting", "nothing is grabbed: suspended", "ana", "0 of 5", "suspended")

	in.says(2, words("queue park --reason x"), "no users and no batches are named")
	in.says(2, words("queue park ana"), "needs a reason")
	in.says(2, words("queue park --batch 7 --reason x"), "is not an id")
	in.says(0, words("queue park ana --received-before "+between+" --reason wrong --dry-run"), "ana: 5 would be parked", "of 6 looked at")
	in.says(0, words("queue park ana --received-before "+between+" --reason wrong"), "ana: 5 parked", "of 6 looked at")
	in.says(0, words("queue park ana --received-before "+between+" --reason wrong"), "0 parked of 1 looked at")
	in.says(3, words("batch release "+string(all[0])), "unpark")
	in.shown()
	in.says(0, words("queue board"), "2 waiting", "5 parked")
	in.says(0, words("queue show metadata"), "5 deposits are parked")
	in.says(0, words("queue board query"), "0 waiting, 0 running, 0 parked", "no deposits")
	in.says(0, words("queue board -o json"), `"parked": 5`, `"obstacle": "suspended"`)
	in.agree()

	in.says(0, words("queue unpark --batch "+string(all[1])+","+string(all[3])+" --reason right"), "ana: 2 unparked")
	in.says(0, words("queue unpark ana --received-after "+between+" --reason right"), "0 unparked of 3 looked at")
	in.says(0, words("queue unpark ana,ben --reason right --dry-run"), "ana: 3 would be unparked")
	in.says(0, words("queue unpark ana,ben --reason right"), "ana: 3 unparked", "of 3 looked at")
	in.says(0, words("queue park ben --batch "+string(last)+","+string(ben)+" --reason wrong"), "ben: 1 parked")
	in.agree()
	in.says(0, words("queue prohibit metadata eve --reason x"))
	in.says(0, words("queue limit metadata ana --concurrency 0 --reason x"))
	in.says(0, words("queue resume metadata --reason x"))
	in.says(0, words("queue board"), "6 waiting", "0 of 0", "concurrency 0")
	in.says(0, words("queue unlimit metadata ana --reason x"))
	for _, id := range append(all, last) {
		in.rest(id)
	}
	in.shown()
	order := in.seen(6, domain.EventBatchGrabbed)
	for i, id := range append(all, last) {
		if order[i].BatchID != id {
			t.Errorf("grab %d is of %s, want %s", i+1, order[i].BatchID, id)
		}
	}
	in.says(0, words("queue board"), "6 grabbed in", "1 parked")
	if n := in.count("select count(*) from report.deposit where state = 'parked'"); n != 6 {
		t.Errorf("%d rows of parked deposits, want 6", n)
	}
	if said := in.says(0, words("batch ls")); !strings.Contains(said, "held") {
		t.Errorf("%s", said)
	}
	in.agree()
}

// TestParkingKilled: a process that parks or unparks dies at each step. What it had not come
// to stays as it is until the command is run again, which says exactly what it did; nothing is
// parked twice or lost.
// Shows: P1
func TestParkingKilled(t *testing.T) {
	t.Parallel()
	const n = 6
	in := newForProcesses(t, "attempts: 20, timeout: 60s")
	f := newFiles(t, 1, -1)
	in.run("queue", "suspend", "metadata", "--reason", "x", "--yes")
	s := in.serve()
	s.works()
	for i := range n {
		in.depositBy("ana", f.URL+fmt.Sprintf("/file/%d", i), domain.TypeFile)
	}
	for _, c := range []struct {
		point string
		done  int // before it died
	}{
		{"app/park/one/before", 0}, {"app/park/one/after", 1}, {"app/park/one/before:4", 3}, {fmt.Sprintf("app/park/one/after:%d", n), n},
	} {
		for _, verb := range []string{"park", "unpark"} {
			args := []string{"queue", verb, "ana", "--reason", "x"}
			in.killedAt(c.point, args...)
			in.sent()
			in.shown()
			if said, want := in.run(args...), fmt.Sprintf("%d %sed of %d looked at", n-c.done, verb, n-c.done); !strings.Contains(said, want) {
				t.Errorf("%s, which died at %s, was run again and says\n%s, want %s", verb, c.point, said, want)
			}
			in.sent()
			in.shown()
			want := map[string]int{"park": n, "unpark": 0}[verb]
			if got := in.count(`select count(*) from accession.batch where status = 'held' and reason_code = 'parked'`); got != want {
				t.Errorf("%s: %d are parked, want %d", verb, got, want)
			}
		}
	}
	in.run("queue", "resume", "metadata", "--reason", "x", "--yes")
	in.reach(domain.EventBatchCompleted, n)
	in.sent()
	in.proven()
	s.stop()
}
