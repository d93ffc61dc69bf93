package fair_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/fair"
)

// ringOf returns a ring with deposits like "a1": of user a, in this order. Their sizes
// are their numbers.
func ringOf(deposits string) *fair.Ring {
	r := &fair.Ring{}
	for i, id := range strings.Fields(deposits) {
		r.Put(id[:1], fair.Deposit{ID: id, Number: int64(i + 1), Size: int64(id[1] - '0')})
	}
	return r
}

// grab grabs and applies, and returns the id, "" = nothing.
func grab(t *testing.T, r *fair.Ring, c fair.Config, p fair.Processor) string {
	t.Helper()
	d := r.Grab(c, p)
	if err := r.Apply(d); err != nil {
		t.Fatal(err)
	}
	return d.Deposit.ID
}

// grabs grabs n times.
func grabs(t *testing.T, r *fair.Ring, c fair.Config, p fair.Processor, n int) string {
	t.Helper()
	ids := make([]string, n)
	for i := range ids {
		if ids[i] = grab(t, r, c, p); ids[i] == "" {
			ids[i] = "-"
		}
	}
	return strings.Join(ids, " ")
}

// configOf returns a configuration without bounds but the allocation.
func configOf(allocation int) fair.Config {
	return fair.Config{Allocation: fair.Limit{Default: allocation}, Concurrency: fair.Limit{Default: 100}}
}

// wide is the default configuration without a bound of what runs at once.
var wide = configOf(1)

// TestRules has the rules of the selection, each by an order of deposits.
func TestRules(t *testing.T) {
	t.Parallel()
	all, onlyB := fair.Processor{}, fair.Processor{Users: fair.ParseUsers("b")}
	preferB := fair.Processor{Preferred: fair.ParseUsers("b")}
	limited := func(c fair.Config, concurrency int) fair.Config {
		c.Concurrency = fair.Limit{Default: concurrency}
		return c
	}
	without := func(c fair.Config, user string, allocation, concurrency int) fair.Config {
		c.Allocation.Of, c.Concurrency.Of = map[string]int{user: allocation}, map[string]int{user: concurrency}
		return c
	}
	prohibiting := func(users string) fair.Config { c := wide; c.Prohibited = fair.ParseUsers(users); return c }
	suspended := wide
	suspended.Suspended = true
	for _, c := range []struct {
		rule      string
		waiting   string
		config    fair.Config
		processor fair.Processor
		want      string
	}{
		{"users are served in turn", "a1 a2 a3 b1 c1 c2", wide, all, "a1 b1 c1 a2 c2 a3 -"},
		{"an allocation is taken in one visit", "a1 a2 a3 b1 b2 b3", configOf(2), all, "a1 a2 b1 b2 a3 b3"},
		{"a suspended queue hands nothing out", "a1", suspended, all, "-"},
		{"an empty queue hands nothing out", "", wide, all, "-"},
		{"required users are served from the start of the ring", "a1 b1 c1 c2 b2", wide, fair.Processor{Users: fair.ParseUsers("b c")}, "b1 b2 c1 c2 -"},
		{"without a required user there is nothing at all", "a1 c1", wide, onlyB, "-"},
		{"required users are not served above their concurrency", "b1 b2 b3", limited(wide, 2), onlyB, "b1 b2 -"},
		{"required users are served without an allocation", "b1 b2", without(wide, "b", 0, 9), onlyB, "b1 b2"},
		{"required users are served although prohibited", "a1 b1", prohibiting("b"), onlyB, "b1 -"},
		{"a full required user lets the next one through", "b1 b2 c1", limited(wide, 1), fair.Processor{Users: fair.ParseUsers("b c")}, "b1 c1 -"},
		{"preferred users come before the others", "a1 b1 b2", wide, preferB, "b1 b2 a1 -"},
		{"preferred users are served from the cursor on", "a1 b1 c1 a2 c2 d1", wide, fair.Processor{Preferred: fair.ParseUsers("a c")}, "a1 a2 c1 c2 b1 d1"},
		{"without a preferred user the turn decides", "a1 c1", wide, preferB, "a1 c1"},
		{"preferred users are not served above their concurrency", "a1 b1 b2 b3", limited(wide, 2), preferB, "b1 b2 a1 -"},
		{"preferred users are served without an allocation", "a1 b1 b2", without(wide, "b", 0, 9), preferB, "b1 b2 a1"},
		{"prohibited users are not preferred", "a1 b1", prohibiting("b"), preferB, "a1 -"},
		{"excluded users are not preferred", "a1 b1", wide, fair.Processor{Users: fair.ParseUsers("b"), ExcludeUsers: true, Preferred: fair.ParseUsers("b")}, "a1 -"},
		{"excluded users have no turn", "a1 b1 c1", wide, fair.Processor{Users: fair.ParseUsers("a,c"), ExcludeUsers: true}, "b1 -"},
		{"exclude without users excludes none", "a1 b1", wide, fair.Processor{ExcludeUsers: true}, "a1 b1"},
		{"prohibited users have no turn", "a1 b1 c1", prohibiting("a, c"), all, "b1 -"},
		{"allocation 0 means no turn", "a1 b1", without(wide, "a", 0, 9), all, "b1 -"},
		{"concurrency 0 means never", "b1", without(wide, "b", 9, 0), onlyB, "-"},
		{"a full user is passed over", "a1 a2 a3 b1 b2 b3", limited(wide, 2), all, "a1 b1 a2 b2 -"},
		{"a full user's visit ends", "a1 a2 a3 b1 b2 b3 b4 b5", limited(configOf(3), 2), all, "a1 a2 b1 b2 -"},
		{"a large head keeps the rest of its user waiting", "a9 a1 b1", wide, fair.Processor{MaxSize: 5}, "b1 -"},
		{"a head as large as the limit fits", "a5", wide, fair.Processor{MaxSize: 5}, "a5"},
		{"a head of unknown size fits no limit", "a0 b1", wide, fair.Processor{MaxSize: 5}, "b1 -"},
		{"a head of unknown size fits a processor of any size", "a0", wide, all, "a0"},
		{"a large head of a required user is not served", "b9", wide, fair.Processor{Users: fair.ParseUsers("b"), MaxSize: 5}, "-"},
		{"a large head of a preferred user is not served", "a1 b9", wide, fair.Processor{Preferred: fair.ParseUsers("b"), MaxSize: 5}, "a1 -"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := grabs(t, ringOf(c.waiting), c.config, c.processor, len(strings.Fields(c.want))); got != c.want {
				t.Errorf("grabbed %s, want %s", got, c.want)
			}
		})
	}
}

