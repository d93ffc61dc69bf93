package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/leases"
	"github.com/accession-ingest/accession/internal/testkit/zkline"
)

// TestEntriesUnderKills is a small [entriesLoad].
// Shows: P1 P5
func TestEntriesUnderKills(t *testing.T) {
	t.Parallel()
	newEntriesLoad(t, 240, 512).run(8)
}

// entriesLoad is the compute queue while processes are killed that work on it or serve it, and
// their sessions end: three processes with four workers each, four workers over HTTP, and two
// processes that they ask. The work of the shared keys ends only after half of the deaths.
type entriesLoad struct {
	*installation
	random   *rand.Rand
	entries  int // each under a key of its own
	more     int // of these, requested since a worker had nothing to die of
	requests int // under the five shared keys
	base     string
	key      string // of an operator
	at       [2]atomic.Pointer[door]
	lines    [3]*zkline.Line // of the processes with workers
	through  [3]*zkline.Line // of the others: the leader, and those that are asked
	working  [3]*process
	doors    [2]*service
	client   *http.Client
	goesOn   atomic.Bool // the work of the shared keys may end
	ended    int         // sessions, at any moment

	mu        sync.Mutex
	left      []string // tokens of workers over HTTP that were not heard of again
	completed int      // entries by workers over HTTP
	refused   int      // completions over HTTP that came late
	askers    []*asker
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
	for i := range 3 {
		l.lines[i], l.through[i] = zkline.New(t, l.settings["zookeeper"]), zkline.New(t, l.settings["zookeeper"])
	}
	l.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	t.Cleanup(l.client.CloseIdleConnections)
	return l
}

// run requests the work, has it done while so many processes are killed, and at least as many
// sessions end, and checks what came of it by log and tables.
func (l *entriesLoad) run(kills int) {
	l.t.Helper()
	leader := l.serve(l.via(l.through[2]), "--roles", "daemons,relay,projector")
	for i := range l.doors {
		l.opens(i)
	}
	for i := range l.working {
		l.working[i] = l.work(l.lines[i], "")
	}
	finished, finish := context.WithCancel(l.t.Context())
	var others errgroup.Group
	for i := range 4 {
		others.Go(func() error { return l.workOverHTTP(finished, fmt.Sprint("far", i)) })
	}
	for n := range kills {
		dying := l.arm(n)
		l.request(n, kills)
		l.endSession(n)
		l.killOne(n, dying)
		l.done((n+1)*l.entries/kills + l.more)
		l.look(func(i int) bool { return i%4 == n%4 })
		if n == kills/2 {
			l.goOn()
		}
	}
	l.answered()
	l.done(l.entries + l.more)
	for _, p := range l.working {
		p.end(syscall.SIGTERM)
	}
	l.restOverHTTP()
	finish()
	l.must(others.Wait())
	l.late()
	all := l.entries + l.more + sharedKeys
	for _, s := range append(slices.Clone(l.doors[:]), leader) {
		s.stop()
	}
	l.once(all)
	l.says(0, words("verify"))
}

// via returns the argument that makes a process reach ZooKeeper by a line.
func (l *entriesLoad) via(at *zkline.Line) string { return "--set=zookeeper=" + at.Address() }

// opens starts a process that is asked. Each has a port that is free: that of one which died may
// be taken by a connection of another test.
func (l *entriesLoad) opens(i int) {
	l.t.Helper()
	l.doors[i] = l.serve(l.via(l.through[i]), "--roles", "http", "--set", "listen_http=127.0.0.1:0")
	l.doors[i].tells(`"msg":"ready"`)
	l.at[i].Store(l.doorOf(l.doors[i]))
}

// request requests the nth part of the work, and of what is asked for under the shared keys.
func (l *entriesLoad) request(n, of int) {
	l.t.Helper()
	var requested errgroup.Group
	requested.SetLimit(32)
	for i := n * l.requests / of; i < (n+1)*l.requests/of; i++ {
		a := &asker{load: l, number: i, key: fmt.Sprint("shared", i%sharedKeys)}
		l.askers = append(l.askers, a)
		requested.Go(a.submit)
	}
	for i := n * l.entries / of; i < (n+1)*l.entries/of; i++ {
		requested.Go(func() error { return l.submit(fmt.Sprint("own", i)) })
	}
	l.must(requested.Wait())
}

func (l *entriesLoad) submit(key string) error {
	_, err := entries.Submit(l.t.Context(), l.app, l.asked(key))
	return err
}

// ownDatasets are those of the entries with keys of their own.
var ownDatasets = []string{"d0", "d1", "d2", "d3", "d4", "d5", "d6"}

