package fair_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain/fair"
)

// failing is what steps need of a test.
type failing interface {
	Helper()
	Fatalf(format string, args ...any)
}

// steps does random steps to a ring and to the reference, and keeps its own ledger of
// where each deposit is.
type steps struct {
	choose    func(n int) int // one of 0..n-1
	ring      fair.Ring
	reference reference
	config    fair.Config
	number    int64
	deposits  map[string]*ledgerLine   // by id
	places    map[string][]*ledgerLine // by place, in the order of the numbers
	rules     map[fair.Rule]int        // how often each was applied
}

type ledgerLine struct {
	fair.Deposit
	user  string
	where string // waiting, running, parked or done
}

// ringUsers are the users of the steps.
var ringUsers = []string{"ana", "ben", "cleo", "dov", "eve"}

func newSteps(choose func(n int) int) *steps {
	return &steps{choose: choose, config: fair.DefaultConfig(), reference: reference{running: map[string]int{}},
		deposits: map[string]*ledgerLine{}, places: map[string][]*ledgerLine{}, rules: map[fair.Rule]int{}}
}

func (s *steps) user() string { return ringUsers[s.choose(len(ringUsers))] }

func (s *steps) users() fair.Users {
	if s.choose(2) == 0 {
		return nil
	}
	users := fair.Users{}
	for _, user := range ringUsers {
		if s.choose(3) == 0 {
			users[user] = true
		}
	}
	return users
}

func (s *steps) limit() fair.Limit {
	l := fair.Limit{Default: s.choose(4), Of: map[string]int{}}
	for range s.choose(3) {
		l.Of[s.user()] = s.choose(4)
	}
	return l
}

// in returns the lines of the ledger in a place, in the order of their numbers.
func (s *steps) in(where string) []*ledgerLine { return s.places[where] }

// any returns one of the lines in a place, nil = there is none.
func (s *steps) any(where string) *ledgerLine {
	all := s.in(where)
	if len(all) == 0 {
		return nil
	}
	return all[s.choose(len(all))]
}

// move notes where a deposit is now; of what is done nothing is kept.
func (s *steps) move(line *ledgerLine, where string) {
	find := func(all []*ledgerLine) (int, bool) {
		return slices.BinarySearchFunc(all, line.Number, func(l *ledgerLine, number int64) int { return int(l.Number - number) })
	}
	if i, ok := find(s.places[line.where]); ok {
		s.places[line.where] = slices.Delete(s.places[line.where], i, i+1)
	}
	if line.where = where; where == "done" {
		delete(s.deposits, line.ID)
		return
	}
	i, _ := find(s.places[where])
	s.places[where], s.deposits[line.ID] = slices.Insert(s.places[where], i, line), line
}

// maxInLedger bounds the steps' cost, not the rules.
const maxInLedger = 30

// step does one step and compares.
func (s *steps) step(t failing) {
	switch n := s.choose(20); {
	case n < 6:
		s.arrive()
	case n < 13:
		s.grab(t, fair.Processor{MaxSize: int64(s.choose(2) * s.choose(4)), Users: s.users(), ExcludeUsers: s.choose(2) == 0, Preferred: s.users()})
	case n < 15:
		s.end(s.any("running"), "done")
	case n == 15:
		if line := s.any("running"); line != nil { // return to the front
			s.end(line, "waiting")
			s.ring.Put(line.user, line.Deposit)
			s.reference.put(line.user, line.Deposit)
		}
	case n == 16:
		s.park(t)
	case n == 17:
		s.config.Suspended, s.config.Prohibited = s.choose(4) == 0, s.users()
	case n == 18:
		s.config.Allocation, s.config.Concurrency = s.limit(), s.limit()
	default:
		s.restart(t)
	}
	s.agree(t)
}

func (s *steps) arrive() {
	if len(s.in("waiting")) >= maxInLedger {
		return
	}
	line := s.any("parked") // unparked: with its old number
	if line == nil || s.choose(3) > 0 && len(s.in("parked")) < maxInLedger {
		s.number++
		line = &ledgerLine{Deposit: fair.Deposit{ID: fmt.Sprint("d", s.number), Number: s.number, Size: int64(s.choose(4))}, user: s.user()}
	}
	s.move(line, "waiting")
	s.ring.Put(line.user, line.Deposit)
	s.ring.Put(line.user, line.Deposit) // news may come twice
	s.reference.put(line.user, line.Deposit)
}