// TestRequiredAndPreferredMoveNothing: only round robin moves the cursor, and counts
// against the allocation.
func TestRequiredAndPreferredMoveNothing(t *testing.T) {
	t.Parallel()
	r := ringOf("a1 a2 a3 b1 b2 b3 c1 c2")
	c := configOf(2)
	if got := grabs(t, r, c, fair.Processor{}, 3); got != "a1 a2 b1" {
		t.Fatal(got)
	}
	was := r.Position()
	for _, p := range []fair.Processor{{Users: fair.ParseUsers("c")}, {Preferred: fair.ParseUsers("a")}} {
		grabs(t, r, c, p, 1)
		is := r.Position()
		if is.Cursor != was.Cursor || is.Used != was.Used {
			t.Errorf("%+v, was %+v", is, was)
		}
	}
	if got := grabs(t, r, c, fair.Processor{}, 3); got != "b2 c2 b3" {
		t.Errorf("then %s", got)
	}
}

// TestEmptiedUserLeaves: if the cursor stood there, it stands on the next one, with
// nothing used, whatever emptied the user; who joins then comes behind.
func TestEmptiedUserLeaves(t *testing.T) {
	t.Parallel()
	c := configOf(3)
	for name, empty := range map[string]func(r *fair.Ring) fair.Decision{
		"grabbed in turn":  func(r *fair.Ring) fair.Decision { return r.Grab(c, fair.Processor{}) },
		"required":         func(r *fair.Ring) fair.Decision { return r.Grab(c, fair.Processor{Users: fair.ParseUsers("c")}) },
		"preferred":        func(r *fair.Ring) fair.Decision { return r.Grab(c, fair.Processor{Preferred: fair.ParseUsers("c")}) },
		"parked":           func(r *fair.Ring) fair.Decision { return r.Park("c", "c2") },
		"alone, then join": func(r *fair.Ring) fair.Decision { return r.Park("c", "c2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := ringOf("a1 a2 b1 b2 c1 c2")
			grabs(t, r, c, fair.Processor{Users: fair.ParseUsers("b")}, 2) // a and c are left
			if got := grabs(t, r, c, fair.Processor{Preferred: fair.ParseUsers("a")}, 1); got != "a1" {
				t.Fatal(got)
			}
			want := "a2 d1 -"
			if name == "alone, then join" {
				grabs(t, r, c, fair.Processor{}, 1)
				want = "d1 -"
			} else {
				r.Seek(fair.Position{Turn: r.Position().Turn, Cursor: 3}, 3)
			}
			if got := grabs(t, r, c, fair.Processor{}, 1); got != "c1" {
				t.Fatal(got)
			}
			d := empty(r)
			if d.Deposit.ID != "c2" || !d.Emptied || d.After.Used != 0 || d.After.Cursor == d.Slot {
				t.Errorf("%+v", d)
			}
			if err := r.Apply(d); err != nil {
				t.Fatal(err)
			}
			r.Put("d", fair.Deposit{ID: "d1", Number: 100})
			if got := grabs(t, r, c, fair.Processor{}, len(strings.Fields(want))); got != want {
				t.Errorf("then %s, want %s", got, want)
			}
		})
	}
}

