//go:build !race

// The ZooKeeper client has a data race of its own when it takes up a session again.

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/stack"
	"github.com/accession-ingest/accession/domain"
)

// objects stands for the object store among the servers.
const objects stack.Server = "objects"

// Servers are put back to copies that were made under load. It is noticed before anything
// is written, the remedies that the messages name heal it, and all that was accepted is
// there, byte for byte; of an older object store, once the files are put back that verify
// has named. The seed of a run says which servers; TestSoakOlderCopies puts each and each
// pair back.
// Shows: P1 P12 P13
func TestOlderCopiesUnderLoad(t *testing.T) {
	t.Parallel()
	r, all := seed(t), putBacks()
	putBackUnderLoad(t, r, all[r.IntN(len(all))])
}

// putBacks returns the servers that are put back to older copies, each alone and each
// pair.
func putBacks() (all [][]stack.Server) {
	each := []stack.Server{stack.ZooKeeper, stack.NATS, stack.PostgreSQL, objects}
	for i, s := range each {
		all = append(all, []stack.Server{s})
		for _, other := range each[i+1:] {
			all = append(all, []stack.Server{s, other})
		}
	}
	return all
}

func putBackUnderLoad(t *testing.T, r *rand.Rand, which []stack.Server) {
	t.Helper()
	t.Logf("put back: %v", which)
	m := newMuseum(t)
	delete(m.settings, "outbox_grace")  // how long events have a copy when both the log and the tables lose them
	m.set("max_processing_attempts=20") // no deposit may fail since the machine is slow
	m.editProfile("attempts: 2,", "attempts: 20,")
	l := &loaded{museum: m, r: r, which: which, accepted: map[domain.BatchID]string{}, once: map[domain.BatchID]app.Deposit{}}
	l.base = webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprintf(w, "%s was deposited\n", r.URL.Path) }))
	s := m.serve()
	stop := l.deposits()
	l.completed(2 + r.IntN(6))
	copies := l.copies(which)
	l.completed(l.asks(sqlCompleted) + 2 + r.IntN(6))
	l.marked()
	stop()
	m.shown() // what was accepted a moment ago has no second copy before
	s.kill()
	newest := l.putBack(which, copies)
	m.anew()
	m.refuses("nothing was taken or changed")
	l.heal()
	m.serveInProcess()
	l.whole(newest)
}

// loaded is an installation that takes deposits all the time, and a list of those that
// were accepted, kept apart from it.
type loaded struct {
	*museum
	r        *rand.Rand
	which    []stack.Server // are put back
	mu       sync.Mutex
	accepted map[domain.BatchID]string      // SHA-256 of what was deposited
	once     map[domain.BatchID]app.Deposit // under an idempotency key
}

