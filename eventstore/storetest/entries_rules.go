package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/eventstore"
)

// entriesByTheRules: in random histories of three processes, whose sessions end now and then, each
// worker takes the entry that the rules as they are written say it takes, and the entries that
// it passes over are those of the rules. Two that take at once do so as if one had been first.
func entriesByTheRules(t *testing.T, e Env) {
	w := &rulesWorld{Kit: NewKit(t, e.Open(t)), env: e, random: rand.New(rand.NewPCG(drawnFrom(t), 0))}
	for range rulesProcesses {
		w.processes = append(w.processes, &rulesProcess{Kit: NewKit(t, e.Open(t))})
	}
	for n := range rulesHistories {
		w.history([]int{2, 40}[n%2])
	}
	w.tooFar()
	if w.affine == 0 || w.held == 0 || w.atOnce == 0 || w.far == 0 {
		t.Errorf("%d cached entries came first, %d did not for those before them, %d for the bound on looking ahead; %d takes were at once", w.affine, w.held, w.far, w.atOnce)
	}
}

const (
	rulesProcesses = 3
	rulesHistories = 4
	rulesSteps     = 80
	// rulesAhead is how many of the oldest entries of a priority a worker looks at, as the page says.
	rulesAhead = 16
)

// rulesWorld is a queue with what should wait in it.
type rulesWorld struct {
	*Kit
	env       Env
	random    *rand.Rand
	processes []*rulesProcess
	waiting   map[compute.ID]rulesEntry
	failed    map[compute.ID]rulesEntry
	requested int
	// What has happened: a cached entry was taken before older ones, was not since one of these
	// had been passed over, was not since it was too far behind; two processes took at once.
	affine, held, far, atOnce int
}

// rulesEntry is an entry as it should be.
type rulesEntry struct {
	id       compute.ID
	group    entry.Group
	priority int
	passed   int
}

// rulesProcess is a process with what its workers have.
type rulesProcess struct {
	*Kit
	has []rulesTaken
}

type rulesTaken struct {
	eventstore.Result[compute.Entry]
	model rulesEntry
}

// rulesWorker is what a worker wants.
type rulesWorker struct {
	datasets []string
	cached   []entry.Group
	limit    int
}

func (r rulesWorker) wants() compute.Wants {
	return compute.Wants{Datasets: r.datasets, PassLimit: r.limit, Cached: func(g entry.Group) bool { return slices.Contains(r.cached, g) }}
}

