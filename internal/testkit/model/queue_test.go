package model_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

// TestQueue compares package fair with the model on random steps.
func TestQueue(t *testing.T) {
	t.Parallel()
	compare(t, seed(t), 20_000)
}

// TestMillionSteps is [TestQueue] with a million steps.
func TestMillionSteps(t *testing.T) {
	t.Parallel()
	compare(t, seed(t), 1_000_000)
}

// seed returns what the choices of a test follow from, and prints it.
func seed(t *testing.T) uint64 {
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

// counts are what happened in a run.
type counts struct {
	steps, worlds, restarts, none, stale int
	grabs                                [4]int // by rule
}

// compare performs random steps in worlds of different sizes, each of which is emptied
// at its end.
func compare(t *testing.T, seed uint64, steps int) (n counts) {
	t.Helper()
	for n.steps < steps {
		w := newWorld(t, rand.New(rand.NewPCG(seed, uint64(n.worlds))), &n)
		for range min(steps-n.steps, 1+w.r.IntN(4_000)) {
			w.step()
		}
		w.drain()
		n.worlds++
	}
	t.Logf("%d steps in %d worlds: %d grabs by requirement, %d by preference, %d by round robin, %d of nothing; %d decisions refused as stale; %d rings rebuilt",
		n.steps, n.worlds, n.grabs[1], n.grabs[2], n.grabs[3], n.none, n.stale, n.restarts)
	return n
}

// world is two queues with the same users, as a server with several processes has them.
type world struct {
	t      *testing.T
	r      *rand.Rand
	n      *counts
	users  []string
	busy   int // how many of the users have most of the deposits
	rate   int // of a hundred steps, how many are arrivals
	queues map[string]*queue
	number int64
	early  []int64 // numbers that were assigned and not used yet
	done   []string
}

func newWorld(t *testing.T, r *rand.Rand, n *counts) *world {
	w := &world{t: t, r: r, n: n, queues: map[string]*queue{}}
	for i := range []int{1, 2, 3, 5, 12, 40}[r.IntN(6)] {
		w.users = append(w.users, fmt.Sprintf("user%d", i+1))
	}
	w.busy, w.rate = 1+r.IntN(len(w.users)), 18+r.IntN(19)
	for _, name := range []string{"metadata", "query"} {
		w.queues[name] = newQueue(w, name)
	}
	return w
}

// step lets one thing happen.
func (w *world) step() {
	w.n.steps++
	q := w.queues[[]string{"metadata", "query"}[w.r.IntN(2)]]
	switch n := w.r.IntN(100); {
	case n < w.rate:
		q.put()
	case n < 72:
		w.grab()
	case n < 84:
		q.end()
	case n < 88:
		q.comeBack()
	case n < 90:
		q.park()
	case n < 92:
		q.unpark()
	case n < 96:
		w.configure(q)
	case n < 97:
		q.late()
	case n < 98:
		q.restart()
	default:
		q.why(w.criteria())
	}
	if w.n.steps%64 == 0 {
		q.check()
	}
}

// did notes a step for the message of a failure.
func (w *world) did(format string, args ...any) {
	w.done = append(w.done, fmt.Sprintf(format, args...))
	if len(w.done) > 60 {
		w.done = slices.Delete(w.done, 0, 30)
	}
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.done {
		w.t.Log(line)
	}
	w.t.Fatalf("world %d, step %d: %s", w.n.worlds, w.n.steps, fmt.Sprintf(format, args...))
}

// user chooses one: nine times of ten a busy one.
func (w *world) user() string {
	if w.r.IntN(10) > 0 {
		return w.users[w.r.IntN(w.busy)]
	}
	return w.users[w.r.IntN(len(w.users))]
}

// some chooses a few users.
func (w *world) some() map[string]bool {
	chosen := map[string]bool{}
	for range 1 + w.r.IntN(3) {
		chosen[w.user()] = true
	}
	return chosen
}

// next returns a number for a deposit. Of two that are assigned at the same time the
// higher one sometimes arrives first.
func (w *world) next() int64 {
	if n := len(w.early); n > 0 && w.r.IntN(2) == 0 {
		number := w.early[n-1]
		w.early = w.early[:n-1]
		return number
	}
	if w.r.IntN(50) == 0 {
		w.number++
		w.early = append(w.early, w.number)
	}
	w.number++
	return w.number
}

// drain lets everything end, so that what was lost or kept too long is missed.
func (w *world) drain() {
	for _, name := range []string{"metadata", "query"} {
		q := w.queues[name]
		q.open()
		for _, d := range q.in(parked) {
			q.arrive(d)
		}
		for _, d := range q.in(running) {
			q.ended(d)
		}
		for len(q.model.Users) > 0 {
			if d, ok := q.grab(criteria{}); ok {
				q.ended(d)
			} else {
				w.fail("nothing is grabbed, and %d users wait", len(q.model.Users))
			}
		}
		q.check()
		for id, r := range q.records {
			if r.state != ended {
				w.fail("%s is %s after all has ended", id, r.state)
			}
		}
	}
}
