package fair_test

import (
	"slices"

	"github.com/accession-ingest/accession/domain/fair"
)

// reference is the deposit queue as its rules are told: users in a list, a cursor that is
// an index, nothing efficient. It shares no code with Ring but the types that go in.
type reference struct {
	list    []*referenceUser
	cursor  int
	used    int
	lap     int // how many of the list, from its start, are of this lap, 0 = none has begun
	running map[string]int
}

type referenceUser struct {
	name  string
	queue []fair.Deposit // the head first
}

// referenceGrab is what a grab of the reference took.
type referenceGrab struct {
	rule    fair.Rule
	user    string
	deposit fair.Deposit
	emptied bool
}

func (q *reference) put(user string, d fair.Deposit) {
	i := slices.IndexFunc(q.list, func(u *referenceUser) bool { return u.name == user })
	if i < 0 {
		i = len(q.list)
		q.list = append(q.list, &referenceUser{name: user})
	}
	u := q.list[i]
	u.queue = append(u.queue, d)
	slices.SortFunc(u.queue, func(a, b fair.Deposit) int { return int(a.Number - b.Number) })
}

// remove takes a deposit out, and its user when it was the last.
func (q *reference) remove(user, id string) (emptied bool) {
	i := slices.IndexFunc(q.list, func(u *referenceUser) bool { return u.name == user })
	u := q.list[i]
	u.queue = slices.DeleteFunc(u.queue, func(d fair.Deposit) bool { return d.ID == id })
	if len(u.queue) > 0 {
		return false
	}
	if q.cursor == i {
		q.begin()
		q.step()
	}
	q.list = slices.Delete(q.list, i, i+1)
	if q.cursor > i {
		q.cursor--
	}
	if q.lap > i {
		q.lap--
	}
	return true
}

// begin begins a lap if none has begun.
func (q *reference) begin() {
	if q.lap == 0 {
		q.lap = len(q.list)
	}
}

// step moves the cursor on.
func (q *reference) step() {
	if q.cursor, q.used = q.cursor+1, 0; q.cursor >= q.lap {
		q.cursor, q.lap = 0, len(q.list)
	}
}

func (q *reference) grab(c fair.Config, p fair.Processor) (is referenceGrab) {
	if c.Suspended || len(q.list) == 0 {
		return is
	}
	number := func(l fair.Limit, user string) int {
		n, own := l.Of[user]
		if !own {
			n = l.Default
		}
		return n
	}
	ok := func(u *referenceUser) bool {
		head := u.queue[0]
		fits := p.MaxSize == 0 || head.Size != 0 && head.Size <= p.MaxSize
		return q.running[u.name] < number(c.Concurrency, u.name) && fits
	}
	excluded := func(u *referenceUser) bool { return p.ExcludeUsers && p.Users[u.name] }
	take := func(rule fair.Rule, u *referenceUser) referenceGrab {
		d := u.queue[0]
		q.running[u.name]++
		return referenceGrab{rule, u.name, d, q.remove(u.name, d.ID)}
	}
	if len(p.Users) > 0 && !p.ExcludeUsers {
		for _, u := range q.list {
			if p.Users[u.name] && ok(u) {
				return take(fair.RuleRequired, u)
			}
		}
		return is
	}
	for i := range q.list {
		u := q.list[(q.cursor+i)%len(q.list)]
		if p.Preferred[u.name] && !c.Prohibited[u.name] && !excluded(u) && ok(u) {
			return take(fair.RulePreferred, u)
		}
	}
	cursor, used, lap := q.cursor, q.used, q.lap // none writes nothing
	q.begin()
	for range q.lap - q.cursor + len(q.list) {
		u := q.list[q.cursor]
		if !excluded(u) && !c.Prohibited[u.name] && q.used < number(c.Allocation, u.name) && ok(u) {
			if q.used++; q.used == number(c.Allocation, u.name) {
				q.step()
			}
			return take(fair.RuleRoundRobin, u)
		}
		q.step()
	}
	q.cursor, q.used, q.lap = cursor, used, lap
	return is
}

// visited returns the user on whom the cursor stands, "" = none.
func (q *reference) visited() string {
	if len(q.list) == 0 {
		return ""
	}
	return q.list[q.cursor].name
}