// drawnFrom returns the seed of a test, and prints it.
func drawnFrom(t *testing.T) uint64 {
	t.Helper()
	n := uint64(time.Now().UnixNano())
	if s := os.Getenv("ACCESSION_TEST_SEED"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d (ACCESSION_TEST_SEED repeats it)", n)
	return n
}

// history makes random steps, and takes and ends what is there at its end.
func (w *rulesWorld) history(waiting int) {
	w.waiting, w.failed = map[compute.ID]rulesEntry{}, map[compute.ID]rulesEntry{}
	for range waiting {
		w.draw()
	}
	dies := w.random.IntN(rulesSteps)
	for n := range rulesSteps {
		if n == dies {
			w.die()
		}
		switch w.random.IntN(10) {
		case 0, 1, 2:
			w.draw()
		case 3, 4, 5:
			w.take(w.process(), w.worker())
		case 6:
			w.takeBoth()
		case 7, 8:
			w.end(w.process())
		default:
			w.retry()
		}
	}
	for len(w.waiting) > 0 {
		w.take(w.process(), w.worker())
	}
	for _, p := range w.processes {
		for len(p.has) > 0 {
			w.ends(p, done)
		}
	}
}

// tooFar has workers take of a queue in which the cached entry is just too far behind, and then is
// not any more.
func (w *rulesWorld) tooFar() {
	for range rulesAhead {
		w.request(rulesEntry{group: entry.Group{Dataset: "a", Group: "x"}, priority: 999})
	}
	near := entry.Group{Dataset: "b", Group: "z"}
	w.request(rulesEntry{group: near, priority: 999})
	for range 2 {
		w.take(w.process(), rulesWorker{cached: []entry.Group{near}, limit: 1})
	}
}

func (w *rulesWorld) process() *rulesProcess { return w.processes[w.random.IntN(len(w.processes))] }

func (w *rulesWorld) group() entry.Group {
	return entry.Group{Dataset: string(rune('a' + w.random.IntN(3))), Group: string(rune('x' + w.random.IntN(2)))}
}

// heard lets every other process hear of events.
func (w *rulesWorld) heard(by *rulesProcess, events []domain.Recorded) {
	for _, p := range w.processes {
		if p != by {
			p.observe(events)
		}
	}
}

// draw requests a random entry.
func (w *rulesWorld) draw() {
	w.request(rulesEntry{group: w.group(), priority: []int{5, 100, 100, 100, 999}[w.random.IntN(5)]})
}

func (w *rulesWorld) request(e rulesEntry) {
	p := w.process()
	w.requested++
	made := p.Request(e.group.Dataset, e.group.Group, entry.Priority(e.priority), fmt.Sprint(w.requested))
	e.id = made.State.ID
	w.waiting[e.id] = e
	w.heard(p, made.Events)
}

// worker draws what a worker wants.
func (w *rulesWorld) worker() rulesWorker {
	r := rulesWorker{limit: []int{1, 1, 1, 0, 2}[w.random.IntN(5)]}
	for range w.random.IntN(3) {
		r.cached = append(r.cached, w.group())
	}
	if w.random.IntN(3) == 0 {
		r.datasets = []string{w.group().Dataset}
	}
	return r
}

// rulesNext returns which entry a worker takes of those that wait, and which it passes over.
func rulesNext(waiting map[compute.ID]rulesEntry, r rulesWorker) (take rulesEntry, passed []rulesEntry, why string) {
	mine := slices.SortedFunc(maps.Values(waiting), func(a, b rulesEntry) int {
		return cmp.Or(b.priority-a.priority, cmp.Compare(a.id, b.id))
	})
	mine = slices.DeleteFunc(mine, func(e rulesEntry) bool { return len(r.datasets) > 0 && !slices.Contains(r.datasets, e.group.Dataset) })
	if len(mine) == 0 {
		return take, nil, "none"
	}
	why = "oldest"
	for i, e := range mine {
		if e.priority != mine[0].priority || !slices.Contains(r.cached, e.group) {
			continue
		}
		switch {
		case slices.ContainsFunc(mine[:i], func(o rulesEntry) bool { return o.passed >= r.limit }):
			return mine[0], nil, "held"
		case i >= rulesAhead:
			return mine[0], nil, "far"
		case i > 0:
			why = "affine"
		}
		return e, mine[:i], why
	}
	return mine[0], nil, why
}

// takes notes what a worker should have taken.
func (w *rulesWorld) takes(from map[compute.ID]rulesEntry, r rulesWorker) (rulesEntry, map[compute.ID]rulesEntry, string) {
	e, passed, why := rulesNext(from, r)
	after := maps.Clone(from)
	delete(after, e.id)
	for _, p := range passed {
		p.passed++
		after[p.id] = p
	}
	return e, after, why
}

func (w *rulesWorld) take(p *rulesProcess, r rulesWorker) {
	want, after, why := w.takes(w.waiting, r)
	if why == "none" {
		return
	}
	taken := p.take(r.wants())
	if taken.State.ID != want.id {
		w.Fatalf("%+v takes %s, and not %+v (%s) of %+v", r, taken.State.ID, want, why, w.waiting)
	}
	w.count(why)
	w.took(p, taken, want, after)
}

func (w *rulesWorld) count(why string) {
	switch why {
	case "affine":
		w.affine++
	case "held":
		w.held++
	case "far":
		w.far++
	}
}

// took compares how often entries were passed over.
func (w *rulesWorld) took(p *rulesProcess, taken eventstore.Result[compute.Entry], want rulesEntry, after map[compute.ID]rulesEntry) {
	p.has = append(p.has, rulesTaken{taken, want})
	w.heard(p, taken.Events)
	for id, e := range after {
		if e.passed == w.waiting[id].passed {
			continue
		}
		if at, err := w.Store.LoadEntry(w.Context(), id); err != nil || at.State.Passed != e.passed {
			w.Fatalf("%s was passed over %d times, not %d: %v", id, at.State.Passed, e.passed, err)
		}
	}
	w.waiting = after
}

// takeBoth lets two processes take at once, while so few entries wait that no worker looks at
// others than these.
func (w *rulesWorld) takeBoth() {
	both := w.random.Perm(len(w.processes))[:2]
	want, rs := [2][2]rulesEntry{}, [2]rulesWorker{w.worker(), w.worker()}
	var after [2]map[compute.ID]rulesEntry
	if len(w.waiting) > rulesAhead {
		return
	}
	for first := range 2 {
		left := w.waiting
		for _, i := range []int{first, 1 - first} {
			var why string
			if want[first][i], left, why = w.takes(left, rs[i]); why == "none" {
				return
			}
		}
		after[first] = left
	}
	var taken [2]eventstore.Result[compute.Entry]
	var errs [2]error
	var all sync.WaitGroup
	ctx, cancel := context.WithTimeout(w.Context(), 5*time.Minute)
	defer cancel()
	for i, n := range both {
		all.Go(func() {
			taken[i], errs[i] = w.processes[n].Handler.TakeEntry(ctx, rs[i].wants(), Under(nil, false))
		})
	}
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		w.Fatal(err)
	}
	for first := range 2 {
		is := func(i int) bool {
			return taken[i].State.ID == want[first][i].id && taken[i].State.Passed == want[first][i].passed
		}
		if is(0) && is(1) && w.passed(after[first]) {
			w.atOnce++
			left := after[first]
			for i, n := range both {
				w.took(w.processes[n], taken[i], want[first][i], left)
			}
			return
		}
	}
	w.Fatalf("at once %+v take %s and %s, and not %+v", rs, taken[0].State.ID, taken[1].State.ID, want)
}

