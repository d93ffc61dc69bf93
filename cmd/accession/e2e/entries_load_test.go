package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/domain/entry"
)

// TestEntriesUnderKills is a small [entriesLoad].
// Shows: P1 P5
func TestEntriesUnderKills(t *testing.T) {
	t.Parallel()
	newEntriesLoad(t, 240, 512).run(8)
}

// entriesLoad is the compute queue while processes are killed that work on it or serve it: three
// processes with four workers each, four workers over HTTP, and two processes that they ask.
type entriesLoad struct {
	*installation
	random   *rand.Rand
	entries  int // each under a key of its own
	requests int // under the five shared keys
	base     string
	key      string // of an operator
	at       [2]string
	working  [3]*process
	doors    [2]*service
}

const (
	sharedKeys = 5
	// inputBytes is the size of each input, which is its result too.
	inputBytes = 24
)

// deaths are where a worker dies that is armed: right after a claim, and during a completion.
var deaths = []string{"zklive/entry/run/before", "record/compute-result/keep/before", "record/compute-result/keep/after", "zklive/deliver/multi/after"}

// process is a worker of its own process.
type process struct {
	*os.Process
	ended chan struct{}
}

func newEntriesLoad(t *testing.T, n, requests int) *entriesLoad {
	t.Helper()
	l := &entriesLoad{installation: newForProcesses(t, "attempts: 20, timeout: 60s", "zookeeper_session_timeout=2s"), random: seed(t), entries: n, requests: requests}
	program, err := crashing()
	l.must(err)
	l.program = program
	l.base = newFiles(t, 1, -1).URL
	l.key = l.keyOf("olga", "operator", "--all")
	return l
}

// run requests the work, has it done while so many processes are killed, and checks what came of
// it by log and tables.
func (l *entriesLoad) run(kills int) {
	l.t.Helper()
	leader := l.serve("--roles", "daemons,relay,projector")
	for i := range l.doors {
		l.at[i] = port(l.t)
		l.doors[i] = l.serve("--roles", "http", "--set", "listen_http="+l.at[i])
	}
	for i := range l.working {
		l.working[i] = l.work("")
	}
	finished, finish := context.WithCancel(l.t.Context())
	var others errgroup.Group
	for i := range 4 {
		others.Go(func() error { return l.workOverHTTP(finished, fmt.Sprint("far", i)) })
	}
	for n := range kills {
		dying := l.arm(n)
		l.request(n, kills)
		l.killOne(n, dying)
		l.done((n+1)*l.entries/kills + sharedKeys)
	}
	all := l.entries + sharedKeys
	finish()
	l.must(others.Wait())
	l.answers()
	for _, p := range l.working {
		p.end(syscall.SIGTERM)
	}
	for _, s := range append(slices.Clone(l.doors[:]), leader) {
		s.stop()
	}
	l.once(all)
	l.says(0, words("verify"))
}

// request requests the nth part of the work, and of what is asked for under the shared keys.
func (l *entriesLoad) request(n, of int) {
	l.t.Helper()
	var asked errgroup.Group
	asked.SetLimit(32)
	submit := func(key string) {
		asked.Go(func() error {
			_, err := entries.Submit(l.t.Context(), l.app, l.asked(key))
			return err
		})
	}
	for i := n * l.requests / of; i < (n+1)*l.requests/of; i++ {
		submit(fmt.Sprint("shared", i%sharedKeys))
	}
	for i := n * l.entries / of; i < (n+1)*l.entries/of; i++ {
		submit(fmt.Sprint("own", i))
	}
	l.must(asked.Wait())
}

func (l *entriesLoad) asked(key string) entries.Asked {
	n := len(key) + int(key[len(key)-1])
	return entries.Asked{Dataset: fmt.Sprint("d", n%7), Group: fmt.Sprint(n % 3), Key: key, Inputs: []string{l.base + "/file/123"}}
}