func (s *steps) end(line *ledgerLine, where string) {
	if line == nil {
		return
	}
	s.move(line, where)
	s.ring.Put(line.user, line.Deposit) // late news of its arrival
	s.ring.End(line.user, line.ID)
	s.ring.End(line.user, line.ID)
	s.reference.running[line.user]--
}

func (s *steps) park(t failing) {
	t.Helper()
	line := s.any("waiting")
	if line == nil {
		return
	}
	d := s.ring.Park(line.user, line.ID)
	if d.Rule == fair.RuleRead {
		s.read(d)
		d = s.ring.Park(line.user, line.ID)
	}
	if d.Rule != fair.RuleParked || d.Deposit != line.Deposit || d.User != line.user {
		t.Fatalf("parked %+v instead of %+v", d, line)
	}
	s.move(line, "parked")
	if emptied := s.reference.remove(line.user, line.ID); emptied != d.Emptied {
		t.Fatalf("%+v, and emptied is %v", d, emptied)
	}
	s.apply(t, d)
}

// read hands the ring the deposits that it asks for.
func (s *steps) read(d fair.Decision) {
	var all []fair.Deposit
	for _, line := range s.in("waiting") {
		if line.user == d.User {
			all = append(all, line.Deposit)
		}
	}
	s.ring.Read(d.User, all)
}

func (s *steps) apply(t failing, d fair.Decision) {
	t.Helper()
	if err := s.ring.Apply(d); err != nil {
		t.Fatalf("%v", err)
	}
	if err := s.ring.Apply(d); err == nil {
		t.Fatalf("%+v was applied twice", d)
	}
	s.rules[d.Rule]++
}

func (s *steps) grab(t failing, p fair.Processor) {
	t.Helper()
	was := s.ring.Position()
	d := s.ring.Grab(s.config, p)
	for d.Rule == fair.RuleRead {
		s.read(d)
		d = s.ring.Grab(s.config, p)
	}
	if s.ring.Position() != was {
		t.Fatalf("a decision moved the ring from %+v to %+v", was, s.ring.Position())
	}
	served := map[string]bool{} // by Why
	for _, user := range ringUsers {
		served[user] = s.ring.Why(s.config, []fair.Processor{p}, user) == fair.ObstacleNone
	}
	running := s.reference.running[d.User]
	want := s.reference.grab(s.config, p)
	if got := (referenceGrab{d.Rule, d.User, d.Deposit, d.Emptied}); got != want {
		t.Fatalf("grabbed %+v, the reference %+v", got, want)
	}
	if d.Rule == fair.RuleNone {
		for user, is := range served {
			if is {
				t.Fatalf("nothing is grabbed, and nothing keeps %s from being served", user)
			}
		}
		return
	}
	line := s.deposits[d.Deposit.ID]
	switch {
	case line == nil || line.where != "waiting" || line.user != d.User:
		t.Fatalf("grabbed %+v, which is %+v", d, line)
	case !served[d.User]:
		t.Fatalf("grabbed %+v in spite of %s", d, s.ring.Why(s.config, []fair.Processor{p}, d.User))
	case running >= s.config.Concurrency.For(d.User):
		t.Fatalf("%s has %d running before the grab, of %d", d.User, running, s.config.Concurrency.For(d.User))
	}
	for _, other := range s.in("waiting") {
		if other.user == d.User && other.Number < line.Number {
			t.Fatalf("%s came before %s of the same user", line.ID, other.ID)
		}
	}
	s.move(line, "running")
	s.apply(t, d)
}

// restart makes the ring again from what is kept of it: who stands where, what runs, and
// the position. Deposits are read when they are asked for.
func (s *steps) restart(t failing) {
	t.Helper()
	var again fair.Ring
	last := int64(0)
	for _, user := range ringUsers {
		slot, joins := s.ring.Slot(user)
		if joins {
			last = slot - 1 // the same for all who would join
			continue
		}
		again.Join(user, slot)
	}
	again.Seek(s.ring.Position(), last)
	for _, line := range s.in("running") {
		again.Start(line.user, line.ID)
	}
	s.ring = again
}