// TestVisitOfAChangedAllocation: a visit that has used more than the allocation is now
// ends, and the lap comes back to its user.
func TestVisitOfAChangedAllocation(t *testing.T) {
	t.Parallel()
	r := ringOf("a1 a2 a3 a4 a5 b1")
	if got := grabs(t, r, configOf(4), fair.Processor{}, 3); got != "a1 a2 a3" {
		t.Fatal(got)
	}
	if got := grabs(t, r, configOf(2), fair.Processor{}, 3); got != "b1 a4 a5" {
		t.Errorf("with another user: %s", got)
	}
	r = ringOf("a1 a2 a3 a4")
	grabs(t, r, configOf(4), fair.Processor{}, 3)
	if got := grabs(t, r, configOf(2), fair.Processor{}, 1); got != "a4" {
		t.Errorf("alone: %s", got)
	}
}

// TestNoneWritesNothing: also when the visit at the cursor has used something.
func TestNoneWritesNothing(t *testing.T) {
	t.Parallel()
	r := ringOf("a1 a2 a3 b1")
	c := configOf(2)
	grabs(t, r, c, fair.Processor{}, 1)
	was := r.Position()
	c.Concurrency.Default = 0
	if d := r.Grab(c, fair.Processor{}); d != (fair.Decision{}) || r.Apply(d) != nil || r.Position() != was {
		t.Errorf("%+v, and the ring stands at %+v, was %+v", d, r.Position(), was)
	}
	c.Concurrency.Default = 9
	if got := grabs(t, r, c, fair.Processor{}, 3); got != "a2 b1 a3" {
		t.Errorf("then %s", got)
	}
}

// TestReturnToTheFront: what returns comes before the rest of its user, in its old
// order; who has left in the meantime joins at the end.
func TestReturnToTheFront(t *testing.T) {
	t.Parallel()
	r := ringOf("a1 b1 a2 a3 b2")
	first := r.Grab(wide, fair.Processor{})
	_ = r.Apply(first)
	grabs(t, r, wide, fair.Processor{}, 1)
	second := r.Grab(wide, fair.Processor{})
	_ = r.Apply(second)
	for _, d := range []fair.Decision{first, second} {
		r.Put(d.User, d.Deposit) // runs: nothing happens
		r.End(d.User, d.Deposit.ID)
		r.Put(d.User, d.Deposit)
	}
	if got := grabs(t, r, wide, fair.Processor{}, 5); got != "b2 a1 a2 a3 -" {
		t.Errorf("then %s", got)
	}
	r = ringOf("a1 b1 c1")
	d := r.Grab(wide, fair.Processor{})
	_ = r.Apply(d)
	r.End(d.User, d.Deposit.ID)
	r.Put(d.User, d.Deposit)
	if got := grabs(t, r, wide, fair.Processor{}, 3); got != "b1 c1 a1" {
		t.Errorf("who had left: %s", got)
	}
}

