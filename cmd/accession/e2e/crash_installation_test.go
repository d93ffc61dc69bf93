package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// reaching is how long a process may take to its point.
const reaching = 60 * time.Second

// crashInstallation is an installation whose depositors deposit a bit of everything, and
// whose processes die at crash points.
type crashInstallation struct {
	*installation
	base string

	mu     sync.Mutex
	called map[string]int      // callbacks by key
	asked  map[string]bool     // slow files, which are not served at first
	ranges map[string][]string // of the requests for files whose server breaks off
	slow   chan struct{}       // gets one when that is so

	n       int      // of the deposits
	done    [2]int64 // n, and how often the program was called, when all was finished
	batches []domain.BatchID
	gone    map[domain.BatchID]bool // cleaned up or deleted
	again   map[domain.BatchID]int  // reports that were sent again
	bySMTP  map[domain.BatchID]bool // their mails went to a mail server
	found   map[string]bool         // deposits whose lost files are there now

	target    string // the point in question
	interrupt func(o *crashInstallation, point string, at func(p *os.Process, dead <-chan struct{}), args []string)
}

// newCrashInstallation makes one and its app; before, when given, is called when nothing was
// ever opened.
func newCrashInstallation(t testing.TB, before func(*crashInstallation)) *crashInstallation {
	t.Helper()
	o := &crashInstallation{installation: prepare(t, "attempts: 20, timeout: 5s", append(slices.Clone(forProcesses), "outbox_grace=200ms", "janitor_interval=200ms",
		"retention=0s", "stop_grace=100ms")...), found: map[string]bool{}, again: map[domain.BatchID]int{}, bySMTP: map[domain.BatchID]bool{},
		called: map[string]int{}, asked: map[string]bool{}, ranges: map[string][]string{}, slow: make(chan struct{}, 100), gone: map[domain.BatchID]bool{}}
	program, err := crashing()
	o.must(err)
	o.program = program
	web := httptest.NewServer(o)
	t.Cleanup(web.Close)
	o.base = web.URL
	o.tell("queued, report")
	o.editProfile("fetch:", "callback: {url: "+web.URL+"/callback}\nfetch:")
	if before != nil {
		before(o)
	}
	o.open()
	return o
}

// ServeHTTP is the depositors' server, and takes callbacks.
func (o *crashInstallation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, here := r.URL.Query().Get("n"), "http://"+r.Host
	switch name := strings.TrimPrefix(r.URL.Path, "/"); name {
	case "callback":
		o.mu.Lock()
		defer o.mu.Unlock()
		o.called[r.Header.Get("Idempotency-Key")]++
	case "mixed": // one object with two files, and one that cannot be had
		_, _ = w.Write(checkm("mrt-batch-manifest", batchColumns, here+"/object?n="+n+" | | | | | good.checkm | | local-"+n+" | A creator | Good | 2026",
			here+"/lost?n="+n+" | | | | | lost.checkm | | lost-"+n+" | A creator | Lost | 2026"))
	case "again": // a new version of the object that all know
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, here+"/file?n="+n+" | | | | | new.txt | | everybody's | A creator | Again | 2026"))
	case "slow":
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, here+"/wait?n="+n+" | | | | | slow.txt | | slow-"+n+" | A creator | Slow | 2026"))
	case "box": // a container of two files
		_, _ = w.Write(tarGzOf(o.t, map[string]string{"a.txt": "a of deposit " + n + "\n", "b/c.txt": "c\n"}))
	case "bad-box": // one that leaves its object
		_, _ = w.Write(zipOf(o.t, map[string]string{"../a.txt": "a of deposit " + n + "\n"}))
	case "object":
		_, _ = w.Write(checkm("mrt-ingest-manifest", "", here+"/file?n="+n+" | | | | | a.txt", here+"/other?n="+n+" | | | | | b/c.txt"))
	case "lost":
		_, _ = w.Write(checkm("mrt-ingest-manifest", "", here+"/nothing?n="+n+" | | | | | a.txt"))
	case "nothing":
		o.mu.Lock()
		found := o.found[n]
		o.mu.Unlock()
		if !found {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintln(w, "found again")
	case "file", "other":
		fmt.Fprintf(w, "%s of deposit %s\n", name, n)
	case "cut": // one file, whose server breaks off at first
		_, _ = w.Write(checkm("mrt-single-file-batch-manifest", batchColumns, here+"/half?n="+n+" | | | | | half.txt | | half-"+n+" | A creator | Half | 2026"))
	case "half":
		w.Header().Set("ETag", `"v1"`)
		if r.Method == http.MethodGet {
			o.mu.Lock()
			first := len(o.ranges[n]) == 0
			o.ranges[n] = append(o.ranges[n], r.Header.Get("Range"))
			o.mu.Unlock()
			if first {
				w.Header().Set("Content-Length", fmt.Sprint(len(halfText)))
				_, _ = w.Write([]byte(halfText[:halfSent]))
				return
			}
		}
		http.ServeContent(w, r, "half.txt", time.Time{}, strings.NewReader(halfText))
	case "wait":
		if r.Method == http.MethodGet {
			o.mu.Lock()
			again := o.asked[n]
			o.asked[n] = true
			o.mu.Unlock()
			if !again {
				o.slow <- struct{}{}
				<-r.Context().Done()
				return
			}
		}
		fmt.Fprintln(w, "at last")
	default:
		http.NotFound(w, r)
	}
}