// deposits deposits until the function is called. A refusal, or a lost answer, is no
// acceptance.
func (l *loaded) deposits() (stop func()) {
	ctx, cancel := context.WithCancel(l.t.Context())
	var done sync.WaitGroup
	deposit := func(n int) {
		path := fmt.Sprintf("/%d.txt", n)
		d := app.Deposit{Profile: "test", Submitter: "tester", Payload: l.base + path}
		if n%2 == 0 {
			d.Key = path
		}
		got, err := l.app.Submit(ctx, d)
		if err != nil {
			return
		}
		sum := sha256.Sum256([]byte(path + " was deposited\n"))
		l.mu.Lock()
		if l.accepted[got.Batch] = hex.EncodeToString(sum[:]); d.Key != "" {
			l.once[got.Batch] = d
		}
		l.mu.Unlock()
	}
	done.Go(func() {
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			deposit(n)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// completed waits until so many jobs are completed.
func (l *loaded) completed(n int) {
	l.t.Helper()
	waitFor(l.t, fmt.Sprintf("%d completed jobs", n), func() bool { return l.asks(sqlCompleted) >= n })
}

const sqlCompleted = "select count(*) from accession.job where status = 'completed'"

// asks returns a number from the tables. The server was perhaps killed and started again:
// then the connections of before are broken.
func (l *loaded) asks(query string) (n int) {
	l.t.Helper()
	waitFor(l.t, "an answer of PostgreSQL", func() bool { return l.db.QueryRow(l.t.Context(), query).Scan(&n) == nil })
	return n
}

// marked waits until two more high-water marks are made.
func (l *loaded) marked() {
	l.t.Helper()
	const done = "select coalesce(max(done), 0) from record.high_water"
	from := l.asks(done)
	waitFor(l.t, "two high-water marks", func() bool { return l.asks(done) >= from+2 })
}

// dataDir returns where a server keeps its data.
func (l *loaded) dataDir(s stack.Server) string {
	if s == objects {
		return l.cfg.Store
	}
	return l.servers.DataDir(s)
}

func copyDir(ctx context.Context, from, to string) error {
	out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return err
}

// copies copies the data of servers, which are killed for that, and returns where.
func (l *loaded) copies(which []stack.Server) map[stack.Server]string {
	l.t.Helper()
	to := map[stack.Server]string{}
	for _, s := range which {
		to[s] = filepath.Join(l.t.TempDir(), string(s))
		if s == objects { // while files come: one may be renamed, and is copied the next time
			waitFor(l.t, "a copy of the object store", func() bool {
				l.must(os.RemoveAll(to[s]))
				return copyDir(l.t.Context(), l.dataDir(s), to[s]) == nil
			})
			continue
		}
		l.must(l.servers.Kill(s))
		l.must(copyDir(l.t.Context(), l.dataDir(s), to[s]))
		l.must(l.servers.StartServer(l.t.Context(), s))
	}
	return to
}

// putBack puts copies in the place of the data, and returns where the newest data of the
// object store is, "" = in its place.
func (l *loaded) putBack(which []stack.Server, copies map[stack.Server]string) (newest string) {
	l.t.Helper()
	ctx := l.t.Context()
	for _, s := range which {
		if s != objects {
			l.must(l.servers.Kill(s))
		}
	}
	for _, s := range which {
		aside := filepath.Join(l.t.TempDir(), "aside")
		l.must(os.Rename(l.dataDir(s), aside))
		l.must(copyDir(ctx, copies[s], l.dataDir(s)))
		if s == objects {
			newest = aside
		}
	}
	for _, s := range which {
		if s != objects {
			l.must(l.servers.StartServer(ctx, s))
		}
	}
	return newest
}

// heal does what the messages say, until nothing is refused any more.
func (l *loaded) heal() {
	l.t.Helper()
	remedies := map[string][]string{
		"`accession restore zookeeper`":       words("restore zookeeper"),
		"`accession restore log`":             words("restore log"),
		"`accession verify --repair --yes`, ": words("verify --repair --yes --wait 1s"),
		"`accession verify --repair --yes` t": words("verify --repair --yes --wait 1s"),
		"`accession verify --repair --yes` r": words("verify --repair --yes --wait 1s"),
	}
	for range 5 {
		l.anew()
		code, out, errs := l.call(words("queue resume pending --reason x --yes")...)
		if code != 8 {
			return
		}
		l.t.Log(out + errs)
		var named []string
		for text := range maps.Keys(remedies) {
			if strings.Contains(errs, text) {
				named = append(named, text)
			}
		}
		if len(named) != 1 {
			l.t.Fatalf("the remedies %q are named by\n%s", named, errs)
		}
		waitFor(l.t, "the session of the killed process to end", func() bool {
			code, out, errs = l.call(remedies[named[0]]...)
			return code != 3 || !strings.Contains(errs, "another process uses")
		})
		l.t.Logf("exit code %d\n%s%s", code, out, errs)
		if code != 0 && code != 21 { // 21: the tables are behind until a projector runs, or files are missing
			l.t.Fatalf("%s: exit code %d", named[0], code)
		}
		if strings.Contains(out, "`accession rebuild`") {
			l.says(0, words("rebuild"))
		}
	}
	l.t.Fatal("it is still refused")
}

// whole compares everything with the list.
func (l *loaded) whole(newest string) {
	l.t.Helper()
	if newest != "" {
		l.names(newest)
		l.fill(newest)
		code, out, errs := l.call(words("verify --repair --yes --wait 1s")...) // the inventory of what was missing
		l.t.Logf("exit code %d\n%s%s", code, out, errs)
	}
	if len(l.accepted) < 4 {
		l.t.Errorf("only %d deposits were accepted", len(l.accepted))
	}
	for _, id := range slices.Sorted(maps.Keys(l.accepted)) {
		at, v := id, l.rest(id)
		if v.JobsCompleted != 1 {
			at, v = l.again(v)
		}
		if v.JobsCompleted != 1 {
			l.t.Errorf("%s: %+v", at, v.BatchSummary)
			continue
		}
		var key, sha string
		l.must(l.db.QueryRow(l.t.Context(), `select f.key, f.sha256 from record.object_version v
			join record.object_file f on f.primary_identifier = v.primary_identifier and f.version = v.version and f.kind = 'producer'
			where v.batch_id = $1`, at).Scan(&key, &sha))
		data, err := os.ReadFile(filepath.Join(l.cfg.Store, filepath.FromSlash(key)))
		l.should(err)
		if sum := sha256.Sum256(data); sha != l.accepted[id] || hex.EncodeToString(sum[:]) != sha {
			l.t.Errorf("%s: %q is stored, with %s in the inventory; %s was deposited", id, data, sha, l.accepted[id])
		}
	}
	for id, d := range l.once {
		if again, err := l.app.Submit(l.ctx(), d); err != nil || again.Batch != id || !again.Again {
			l.t.Errorf("%s, requested again under its key: %+v, %v", id, again, err)
		}
	}
	l.shown()
	waitFor(l.t, "nothing to be left to do", func() bool {
		live, err := l.wired.Live(l.t.Context())
		l.must(err)
		o, err := live.Overview(l.t.Context())
		l.must(err)
		for _, n := range o.Queues {
			if n > 0 {
				return false
			}
		}
		return o.Outbox.Unsent == 0
	})
	l.shown()
	if v := l.audited(true); len(v.Findings) > 0 {
		l.t.Error(findings(v.Findings))
	}
}

// again takes the remedy for a job that was under way when what it relies on lost its only
// copy. The last events of its files are lost with the log, if the tables did not have them
// yet or are older too: it is submitted again. What it has stored is lost with the object store:
// it is requeued.
func (l *loaded) again(v app.BatchReportView) (domain.BatchID, app.BatchReportView) {
	l.t.Helper()
	id := domain.BatchID(v.BatchID)
	l.shown() // the version of the job is the one that failed
	report, err := l.app.BatchReport(l.t.Context(), id, 10)
	l.must(err)
	has := func(s stack.Server) bool { return slices.Contains(l.which, s) }
	if lost := has(stack.NATS) || has(objects); !lost || len(report.Retries) == 0 {
		l.t.Fatalf("%s: %+v %+v", id, v.BatchSummary, report.Retries)
	}
	why := report.Retries[len(report.Retries)-1]
	l.t.Logf("%s failed, was under way: %+v", id, why)
	if why.Code == "working_files_missing" {
		s, err := l.app.Submit(l.t.Context(), app.Deposit{Profile: "test", Submitter: "tester", Payload: l.base + "/" + v.FileName})
		l.must(err)
		l.says(0, words("job delete --yes --reason submitted-again "+why.JobID))
		return s.Batch, l.rest(s.Batch)
	}
	l.says(0, words("job requeue --reason repaired "+why.JobID))
	l.first("", func(r domain.Recorded) bool { // the batch is reported already
		return r.Aggregate.ID == why.JobID && r.Version > report.Jobs[0].Version && (r.Type == domain.EventJobCompleted || r.Type == domain.EventJobFailed)
	})
	l.shown()
	return id, l.rest(id)
}

// names checks that verify names the files, and only those, that an older object store
// lacks of versions that are stored.
func (l *loaded) names(newest string) {
	l.t.Helper()
	v := l.audited(false)
	for _, f := range v.Findings {
		if f.Code != consistency.ManifestMissing && f.Code != consistency.StoredMissing {
			continue
		}
		if _, err := os.Stat(filepath.Join(l.cfg.Store, filepath.FromSlash(f.Where))); !errors.Is(err, fs.ErrNotExist) {
			l.t.Errorf("%s is there: %v", f.Where, err)
		}
		if _, err := os.Stat(filepath.Join(newest, filepath.FromSlash(f.Where))); err != nil {
			l.t.Errorf("%s was never there: %v", f.Where, err)
		}
	}
}

// fill puts files back that an older object store lacks.
func (l *loaded) fill(newest string) {
	l.t.Helper()
	l.must(filepath.WalkDir(newest, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, newest)
		to := l.cfg.Store + name
		if err != nil || strings.HasPrefix(name, "/tmp") || strings.HasPrefix(name, "/marks") {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		if _, err := os.Stat(to); err == nil {
			return nil
		}
		return exec.CommandContext(l.t.Context(), "cp", "-a", path, to).Run()
	}))
}