// TestSmallUserBesideALargeOne: a user with three deposits beside one with ten thousand
// is served once a lap, whatever the others have and may; the first lap begins after the
// user has joined.
func TestSmallUserBesideALargeOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := fair.Config{Allocation: fair.Limit{Default: rapid.IntRange(1, 4).Draw(t, "allocation")}, Concurrency: fair.Limit{Default: 20_000}}
		r, number := &fair.Ring{}, int64(0)
		put := func(user string, n int) {
			for range n {
				number++
				r.Put(user, fair.Deposit{ID: fmt.Sprint(number), Number: number})
			}
		}
		put("large", 10_000)
		others := rapid.IntRange(0, 5).Draw(t, "others")
		for i := range others {
			put(fmt.Sprint("other", i), rapid.IntRange(1, 30).Draw(t, "deposits"))
		}
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			_ = r.Apply(r.Grab(c, fair.Processor{}))
		}
		put("small", 3)
		served, laps := map[string]int{}, 2
		for r.Waiting("small") > 0 {
			d := r.Grab(c, fair.Processor{})
			if err := r.Apply(d); err != nil {
				t.Fatal(err)
			}
			if d.User == "small" {
				clear(served)
				laps = 1
			} else if served[d.User]++; served[d.User] > laps*c.Allocation.Default {
				t.Fatalf("%s has %d deposits of %d laps, before %d of the small user", d.User, served[d.User], laps, r.Waiting("small"))
			}
		}
	})
}

// TestEveryCombination compares every combination of required, preferred, excluded,
// prohibited, allocation 0 and concurrency 0 with a table. The letters of a line are: the
// processor requires the user (R) or another one (O), excludes the user (X), or names
// none; prefers (P) the user; prohibited (G); allocation 0 (A); concurrency 0 (C). A dot
// stands for both. Each combination fits one line.
func TestEveryCombination(t *testing.T) {
	t.Parallel()
	lines := []struct{ pattern, outcome string }{
		{"R...C", "concurrency_zero"}, {"R...-", "required"}, // nothing else counts for a required user
		{"O....", "not_required"},
		{"X....", "excluded"}, // preferred or not
		{"-.G..", "prohibited"},
		{"-P-.C", "concurrency_zero"}, {"-P-.-", "preferred"}, // the allocation does not count
		{"---A.", "allocation_zero"},
		{"----C", "concurrency_zero"}, {"-----", "round_robin"},
	}
	fits := func(pattern, combination string) bool {
		for i := range pattern {
			if pattern[i] != '.' && pattern[i] != combination[i] {
				return false
			}
		}
		return true
	}
	n, used := 0, map[string]bool{}
	for _, users := range "ROX-" {
		for bits := range 1 << 4 {
			combination := []byte{byte(users), '-', '-', '-', '-'}
			for i, letter := range "PGAC" {
				if bits&(1<<i) != 0 {
					combination[i+1] = byte(letter)
				}
			}
			n++
			p, c := fair.Processor{ExcludeUsers: users == 'X'}, fair.DefaultConfig()
			switch users {
			case 'R', 'X':
				p.Users = fair.Users{"a": true}
			case 'O':
				p.Users = fair.Users{"z": true}
			}
			if combination[1] == 'P' {
				p.Preferred = fair.Users{"a": true}
			}
			if combination[2] == 'G' {
				c.Prohibited = fair.Users{"a": true}
			}
			if combination[3] == 'A' {
				c.Allocation.Of = map[string]int{"a": 0}
			}
			if combination[4] == 'C' {
				c.Concurrency.Of = map[string]int{"a": 0}
			}
			r := ringOf("a1")
			d := r.Grab(c, p)
			why := r.Why(c, []fair.Processor{p}, "a")
			got := string(d.Rule) + string(why) // one of them is empty
			found := 0
			for _, line := range lines {
				if !fits(line.pattern, string(combination)) {
					continue
				}
				found++
				used[line.pattern] = true
				if got != line.outcome {
					t.Errorf("%s: %s, want %s", combination, got, line.outcome)
				}
			}
			if found != 1 {
				t.Errorf("%s fits %d lines", combination, found)
			}
		}
	}
	if n != 64 || len(used) != len(lines) {
		t.Errorf("%d combinations, %d of %d lines fit one", n, len(used), len(lines))
	}
}