func (l *entriesLoad) asked(key string) entries.Asked {
	n := len(key) + int(key[len(key)-1])
	a := entries.Asked{Dataset: ownDatasets[n%len(ownDatasets)], Group: fmt.Sprint(n % 3), Key: key, Inputs: []string{l.base + "/file/123"}}
	if strings.HasPrefix(key, "shared") {
		urgent := 900
		a.Dataset, a.Priority = "shared", &urgent
	}
	return a
}

// work starts a process with four workers; it dies at a point if one is given, and then has no
// work of the shared keys, which might keep it from coming there.
func (l *entriesLoad) work(line *zkline.Line, point string) *process {
	c := l.command("compute", "worker", "--profile", "test", "--parallel", "4", "--dir", l.dir,
		"--exec", `if [ "$ACCESSION_DATASET" = shared ]; then while [ ! -e '`+l.goneOn()+`' ]; do sleep 0.2; done; fi; sleep 0.1; wc -c < {in} > {out}`)
	if point != "" {
		c.Args, c.Env = append(c.Args, "--datasets", strings.Join(ownDatasets, ",")), append(c.Env, "ACCESSION_CRASH="+point)
	} else {
		c.Args = append(c.Args, l.via(line))
	}
	c.Stdout, c.Stderr = l.t.Output(), l.t.Output()
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

// done waits until so many entries with keys of their own are, and lets those wait again whose workers have died three
// times.
func (l *entriesLoad) done(n int) {
	l.t.Helper()
	waitFor(l.t, fmt.Sprintf("%d entries to be done", n), func() bool {
		l.retry()
		return l.count("select count(*) from accession.compute_entry where status = 'SUCCESSFUL' and key like 'own%'") >= n
	})
}

// retry lets entries wait again whose workers have died three times.
func (l *entriesLoad) retry() {
	l.t.Helper()
	rows, err := l.db.Query(l.t.Context(), "select id from accession.compute_entry where status = 'FAILED' and reason_code = 'worker_lost'")
	l.must(err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	l.must(err)
	for _, id := range ids {
		l.command("compute", "retry", id, "--reason", "its workers were killed").Run() //nolint:errcheck // another retry may be on its way
	}
}

// arm starts, in each second round, a process whose workers die when they come to a point.
func (l *entriesLoad) arm(round int) *process {
	if round%2 == 1 {
		return nil
	}
	return l.work(nil, deaths[round/2%len(deaths)])
}

// killOne kills a worker, or a process that serves them, and starts it again; or waits until one
// has died that was armed.
func (l *entriesLoad) killOne(round int, dying *process) {
	l.t.Helper()
	switch i := l.random.IntN(len(l.working)); {
	case dying != nil:
		l.dies(dying)
	case round%4 == 1:
		i %= len(l.doors)
		l.doors[i].kill()
		l.opens(i)
	default:
		l.working[i].end(syscall.SIGKILL)
		l.working[i] = l.work(l.lines[i], "")
	}
}

// dies waits until an armed process has died. Others may have taken all work before it: then
// there is some more.
func (l *entriesLoad) dies(p *process) {
	l.t.Helper()
	waitFor(l.t, "an armed worker to die", func() bool {
		select {
		case <-p.ended:
			return true
		case <-time.After(time.Second):
			l.requestMore()
			return false
		}
	})
}

// requestMore requests some work beyond that which each round brings.
func (l *entriesLoad) requestMore() {
	l.t.Helper()
	for range 8 {
		l.must(l.submit(fmt.Sprint("own-more", l.more)))
		l.more++
	}
}

// restOverHTTP has workers over HTTP do and leave some work, when only they are left: on a busy
// machine the processes may have taken all before.
func (l *entriesLoad) restOverHTTP() {
	l.t.Helper()
	for {
		l.mu.Lock()
		some := len(l.left) > 0 && l.completed > 0
		l.mu.Unlock()
		if some {
			return
		}
		l.requestMore()
		l.done(l.entries + l.more)
	}
}

// endSession ends the session of one process at once, and lets that of one with workers end right
// after it has taken an entry, while it completes one, or right after that.
func (l *entriesLoad) endSession(round int) {
	l.t.Helper()
	l.endsNow(append(slices.Clone(l.lines[:]), l.through[:]...))
	line, claim := l.lines[l.random.IntN(len(l.lines))], "/compute/claims/"
	switch round % 3 {
	case 0:
		line.EndAt(true, claim, "/unowned/")
	case 1:
		line.EndAt(false, claim, "/done/")
	default:
		line.EndAt(true, claim, "/done/")
	}
}

// endsNow ends the session of one of some processes; one that has just been started, or on a busy
// machine connects again after its session was lost, has none then.
func (l *entriesLoad) endsNow(lines []*zkline.Line) {
	l.t.Helper()
	var why error
	defer func() {
		if why != nil {
			l.t.Logf("the last session that was tried does not end: %v", why)
		}
	}()
	waitFor(l.t, "a session to end", func() bool {
		why = lines[l.random.IntN(len(lines))].End()
		return why == nil
	})
	l.ended++
}

func (l *entriesLoad) goneOn() string { return filepath.Join(l.dir, "goes-on") }

// goOn lets the work of the shared keys end, after its workers have died.
func (l *entriesLoad) goOn() {
	l.t.Helper()
	waitFor(l.t, "the work of the shared keys to lose its workers", func() bool {
		l.retry()
		for _, line := range l.lines {
			l.endsNow([]*zkline.Line{line})
		}
		return l.count("select count(distinct aggregate_id) from accession.event e join accession.compute_entry c on c.id = e.aggregate_id where type = 'entry.returned' and key like 'shared%'") == sharedKeys
	})
	l.must(os.WriteFile(l.goneOn(), nil, 0o600))
	l.goesOn.Store(true)
}

// workOverHTTP takes work and ends it until ctx ends, asking the one process that serves it or
// the other; now and then it takes work and is not heard of again.
func (l *entriesLoad) workOverHTTP(ctx context.Context, name string) error {
	taken := 0
	for n := 0; ctx.Err() == nil; n++ {
		var w leases.Work
		datasets := ""
		if !l.goesOn.Load() {
			datasets = `,"datasets":["` + strings.Join(ownDatasets, `","`) + `"]`
		}
		status, err := l.ask(ctx, n, "claims", fmt.Sprintf(`{"worker":%q,"wait":1,"lease":5%s}`, name, datasets), &w)
		if err != nil || status != http.StatusOK || w.Token == "" {
			continue
		}
		if taken++; taken%17 == 2 {
			l.leaves(w.Token)
			continue // that lease becomes overdue
		}
		for again := n; ctx.Err() == nil; again++ {
			status, err := l.ask(ctx, again, "claims/"+w.Token+"/complete", fmt.Sprintf(`{"result":%d}`, inputBytes), nil)
			if err == nil && status < http.StatusInternalServerError {
				if err := l.answers(status); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}

// leaves keeps the token of a lease that a worker leaves.
func (l *entriesLoad) leaves(token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left = append(l.left, token)
}

// answers counts the answer to a completion over HTTP.
func (l *entriesLoad) answers(status int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch status {
	case http.StatusOK:
		l.completed++
	case http.StatusConflict:
		l.refused++
	default:
		return fmt.Errorf("a completion over HTTP is answered with %d", status)
	}
	return nil
}

// late lets the workers over HTTP come back that had left their work: others have done it since, so
// that each of them is refused.
func (l *entriesLoad) late() {
	l.t.Helper()
	for n, token := range l.left {
		status, err := l.ask(l.t.Context(), n, "claims/"+token+"/complete", `{"result":"late"}`, nil)
		l.must(err)
		if l.must(l.answers(status)); status != http.StatusConflict {
			l.t.Errorf("a worker that comes back late is answered with %d", status)
		}
	}
	if len(l.left) == 0 || l.refused < len(l.left) || l.completed == 0 {
		l.t.Errorf("over HTTP %d entries were completed, %d were left, and %d completions refused: want some of each", l.completed, len(l.left), l.refused)
	}
}

// ask sends a request to one of the processes: without a body it only reads.
func (l *entriesLoad) ask(ctx context.Context, n int, path, body string, into any) (int, error) {
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	r, err := http.NewRequestWithContext(ctx, method, l.at[n%len(l.at)].Load().url+"/v1/compute/"+path, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Prefer", "wait=1")
	r.Header.Set("Authorization", "Bearer "+l.key)
	r.Header.Set("Content-Type", "application/json")
	a, err := l.client.Do(r)
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
	if l.endedAt() == 0 {
		l.t.Errorf("%d sessions ended, but none at a claim or a completion", l.ended)
	}
	if l.count("select count(*) from accession.event where type = 'entry.returned' and data #>> '{reason,code}' = 'worker_lost'") == 0 {
		l.t.Error("no worker was lost with its work")
	}
}

// endedAt returns how many sessions have ended at a claim or a completion.
func (l *entriesLoad) endedAt() (n int) {
	for _, line := range l.lines {
		n += line.Ended()
	}
	return n
}