// halfText is the file whose server breaks off after halfSent of its bytes.
var halfText = strings.Repeat("low and high water\n", 1000)

const halfSent = 7000

const batchColumns = "#%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName | " +
	"mrt:primaryIdentifier | mrt:localIdentifier | mrt:creator | mrt:title | mrt:date\n"

func checkm(profile, columns string, rows ...string) []byte {
	return []byte("#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/" + profile +
		"\n#%prefix | mrt: | http://merritt.cdlib.org/terms#\n#%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n" +
		columns + strings.Join(rows, "\n") + "\n#%eof\n")
}

// number is that of the last deposit, as its URLs have it.
func (o *crashInstallation) number() string { return fmt.Sprint(o.n) }

// deposit submits one of the manifests.
func (o *crashInstallation) deposit(what string) domain.BatchID {
	o.t.Helper()
	o.n++
	d := app.Deposit{Profile: "test", Submitter: "tester", Payload: fmt.Sprintf("%s/%s?n=%d", o.base, what, o.n), Type: domain.TypeFileBatchManifest}
	switch what {
	case "mixed":
		d.Type = domain.TypeBatchManifest
	case "box", "bad-box":
		d.Type = domain.TypeContainer
	case "again":
		d.Mode = "update"
		if o.n == 1 {
			d.Mode = "add"
		}
	}
	s, err := o.app.Submit(o.t.Context(), d)
	if err != nil {
		o.t.Fatalf("submit %s: %v", what, err)
	}
	o.batches = append(o.batches, s.Batch)
	return s.Batch
}

// rests waits until a batch has completed or failed.
func (o *crashInstallation) rests(id domain.BatchID) {
	o.t.Helper()
	o.await("the end of "+string(id), 0, func(r domain.Recorded) bool {
		return r.BatchID == id && (r.Type == domain.EventBatchCompleted || r.Type == domain.EventBatchFailed)
	})
}

// deaths returns how many processes die at the point in question.
func (o *crashInstallation) deaths() int {
	if o.interrupt != nil {
		return 2
	}
	return 1
}

// dies runs the program, armed with a point, until it has killed itself there, or
// as the interrupt has it when it is the point in question; at is called when it runs.
func (o *crashInstallation) dies(point string, at func(p *os.Process, dead <-chan struct{}), args ...string) {
	o.t.Helper()
	if o.interrupt != nil && point == o.target {
		o.interrupt(o, point, at, args)
		return
	}
	if end, said := o.armed("ACCESSION_CRASH="+point, reaching, at, args...); end != killedItself {
		o.t.Errorf("%v was to die at %s and %s\n%s", args, point, end, said)
	}
}

// ending is how a process came to its end.
type ending string

const (
	killedItself ending = "killed itself"
	endedInOrder ending = "ended by itself"
	gaveUp       ending = "ended with an error"
	neverEnded   ending = "never came there"
)

