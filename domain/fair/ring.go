package fair

import (
	"cmp"
	"fmt"
	"slices"
)

// Deposit is a deposit in a [Ring].
type Deposit struct {
	ID     string
	Number int64 // its order among those of its user; a deposit that returns keeps it
	Size   int64 // bytes, 0 = unknown
}

// Position is where round robin stands in a ring. The zero Position is that of a ring in
// which nothing was decided.
type Position struct {
	Turn   int64 // counts the decisions that were applied
	Cursor int64 // slot of the user who is visited, 0 = of the first
	Used   int   // deposits taken in this visit
	Lap    int64 // highest slot of this lap, 0 = none has begun: who joins later waits for the next
}

// Ring is one deposit queue. Each user has a first-in-first-out queue of their own. The
// users with waiting deposits stand in a ring, in the order of their slots: who comes
// anew gets the next slot, so joins at the end, and who is emptied leaves.
//
// [Ring.Grab] and [Ring.Park] decide and change nothing; a decision says what to write,
// and [Ring.Apply] brings the ring to the state after it. So the ring of a process can
// follow the decisions of others. The zero Ring is empty.
type Ring struct {
	position Position
	last     int64     // the highest slot that was given
	members  []*member // those in the ring, by slot
	known    map[string]*member
}

// member is a user with waiting or running deposits.
type member struct {
	user    string
	slot    int64 // 0 = not in the ring: nothing waits
	unread  bool  // deposits wait that are not in waiting
	waiting waiting
	running map[string]bool
}

// Rule says by which rule a deposit leaves the ring.
type Rule string

// The rules of a decision.
const (
	RuleNone       Rule = ""            // nothing is decided, nothing is to be written
	RuleRead       Rule = "read"        // the deposits of User are to be read first; see [Ring.Join]
	RuleRequired   Rule = "required"    // grabbed: the processor requires the user
	RulePreferred  Rule = "preferred"   // grabbed: the processor prefers the user
	RuleRoundRobin Rule = "round_robin" // grabbed: the user's turn
	RuleParked     Rule = "parked"      // taken out by an operator
)

// Grabbed reports whether the deposit runs from now on.
func (r Rule) Grabbed() bool {
	return r == RuleRequired || r == RulePreferred || r == RuleRoundRobin
}

// Decision is what is to be written so that a deposit leaves the ring.
type Decision struct {
	Rule    Rule
	User    string
	Slot    int64 // of the user
	Deposit Deposit
	Emptied bool     // it is the last of the user, who leaves the ring
	After   Position // of the ring, when this is applied
}

// Seek moves round robin to a position that was kept, in a ring whose slots up to last
// were given.
func (r *Ring) Seek(p Position, last int64) {
	r.position, r.last = p, max(r.last, last)
}

// Position returns where round robin stands.
func (r *Ring) Position() Position { return r.position }

// Slot returns the slot of a user in the ring; of a user who is not there the one to join
// with, and true.
func (r *Ring) Slot(user string) (slot int64, joins bool) {
	if m := r.known[user]; m != nil && m.slot != 0 {
		return m.slot, false
	}
	return r.last + 1, true
}

// Join puts a user into the ring, at a slot of at least 1, whose deposits are not known
// yet. A decision that depends on them asks for them with [RuleRead]. A user who has
// another slot leaves it.
func (r *Ring) Join(user string, slot int64) {
	if m := r.known[user]; m != nil && m.slot != slot {
		r.leave(m)
	}
	m := r.member(user)
	if m.slot != slot {
		m.slot, r.last = slot, max(r.last, slot)
		i, _ := r.find(slot)
		r.members = slices.Insert(r.members, i, m)
	}
	m.unread = true
}

// Read adds the deposits of a user who is in the ring. From now on all of them are known.
// A user without any leaves.
func (r *Ring) Read(user string, all []Deposit) {
	m := r.known[user]
	if m == nil || m.slot == 0 {
		return
	}
	m.unread = false
	for _, d := range all {
		r.Put(user, d)
	}
	if m.waiting.Len() == 0 {
		if i, at := r.visit(r.position); r.members[i] == m {
			r.position = r.next(m, at, true)
		}
		r.leave(m)
	}
}

// Put adds a deposit to those of its user, in the order of the numbers: a new one comes
// last, one that returns first. A user who is not in the ring joins at its end. Nothing
// happens if the deposit waits, or runs: then the news of its arrival came late.
func (r *Ring) Put(user string, d Deposit) {
	m := r.member(user)
	if m.running[d.ID] || m.waiting.has(d.ID) {
		return
	}
	if m.slot == 0 {
		r.last++
		m.slot, r.members = r.last, append(r.members, m)
	}
	m.waiting.put(d)
}

// Start counts a deposit as running that no decision of this ring started.
func (r *Ring) Start(user, id string) {
	m := r.member(user)
	if m.running == nil {
		m.running = map[string]bool{}
	}
	m.running[id] = true
}

// End frees the place of a running deposit: it was reported or answered, is held, or
// returns to the front; then [Ring.Put] follows, with the number that it had.
func (r *Ring) End(user, id string) {
	if m := r.known[user]; m != nil {
		delete(m.running, id)
		r.forget(m)
	}
}