// passed reports whether entries were passed over as often as they should be.
func (w *rulesWorld) passed(all map[compute.ID]rulesEntry) bool {
	for id, e := range all {
		at, err := w.Store.LoadEntry(w.Context(), id)
		if err != nil {
			w.Fatal(err)
		}
		if at.State.Passed != e.passed {
			return false
		}
	}
	return true
}

// end ends what a process has: with a result, for good, or so that it waits again.
func (w *rulesWorld) end(p *rulesProcess) {
	if len(p.has) == 0 {
		return
	}
	w.ends(p, []compute.Command{done, compute.Fail{Reason: Broken()}, compute.Return{Reason: Broken(), Uncounted: true}, compute.Return{Reason: Broken()}}[w.random.IntN(4)])
}

func (w *rulesWorld) ends(p *rulesProcess, with compute.Command) {
	i := w.random.IntN(len(p.has))
	taken := p.has[i]
	p.has = slices.Delete(p.has, i, i+1)
	w.is(p, taken.model, must[eventstore.Result[compute.Entry]](p.Kit)(p.Handler.EndEntry(p.Context(), taken.Result, with, Under(nil, false))))
}

// is takes over where an entry stands after a change.
func (w *rulesWorld) is(p *rulesProcess, e rulesEntry, now eventstore.Result[compute.Entry]) {
	switch now.State.State {
	case entry.Pending:
		w.waiting[e.id] = e
	case entry.Failed:
		w.failed[e.id] = e
	}
	w.heard(p, now.Events)
}

// retry lets one that has failed wait again, where it waited before.
func (w *rulesWorld) retry() {
	for _, id := range slices.Sorted(maps.Keys(w.failed)) {
		p, e := w.process(), w.failed[id]
		delete(w.failed, id)
		w.is(p, e, must[eventstore.Result[compute.Entry]](p.Kit)(p.Handler.Entry(p.Context(), id, compute.Retry{}, Operator())))
		return
	}
}

// die ends the session of a process: what its workers have waits again, and what they do with it
// is refused.
func (w *rulesWorld) die() {
	p := w.process()
	w.env.Expire(w.TB, p.Store)
	lost := p.has
	p.has = nil
	orphans := must[[]compute.ID](w.Kit)(w.Store.OrphanEntries(w.Context()))
	if len(orphans) != len(lost) {
		w.Fatalf("%v have no worker, want %d", orphans, len(lost))
	}
	for _, taken := range lost {
		if !slices.Contains(orphans, taken.State.ID) {
			w.Fatalf("%s has a worker still", taken.State.ID)
		}
		by := w.process()
		w.is(by, taken.model, must[eventstore.Result[compute.Entry]](by.Kit)(by.Handler.Entry(by.Context(), taken.State.ID, compute.Return{Reason: domain.WorkerLost(taken.State.Worker)}, Under(nil, false))))
		_, err := p.Handler.EndEntry(p.Context(), taken.Result, done, Under(nil, false))
		w.WantErr(err, eventstore.ErrFenced)
	}
}
