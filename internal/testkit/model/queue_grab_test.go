package model_test

import (
	"strings"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// rules are the names that package fair has for the rules.
var rules = []fair.Rule{fair.RuleNone, fair.RuleRequired, fair.RulePreferred, fair.RuleRoundRobin}

// grab lets a processor of one of the queues grab.
func (w *world) grab() {
	w.queues[[]string{fair.QueueMetadata, fair.QueueQuery}[w.r.IntN(2)]].grab(w.criteria())
}

// criteria chooses what a processor asks for; half of them ask for nothing.
func (w *world) criteria() (c criteria) {
	if w.r.IntN(3) == 0 {
		c.size = 1 + w.r.Int64N(120)
	}
	switch w.r.IntN(6) {
	case 0:
		c.users = w.list()
	case 1:
		c.users, c.exclude = w.list(), true
	case 2:
		c.exclude = true // of none
	}
	if w.r.IntN(3) == 0 {
		c.preferred = w.list()
	}
	return c
}

// list writes some users down, separated by spaces or commas.
func (w *world) list() string {
	var b strings.Builder
	separator := func() string { return []string{" ", ",", ", ", " ,, "}[w.r.IntN(4)] }
	if w.r.IntN(8) == 0 {
		b.WriteString(separator())
	}
	for user := range w.some() {
		b.WriteString(user + separator())
	}
	return b.String()
}

// grab lets a processor grab, decided by one of the processes and by the model.
func (q *queue) grab(c criteria) (model.Deposit, bool) {
	config, processor := q.config(), c.processor()
	by := q.r.IntN(len(q.processes))
	p := q.processes[by]
	q.prepare(p)
	d := q.decide(p, func() fair.Decision { return p.ring.Grab(config, processor) })
	served := q.servable(c)
	want, rule := q.model.Grab(c.model())
	q.did("%s: process %d grabs %+v: %s of %s by rule %q", q.name, by, c, want.ID, want.User, rules[rule])
	if d.Rule != rules[rule] || rule > 0 && (d.User != want.User || d.Deposit != plain(want)) {
		q.fail("the decision is %+v, the model says %+v by rule %q", d, want, rules[rule])
	}
	if rule == 0 {
		if len(served) > 0 {
			q.fail("nothing is grabbed, and %v may be served", served)
		}
		q.n.none++
		q.same(q.user())
		return want, false
	}
	q.n.grabs[rule]++
	q.taken(want)
	q.apply(d)
	q.same(want.User)
	return want, true
}

// taken holds a grab against the properties that every choice has.
func (q *queue) taken(d model.Deposit) {
	r := q.records[d.ID]
	if r == nil || r.state != waiting {
		q.fail("%s is grabbed and does not wait: %+v", d.ID, r)
	}
	r.state = running
	for _, other := range q.model.Waiting[d.User] {
		if other.Number < d.Number {
			q.fail("%s overtakes %s", d.ID, other.ID)
		}
	}
	limit, own := q.model.Concurrencies[d.User]
	if !own {
		limit = q.model.Concurrency
	}
	if n := len(q.model.Running[d.User]); n > limit {
		q.fail("%d of %s run, more than %d", n, d.User, limit)
	}
}

// servable returns the users whom a processor may be served a deposit of, now or when it
// is their turn. It knows nothing of lists and cursors.
func (q *queue) servable(c criteria) (users []string) {
	m := c.model()
	for _, user := range q.users {
		all := q.model.Waiting[user]
		if q.model.Suspended || len(all) == 0 || len(q.model.Running[user]) >= q.model.ConcurrencyOf(user) {
			continue
		}
		if c.size > 0 && (all[0].Size == 0 || all[0].Size > c.size) {
			continue
		}
		serves := q.model.AllocationOf(user) > 0 || m.Preferred[user]
		serves = serves && !q.model.Prohibited[user] && !m.Excluded[user]
		if len(m.Required) > 0 {
			serves = m.Required[user]
		}
		if serves {
			users = append(users, user)
		}
	}
	return users
}

// why compares the obstacle that is named for each user with what may be served, and
// with whether it is there.
func (q *queue) why(c criteria) {
	p := q.processes[q.r.IntN(len(q.processes))]
	q.did("%s: why not, for %+v", q.name, c)
	p.hear("")
	served := map[string]bool{}
	for _, user := range q.servable(c) {
		served[user] = true
	}
	m := c.model()
	for _, user := range q.users {
		waits, runs, limit := len(q.model.Waiting[user]), len(q.model.Running[user]), q.model.ConcurrencyOf(user)
		var head model.Deposit
		if waits > 0 {
			head = q.model.Waiting[user][0]
		}
		there := map[fair.Obstacle]bool{
			fair.ObstacleNone:            served[user],
			fair.ObstacleUnread:          p.unread[user],
			fair.ObstacleConcurrency:     limit > 0 && runs >= limit,
			fair.ObstacleTooLarge:        c.size > 0 && head.Size > c.size,
			fair.ObstacleSizeUnknown:     c.size > 0 && head.Size == 0,
			fair.ObstacleConcurrencyZero: limit == 0,
			fair.ObstacleAllocationZero:  q.model.AllocationOf(user) == 0 && !m.Required[user] && (!m.Preferred[user] || q.model.Prohibited[user] || m.Excluded[user]),
			fair.ObstacleProhibited:      q.model.Prohibited[user] && !m.Required[user],
			fair.ObstacleExcluded:        m.Excluded[user],
			fair.ObstacleNotRequired:     len(m.Required) > 0 && !m.Required[user],
			fair.ObstacleSuspended:       q.model.Suspended,
			fair.ObstacleEmpty:           waits == 0,
		}
		got := p.ring.Why(q.config(), []fair.Processor{c.processor()}, user)
		if !there[got] || served[user] && got != fair.ObstacleNone && got != fair.ObstacleUnread {
			q.fail("%s is not served by %+v because of %q, may be served: %t", user, c, got, served[user])
		}
	}
	if got := p.ring.Why(q.config(), nil, q.user()); !q.model.Suspended && got != fair.ObstacleNoProcessor && got != fair.ObstacleEmpty {
		q.fail("without processors the obstacle is %q", got)
	}
}

// configure changes a setting, as operators do while the queues are served.
func (w *world) configure(q *queue) {
	zeroes := w.r.IntN(4) == 0 // seldom, so that the queues move
	limit := func(most int) int {
		if zeroes {
			return 0
		}
		return 1 + w.r.IntN(most)
	}
	m, user := q.model, w.user()
	switch w.r.IntN(8) {
	case 0:
		m.Suspended = !m.Suspended && w.r.IntN(2) == 0
	case 1: // the same in both queues
		prohibited := w.some()
		if w.r.IntN(2) == 0 {
			clear(prohibited)
		}
		for _, each := range w.queues {
			each.model.Prohibited = prohibited
		}
	case 2:
		m.Allocation = limit(5)
	case 3:
		m.Allocations[user] = limit(5)
	case 4:
		delete(m.Allocations, user)
	case 5:
		m.Concurrency = limit(6)
	case 6:
		m.Concurrencies[user] = limit(6)
	case 7:
		delete(m.Concurrencies, user)
	}
	w.did("%s: %+v", q.name, q.config())
	q.check()
}

// open removes all limits.
func (q *queue) open() {
	q.model.Suspended, q.model.Prohibited = false, map[string]bool{}
	q.model.Allocation, q.model.Concurrency = 1, 5
	clear(q.model.Allocations)
	clear(q.model.Concurrencies)
	q.did("%s: open", q.name)
}