// agree compares the ring with the reference and with the ledger.
func (s *steps) agree(t failing) {
	t.Helper()
	waiting, running := map[string]int{}, map[string]int{}
	for _, line := range s.in("waiting") {
		waiting[line.user]++
	}
	for _, line := range s.in("running") {
		running[line.user]++
	}
	order := map[int64]string{}
	for _, user := range ringUsers {
		slot, joins := s.ring.Slot(user)
		if joins != (waiting[user] == 0) {
			t.Fatalf("%s has %d waiting, and would join: %v", user, waiting[user], joins)
		}
		if !joins {
			order[slot] = user
		}
		if got := s.ring.Running(user); got != running[user] || got != s.reference.running[user] {
			t.Fatalf("%d of %s run, not %d or %d", got, user, running[user], s.reference.running[user])
		}
		if why := s.ring.Why(s.config, nil, user); (why == fair.ObstacleEmpty) != joins {
			t.Fatalf("%s is not served because %s, with %d waiting", user, why, waiting[user])
		}
	}
	slots := slices.Sorted(maps.Keys(order))
	for i, u := range s.reference.list {
		if i >= len(slots) || order[slots[i]] != u.name {
			t.Fatalf("the users stand as %v, not as %v", order, s.reference.list)
		}
	}
	p := s.ring.Position()
	visited := ""
	if len(slots) > 0 {
		i := slices.IndexFunc(slots, func(slot int64) bool { return slot >= p.Cursor })
		visited = order[slots[max(i, 0)]]
	}
	lap := 0
	for _, slot := range slots {
		if slot <= p.Lap {
			lap++
		}
	}
	if lap != s.reference.lap || len(slots) == 0 && p.Lap != 0 {
		t.Fatalf("the lap of %+v has %d users of slots %v, that of the reference %d", p, lap, slots, s.reference.lap)
	}
	if visited != s.reference.visited() || p.Used != s.reference.used {
		t.Fatalf("the cursor stands on %q with %d used, that of the reference on %q with %d", visited, p.Used, s.reference.visited(), s.reference.used)
	}
}

// drain opens the queue and grabs what waits: each deposit comes once.
func (s *steps) drain(t failing) {
	t.Helper()
	s.config = fair.DefaultConfig()
	for left := len(s.in("waiting")); left > 0; left-- {
		for len(s.in("running")) > 0 {
			s.end(s.in("running")[0], "done")
		}
		s.grab(t, fair.Processor{})
	}
	if left := s.in("waiting"); len(left) > 0 {
		t.Fatalf("%d deposits are lost, %s first", len(left), left[0].ID)
	}
}

// The ring decides as the reference does, whatever happens before: nothing is handed out
// twice or lost, no user runs more than the concurrency, each user is served first in,
// first out, and nothing is grabbed only when every user has an obstacle.
func TestRingIsTheReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newSteps(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") })
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			s.step(t)
		}
		s.drain(t)
	})
}

// The same for very many steps, in which each rule decides often.
func TestRingIsTheReferenceForLong(t *testing.T) {
	t.Parallel()
	state := uint64(1)
	s := newSteps(func(n int) int {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		return int(state % uint64(n))
	})
	for range manySteps {
		s.step(t)
	}
	s.drain(t)
	for _, rule := range []fair.Rule{fair.RuleRequired, fair.RulePreferred, fair.RuleRoundRobin, fair.RuleParked} {
		if s.rules[rule] < manySteps/100 {
			t.Errorf("in %d steps %s decided %d times", manySteps, rule, s.rules[rule])
		}
	}
}

const manySteps = 100_000

func FuzzRing(f *testing.F) {
	f.Add([]byte("0123456789"))
	f.Add([]byte("\x00\x00\x00\x00\x06\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, choices []byte) {
		s := newSteps(func(n int) int {
			if len(choices) == 0 {
				return 0
			}
			c := int(choices[0]) % n
			choices = choices[1:]
			return c
		})
		for range 1000 {
			if len(choices) == 0 {
				break
			}
			s.step(t)
		}
		s.drain(t)
	})
}
