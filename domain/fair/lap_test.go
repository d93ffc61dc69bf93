package fair_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/fair"
)

// TestLapEnds: two users who deposit again whenever they were served, always one deposit,
// keep no lap from ending; a third one is served as often as each of them.
//
// Shows: P11
func TestLapEnds(t *testing.T) {
	t.Parallel()
	const grabs = 5_000
	r, number, served := &fair.Ring{}, int64(0), map[string]int{}
	put := func(user string) {
		number++
		r.Put(user, fair.Deposit{ID: fmt.Sprint(number), Number: number})
	}
	put("again1")
	put("again2")
	for range 10_000 {
		put("third")
	}
	for range grabs {
		d := r.Grab(fair.DefaultConfig(), fair.Processor{})
		if err := r.Apply(d); err != nil {
			t.Fatal(err)
		}
		r.End(d.User, d.Deposit.ID)
		if served[d.User]++; d.User != "third" {
			put(d.User)
		}
	}
	if served["third"] < grabs/3 {
		t.Errorf("of %d grabs %d are of the third user: %v", grabs, served["third"], served)
	}
}

// TestLaps: who is of a lap, and where the next one begins. A dot is where c joins, with
// c1 and c2.
func TestLaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule       string
		waiting    string
		allocation int
		before     int // grabs, before c joins
		want       string
		after      fair.Position
	}{
		{"who joins before the first grab is of the first lap", "a1 a2 b1 b2", 1, 0, "a1 b1 c1", fair.Position{Turn: 3, Cursor: 1, Lap: 3}},
		{"who joins during a lap waits for the next", "a1 a2 a3 b1 b2 b3", 1, 1, "b1 a2 b2 c1", fair.Position{Turn: 5, Cursor: 1, Lap: 3}},
		{"another user has twice their allocation at most", "a1 a2 a3 a4 a5 a6 a7", 2, 2, "a3 a4 a5 a6 c1", fair.Position{Turn: 7, Cursor: 2, Used: 1, Lap: 2}},
		{"the next lap begins when the last user of a lap leaves", "a1 a2 b1", 1, 1, "b1 a2 c1", fair.Position{Turn: 4, Cursor: 3, Lap: 3}},
		{"when all are emptied no lap has begun", "a1", 1, 1, "c1", fair.Position{Turn: 2, Cursor: 2, Lap: 2}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			r := ringOf(c.waiting)
			grabs(t, r, configOf(c.allocation), fair.Processor{}, c.before)
			for n := range int64(2) {
				r.Put("c", fair.Deposit{ID: fmt.Sprint("c", n+1), Number: 100 + n})
			}
			if got := grabs(t, r, configOf(c.allocation), fair.Processor{}, (len(c.want)+1)/3); got != c.want || r.Position() != c.after {
				t.Errorf("grabbed %s, now at %+v, want %s, %+v", got, r.Position(), c.want, c.after)
			}
		})
	}
}

// TestLapOfARestoredRing: a position that was kept without a lap begins one with all who
// are in the ring; who is found to have left takes the lap with them.
func TestLapOfARestoredRing(t *testing.T) {
	t.Parallel()
	restored := func(p fair.Position) *fair.Ring {
		r := ringOf("a1 a2 b1 b2 c1 c2")
		r.Seek(p, 7)
		return r
	}
	r := restored(fair.Position{Turn: 4, Cursor: 2})
	r.Put("d", fair.Deposit{ID: "d1", Number: 9})
	if got := grabs(t, r, wide, fair.Processor{}, 1); got != "b1" || r.Position() != (fair.Position{Turn: 5, Cursor: 3, Lap: 8}) {
		t.Errorf("without a lap: %s, %+v", got, r.Position())
	}
	r = restored(fair.Position{Cursor: 2, Lap: 2}) // c is of the next lap
	if got := grabs(t, r, wide, fair.Processor{}, 4); got != "b1 a1 b2 c1" {
		t.Errorf("in the middle of a lap: %s", got)
	}
	r = restored(fair.Position{Cursor: 3, Lap: 2}) // the last one of the lap has left
	if got := grabs(t, r, wide, fair.Processor{}, 2); got != "a1 b1" || r.Position() != (fair.Position{Turn: 2, Cursor: 3, Lap: 7}) {
		t.Errorf("behind a lap: %s, %+v", got, r.Position())
	}
	r = &fair.Ring{}
	for slot, user := range []string{"a", "b", "c"} {
		r.Join(user, int64(slot+1))
	}
	r.Seek(fair.Position{Cursor: 2, Used: 1, Lap: 2}, 3)
	r.Read("b", nil)
	if r.Position() != (fair.Position{Cursor: 1, Lap: 3}) {
		t.Errorf("read as empty: %+v", r.Position())
	}
}

// waits are the users who can be served and have not been since, and what may be grabbed
// from others until then.
type waits map[string]map[string]int

// begin notes those for whom there is no obstacle, and strikes those for whom there is one.
func (w waits) begin(r *fair.Ring, c fair.Config) {
	lap := r.Position().Lap
	for _, user := range ringUsers {
		switch why := r.Why(c, []fair.Processor{{}}, user); {
		case why != fair.ObstacleNone:
			delete(w, user)
			continue
		case w[user] != nil:
			continue
		}
		w[user] = map[string]int{}
		slot, _ := r.Slot(user)
		for _, other := range ringUsers {
			at, joins := r.Slot(other)
			switch {
			case joins: // comes behind the user
			case lap > 0 && slot > lap && at <= lap:
				w[user][other] = 2 * c.Allocation.For(other) // in this lap and the next
			default:
				w[user][other] = c.Allocation.For(other)
			}
		}
	}
}

// TestWaitIsBounded: whatever arrives, leaves, is required, preferred or parked, a user
// who can be served is served before another one has more than their allocation by round
// robin, more than twice of it if the user joined during a lap; and before who joins
// later has anything.
//
// Shows: P11
func TestWaitIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSteps(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		s.config.Allocation.Of, s.config.Concurrency.Of = map[string]int{}, map[string]int{}
		for _, user := range ringUsers {
			s.config.Allocation.Of[user], s.config.Concurrency.Of[user] = s.choose(4), 1+s.choose(4)
		}
		waits := waits{}
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			p := fair.Processor{}
			switch n := s.choose(16); {
			case n < 5:
				s.arrive()
			case n < 7:
				s.end(s.any("running"), "done")
			case n == 7:
				s.park(t)
			case n == 8:
				p.Users = s.users()
				fallthrough
			case n == 9:
				p.Preferred = s.users()
				fallthrough
			default:
				d := s.ring.Grab(s.config, p)
				s.grab(t, p)
				delete(waits, d.User)
				if d.Rule != fair.RuleRoundRobin {
					break
				}
				for user, may := range waits {
					if may[d.User]--; may[d.User] < 0 {
						t.Fatalf("%s can be served and waits, and turn %d is one more than %s may have", user, d.After.Turn, d.User)
					}
				}
			}
			waits.begin(&s.ring, s.config)
		}
	})
}