// TestWhy: what several processors differ in, and what is the same for all.
func TestWhy(t *testing.T) {
	t.Parallel()
	c := configOf(1)
	r := ringOf("a9 b0 c1 c2 d1 e1")
	_ = r.Apply(r.Grab(c, fair.Processor{Users: fair.ParseUsers("c")}))
	c.Prohibited = fair.ParseUsers("d")
	c.Concurrency.Of = map[string]int{"c": 1}
	small, others := fair.Processor{MaxSize: 5}, fair.Processor{Users: fair.ParseUsers("x")}
	noE := fair.Processor{Users: fair.ParseUsers("e"), ExcludeUsers: true}
	for _, w := range []struct {
		user       string
		processors []fair.Processor
		want       fair.Obstacle
	}{
		{"a", []fair.Processor{small}, fair.ObstacleTooLarge},
		{"a", []fair.Processor{others, small}, fair.ObstacleTooLarge},
		{"a", []fair.Processor{small, {}}, fair.ObstacleNone},
		{"a", nil, fair.ObstacleNoProcessor},
		{"b", []fair.Processor{small}, fair.ObstacleSizeUnknown},
		{"c", []fair.Processor{others, small, {}}, fair.ObstacleConcurrency},
		{"d", []fair.Processor{others, small, {}}, fair.ObstacleProhibited},
		{"e", []fair.Processor{others, noE}, fair.ObstacleExcluded},
		{"e", []fair.Processor{others}, fair.ObstacleNotRequired},
		{"f", []fair.Processor{{}}, fair.ObstacleEmpty},
	} {
		if got := r.Why(c, w.processors, w.user); got != w.want {
			t.Errorf("%s, %+v: %q, want %q", w.user, w.processors, got, w.want)
		}
	}
	c.Suspended = true
	if got := r.Why(c, []fair.Processor{{}}, "e"); got != fair.ObstacleSuspended {
		t.Errorf("suspended: %q", got)
	}
}

// BenchmarkGrab grabs from rings with so many users and waiting deposits. A grab of
// none goes once around all users.
func BenchmarkGrab(b *testing.B) {
	for _, size := range []struct{ users, waiting int }{{1, 100_000}, {100, 100_000}, {10_000, 10_000}, {10_000, 100_000}} {
		r := &fair.Ring{}
		for n := range size.waiting {
			r.Put(fmt.Sprint("user", n%size.users), fair.Deposit{ID: fmt.Sprint(n), Number: int64(n + 1)})
		}
		b.Run(fmt.Sprintf("served/users=%d/waiting=%d", size.users, size.waiting), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				d := r.Grab(wide, fair.Processor{})
				if err := r.Apply(d); err != nil || d.Rule == fair.RuleNone {
					b.Fatal(d, err)
				}
				r.End(d.User, d.Deposit.ID) // returns
				r.Put(d.User, d.Deposit)
			}
		})
		b.Run(fmt.Sprintf("none/users=%d/waiting=%d", size.users, size.waiting), func(b *testing.B) {
			full := wide
			full.Concurrency.Default = 0
			for b.Loop() {
				if d := r.Grab(full, fair.Processor{}); d.Rule != fair.RuleNone {
					b.Fatal(d)
				}
			}
		})
	}
}