// SetRunning replaces the deposits of a user that run by those that were found.
func (r *Ring) SetRunning(user string, ids []string) {
	m := r.member(user)
	m.running = map[string]bool{}
	for _, id := range ids {
		m.running[id] = true
	}
	r.forget(m)
}

// Forget drops what is known of the waiting deposits of a user in the ring; they are to be
// read again.
func (r *Ring) Forget(user string) {
	if m := r.known[user]; m != nil && m.slot != 0 {
		m.waiting, m.unread = waiting{}, true
	}
}

// Users returns the users in the ring, in its order.
func (r *Ring) Users() []string {
	users := make([]string, len(r.members))
	for i, m := range r.members {
		users[i] = m.user
	}
	return users
}

// Waiting returns how many deposits of a user wait, of those that are known.
func (r *Ring) Waiting(user string) int {
	if m := r.known[user]; m != nil {
		return m.waiting.Len()
	}
	return 0
}

// Running returns how many deposits of a user run.
func (r *Ring) Running(user string) int {
	if m := r.known[user]; m != nil {
		return len(m.running)
	}
	return 0
}

// Park decides that a waiting deposit leaves without being started. The rule is RuleNone
// if it does not wait.
func (r *Ring) Park(user, id string) Decision {
	m := r.known[user]
	switch {
	case m == nil || m.slot == 0:
		return Decision{}
	case m.unread:
		return Decision{Rule: RuleRead, User: m.user, Slot: m.slot}
	case m.waiting.has(id):
		return r.removal(m, m.waiting.get(id), RuleParked, r.position)
	}
	return Decision{}
}

// removal returns the decision that a deposit of m leaves the ring, which is to stand at p
// then. If the cursor stands on a user who is emptied, it moves to the next.
func (r *Ring) removal(m *member, d Deposit, rule Rule, p Position) Decision {
	is := Decision{Rule: rule, User: m.user, Slot: m.slot, Deposit: d, Emptied: !m.unread && m.waiting.Len() == 1, After: p}
	if i, at := r.visit(p); is.Emptied && r.members[i] == m {
		is.After = r.next(m, at, true)
	}
	is.After.Turn = r.position.Turn + 1
	return is
}

// Apply brings the ring to the state after a decision, of this process or of another. It
// refuses one that was not made for the ring's state; then the ring has to be read again.
func (r *Ring) Apply(d Decision) error {
	m := r.known[d.User]
	switch {
	case d.Rule == RuleNone || d.Rule == RuleRead:
		return nil
	case d.After.Turn != r.position.Turn+1:
		return fmt.Errorf("a decision with turn %d does not follow turn %d", d.After.Turn, r.position.Turn)
	case m == nil || m.slot != d.Slot:
		return fmt.Errorf("turn %d is about user %q in slot %d, who is not there", d.After.Turn, d.User, d.Slot)
	}
	m.waiting.remove(d.Deposit.ID)
	if d.Rule.Grabbed() {
		r.Start(m.user, d.Deposit.ID)
	}
	if d.Emptied {
		r.leave(m)
	} else if m.waiting.Len() == 0 {
		m.unread = true // the other process knew more
	}
	r.position = d.After
	return nil
}

// member returns a user, who is known from now on.
func (r *Ring) member(user string) *member {
	m := r.known[user]
	if m == nil {
		if m = (&member{user: user}); r.known == nil {
			r.known = map[string]*member{}
		}
		r.known[user] = m
	}
	return m
}

// leave takes a user out of the ring.
func (r *Ring) leave(m *member) {
	if i, ok := r.find(m.slot); ok {
		r.members = slices.Delete(r.members, i, i+1)
	}
	m.slot, m.unread, m.waiting = 0, false, waiting{}
	r.forget(m)
}

// forget drops a user of whom nothing waits or runs.
func (r *Ring) forget(m *member) {
	if m.slot == 0 && len(m.running) == 0 {
		delete(r.known, m.user)
	}
}

// find returns the index of the first user whose slot is not lower, and whether it is
// this slot.
func (r *Ring) find(slot int64) (int, bool) {
	return slices.BinarySearchFunc(r.members, slot, func(m *member, slot int64) int { return cmp.Compare(m.slot, slot) })
}

// visit returns the index of the user on whom the cursor stands at p, in a ring that is not
// empty, and p with this user and lap: the first user of the lap from the slot on. Behind
// the last of them the next lap begins, with the first user of the ring.
func (r *Ring) visit(p Position) (int, Position) {
	if p.Lap == 0 {
		p.Lap = r.last
	}
	i, _ := r.find(p.Cursor)
	if i == len(r.members) || r.members[i].slot > p.Lap {
		i, p.Lap = 0, r.last
	}
	if slot := r.members[i].slot; slot != p.Cursor {
		p.Cursor, p.Used = slot, 0
	}
	return i, p
}

// next returns where round robin stands when it steps on from m, who stays or leaves.
func (r *Ring) next(m *member, p Position, leaves bool) Position {
	p.Cursor, p.Used = m.slot+1, 0
	i, p := r.visit(p)
	switch {
	case !leaves || r.members[i] != m: // else m is the first of the ring
	case len(r.members) == 1:
		p.Cursor, p.Lap = 0, 0
	default:
		p.Cursor = r.members[1].slot
	}
	return p
}