// armed runs the program with a variable, until it ends or so much time has passed.
func (o *crashInstallation) armed(variable string, within time.Duration, at func(p *os.Process, dead <-chan struct{}), args ...string) (end ending, said string) {
	o.t.Helper()
	cmd := o.command(args...)
	log := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, append(cmd.Env, variable)
	o.must(cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	if at != nil {
		at(cmd.Process, ended)
	}
	select {
	case <-ended:
		ws, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case ws.Signal() == syscall.SIGKILL:
			end = killedItself
		case !cmd.ProcessState.Success():
			end = gaveUp
		default:
			end = endedInOrder
		}
		return end, log.tail(3000)
	case <-time.After(within):
		_ = cmd.Process.Kill()
		<-ended
		return neverEnded, log.tail(3000)
	}
}

// still waits until nothing is left to do: every batch is at rest, every completed
// job is cleaned up, every event is in the log and in the tables.
func (o *crashInstallation) still() {
	o.t.Helper()
	o.rested()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	o.must(o.app.CatchUp(ctx))
}

// rested is still, but for the tables.
func (o *crashInstallation) rested() {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for last := ""; ; {
		why, err := o.moving(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			o.t.Fatalf("not at rest: %s", last)
		case err == nil && why == "":
			return
		}
		o.must(err)
		last = why
		select {
		case <-tick.C:
		case <-ctx.Done():
			o.t.Fatalf("not at rest: %s", why)
		}
	}
}

// moving returns what is not at rest, "" = everything is.
func (o *crashInstallation) moving(ctx context.Context) (string, error) {
	view, err := o.live.Overview(ctx)
	if err != nil {
		return "", err
	}
	for state, n := range view.Queues {
		if n > 0 && state != domain.JobFailed {
			return fmt.Sprintf("%d jobs in %s", n, state), nil
		}
	}
	ids, err := o.live.Batches(ctx)
	if err != nil {
		return "", err
	}
	for _, id := range slices.Backward(ids) { // the last ones move
		at, err := o.live.Batch(ctx, id)
		if err != nil || !at.State.State.AtRest() || at.State.State == domain.BatchDeleted {
			return fmt.Sprintf("%s is %s (%v)", id, at.State.State, err), nil
		}
	}
	outbox, err := o.live.Depth(ctx) // what has moved them is sent
	if outbox.Unsent > 0 {
		return fmt.Sprintf("%d events are not sent", outbox.Unsent), err
	}
	return "", err
}

// verifies checks that verify finds nothing. A scene that lets repairs run calls it first:
// they would mend what an earlier death has left.
func (o *crashInstallation) verifies() {
	o.t.Helper()
	v, err := o.app.Verify(o.t.Context(), app.VerifyOptions{Wait: time.Minute})
	o.must(err)
	for _, f := range v.Findings {
		o.t.Errorf("verify before %s: %s", o.target, f)
	}
}

// sound checks all that must hold when nothing moves any more.
func (o *crashInstallation) sound() {
	o.t.Helper()
	o.proven()
	o.verifies()
	completed := o.count(`select count(distinct aggregate_id) from accession.event where type = 'job.completed'`)
	for what, query := range map[string]string{
		"versions in the inventory": `select count(*) from record.object_version`,
		"jobs with a version":       `select count(distinct job_id) from record.object_version`,
	} {
		if n := o.count(query); n != completed {
			o.t.Errorf("%s: %d, and %d jobs completed", what, n, completed)
		}
	}
	if n := o.count(`select count(*) from accession.event where type = 'job.identified'`); n != o.count(`select count(distinct aggregate_id) from accession.event where type = 'job.identified'`) {
		o.t.Errorf("a job was identified twice: %d events", n)
	}
	o.mu.Lock()
	if len(o.called) != completed {
		o.t.Errorf("callbacks with %d keys for %d completed jobs", len(o.called), completed)
	}
	o.mu.Unlock()
	for _, id := range o.batches {
		if n := len(o.mails(id)); n != 2+o.again[id] && !o.gone[id] && !o.bySMTP[id] {
			o.t.Errorf("%d mails about %s: want one that it was accepted, one with the report:\n%s", n, id, o.run("batch", "show", string(id)))
		}
	}
	left, err := filepath.Glob(filepath.Join(o.dir, "work", "bid*", "jid*"))
	o.must(err)
	if failed := o.count(`select count(*) from accession.job where status = 'failed'`); len(left) > failed {
		o.t.Errorf("%d working directories are left of %d failed jobs", len(left), failed)
	}
}