// work starts a process with four workers; it dies at a point if one is given.
func (l *entriesLoad) work(point string) *process {
	c := l.command("compute", "worker", "--profile", "test", "--parallel", "4", "--dir", l.dir, "--exec", "sleep 0.1; wc -c < {in} > {out}")
	c.Stdout, c.Stderr = l.t.Output(), l.t.Output()
	if point != "" {
		c.Env = append(c.Env, "ACCESSION_CRASH="+point)
	}
	l.must(c.Start())
	p := &process{c.Process, make(chan struct{})}
	go func() { defer close(p.ended); _ = c.Wait() }()
	l.t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

// end ends a process by a signal.
func (p *process) end(by syscall.Signal) {
	_ = p.Signal(by) // it may have ended
	<-p.ended
}

// done waits until so many entries are, and lets those wait again whose workers have died three
// times.
func (l *entriesLoad) done(n int) {
	l.t.Helper()
	waitFor(l.t, fmt.Sprintf("%d entries to be done", n), func() bool {
		rows, err := l.db.Query(l.t.Context(), "select id from accession.compute_entry where status = 'FAILED' and reason_code = 'worker_lost'")
		l.must(err)
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		l.must(err)
		for _, id := range ids {
			l.command("compute", "retry", id, "--reason", "its workers were killed").Run() //nolint:errcheck // another retry may be on its way
		}
		return l.count("select count(*) from accession.compute_entry where status = 'SUCCESSFUL'") >= n
	})
}

// arm starts, in each second round, a process whose workers die when they come to a point.
func (l *entriesLoad) arm(round int) *process {
	if round%2 == 1 {
		return nil
	}
	return l.work(deaths[round/2%len(deaths)])
}

// killOne kills a worker, or a process that serves them, and starts it again; or waits until one
// has died that was armed.
func (l *entriesLoad) killOne(round int, dying *process) {
	l.t.Helper()
	switch i := l.random.IntN(len(l.working)); {
	case dying != nil:
		select {
		case <-dying.ended:
		case <-time.After(patience):
			l.t.Fatal("an armed worker did not die")
		}
	case round%4 == 1:
		i %= len(l.doors)
		l.doors[i].kill()
		l.doors[i] = l.serve("--roles", "http", "--set", "listen_http="+l.at[i])
	default:
		l.working[i].end(syscall.SIGKILL)
		l.working[i] = l.work("")
	}
}

// workOverHTTP takes work and ends it until ctx ends, asking the one process that serves it or
// the other; now and then it takes work and is not heard of again.
func (l *entriesLoad) workOverHTTP(ctx context.Context, name string) error {
	for n := 0; ctx.Err() == nil; n++ {
		var w leases.Work
		status, err := l.ask(ctx, n, "claims", fmt.Sprintf(`{"worker":%q,"wait":1,"lease":5}`, name), &w)
		if err != nil || status != http.StatusOK || w.Token == "" || n%17 == 16 {
			continue // that lease becomes overdue
		}
		for again := n; ctx.Err() == nil; again++ {
			status, err := l.ask(ctx, again, "claims/"+w.Token+"/complete", fmt.Sprintf(`{"result":%d}`, inputBytes), nil)
			if err == nil && status < http.StatusInternalServerError {
				if status != http.StatusOK && status != http.StatusConflict {
					return fmt.Errorf("a completion over HTTP is answered with %d", status)
				}
				break
			}
		}
	}
	return nil
}

// ask sends a request about leases to one of the processes.
func (l *entriesLoad) ask(ctx context.Context, n int, path, body string, into any) (int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+l.at[n%len(l.at)]+"/v1/compute/"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+l.key)
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	if err == nil && into != nil && a.StatusCode == http.StatusOK {
		err = json.Unmarshal(data, into)
	}
	return a.StatusCode, err
}

// answers asks for the shared keys as often as before: each answer is the one result of its key.
func (l *entriesLoad) answers() {
	l.t.Helper()
	l.must(l.app.CatchUp(l.ctx()))
	var mu sync.Mutex
	results := map[string]map[string]bool{}
	var asked errgroup.Group
	asked.SetLimit(32)
	for i := range l.requests {
		key := fmt.Sprint("shared", i%sharedKeys)
		asked.Go(func() error {
			e, err := entries.Submit(l.t.Context(), l.app, l.asked(key))
			if err != nil || e.Status != entry.Successful || e.Result == nil {
				return fmt.Errorf("%s: %+v, %w", key, e, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if results[key] == nil {
				results[key] = map[string]bool{}
			}
			results[key][fmt.Sprint(e.ID, e.Result.SHA256, e.Result.Value)] = true
			return nil
		})
	}
	l.must(asked.Wait())
	for key, all := range results {
		if len(all) != 1 {
			l.t.Errorf("%s has the results %v", key, all)
		}
	}
}

// once checks that each entry was accepted once, and that it was the result of its input.
func (l *entriesLoad) once(n int) {
	l.t.Helper()
	for what, query := range map[string]string{
		"entries":               "select count(*) from accession.compute_entry",
		"entries that are done": "select count(*) from accession.compute_entry where status = 'SUCCESSFUL'",
		"requests in the log":   "select count(*) from accession.event where type = 'entry.requested'",
		"completions":           "select count(*) from accession.event where type = 'entry.completed'",
		"completed entries":     "select count(distinct aggregate_id) from accession.event where type = 'entry.completed'",
		"entries with their result": fmt.Sprintf(`select count(distinct e.id) from accession.compute_entry e join record.compute_result r on r.entry_id = e.id and r.sha256 = e.result_sha256
			where r.result = '%d'`, inputBytes),
	} {
		if got := l.count(query); got != n {
			l.t.Errorf("%s: %d, want %d", what, got, n)
		}
	}
	if l.count("select count(*) from accession.event where type = 'entry.returned' and data #>> '{reason,code}' = 'worker_lost'") == 0 {
		l.t.Error("no worker was lost with its work")
	}
}
