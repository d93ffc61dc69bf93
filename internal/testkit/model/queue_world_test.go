package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// state is where a deposit is, noted by the test itself.
type state string

const (
	waiting state = "waiting"
	running state = "running"
	parked  state = "parked"
	ended   state = "ended"
)

type record struct {
	model.Deposit
	state state
}

// process is one that serves a queue: a ring of its own, which hears of what others do.
type process struct {
	ring    *fair.Ring
	unread  map[string]bool // users whose deposits it has not read yet
	unheard []model.Deposit // that arrived, what it has not heard of yet
}

func newProcess() *process { return &process{ring: &fair.Ring{}, unread: map[string]bool{}} }

// hear brings it the news that are late: of one deposit, or of all ("").
func (p *process) hear(id string) {
	p.unheard = slices.DeleteFunc(p.unheard, func(d model.Deposit) bool {
		is := id == "" || d.ID == id
		if is {
			p.ring.Put(d.User, plain(d))
		}
		return is
	})
}

// queue is one queue: the model, and the rings of some processes.
type queue struct {
	*world
	name      string
	model     *model.Queue
	processes []*process
	records   map[string]*record
	position  fair.Position // as it is kept
	previous  *fair.Decision
}

// criteria are what a processor asks for, as a person writes it.
type criteria struct {
	size             int64
	users, preferred string
	exclude          bool
}

func newQueue(w *world, name string) *queue {
	q := &queue{world: w, name: name, model: model.NewQueue(), records: map[string]*record{}}
	for range 1 + w.r.IntN(3) {
		q.processes = append(q.processes, newProcess())
	}
	return q
}

// in returns the deposits in a state, in the order of their numbers.
func (q *queue) in(s state) (all []model.Deposit) {
	for _, r := range q.records {
		if r.state == s {
			all = append(all, r.Deposit)
		}
	}
	slices.SortFunc(all, func(a, b model.Deposit) int { return int(a.Number - b.Number) })
	return all
}

// one chooses a deposit in a state.
func (q *queue) one(s state) (model.Deposit, bool) {
	all := q.in(s)
	if len(all) == 0 {
		return model.Deposit{}, false
	}
	return all[q.r.IntN(len(all))], true
}

func plain(d model.Deposit) fair.Deposit {
	return fair.Deposit{ID: d.ID, Number: d.Number, Size: d.Size}
}

func (q *queue) put() {
	d := model.Deposit{User: q.user(), Number: q.next()}
	d.ID = fmt.Sprintf("%s%d", q.name[:1], d.Number)
	if q.r.IntN(8) > 0 {
		d.Size = 1 + q.r.Int64N(100)
	}
	q.records[d.ID] = &record{Deposit: d}
	q.arrive(d)
}

// arrive lets a deposit wait.
func (q *queue) arrive(d model.Deposit) {
	joins := len(q.model.Waiting[d.User]) == 0
	for i, p := range q.processes {
		slot, anew := p.ring.Slot(d.User)
		if anew != joins || joins && slot != q.model.Joined+1 {
			q.fail("process %d: %s joins = %t at slot %d, the model says %t, %d", i, d.User, anew, slot, joins, q.model.Joined+1)
		}
		if !joins && q.r.IntN(3) == 0 {
			p.unheard = append(p.unheard, d)
			continue
		}
		p.ring.Put(d.User, plain(d))
	}
	q.model.Put(d)
	q.records[d.ID].state = waiting
	q.did("%s: put %s of %s, size %d", q.name, d.ID, d.User, d.Size)
	q.same(d.User)
}

func (q *queue) end() {
	if d, ok := q.one(running); ok {
		q.ended(d)
	}
}

func (q *queue) ended(d model.Deposit) {
	for _, p := range q.processes {
		p.hear(d.ID)
		p.ring.End(d.User, d.ID)
		if q.r.IntN(8) == 0 {
			p.ring.End(d.User, d.ID) // what comes twice frees no second place
		}
	}
	q.model.End(d)
	q.records[d.ID].state = ended
	q.did("%s: end %s of %s", q.name, d.ID, d.User)
	q.same(d.User)
}

// comeBack returns a running deposit to the front.
func (q *queue) comeBack() {
	if d, ok := q.one(running); ok {
		q.ended(d)
		q.arrive(d)
	}
}

func (q *queue) unpark() {
	if d, ok := q.one(parked); ok {
		q.arrive(d)
	}
}

func (q *queue) park() {
	d, ok := q.one(waiting)
	if !ok {
		return
	}
	q.did("%s: park %s of %s", q.name, d.ID, d.User)
	by := q.processes[q.r.IntN(len(q.processes))]
	by.hear("")
	decision := q.decide(by, func() fair.Decision { return by.ring.Park(d.User, d.ID) })
	if decision.Rule != fair.RuleParked || decision.User != d.User || decision.Deposit != plain(d) {
		q.fail("to park %v is decided as %+v", d, decision)
	}
	q.model.Park(d)
	q.records[d.ID].state = parked
	q.apply(decision)
	q.same(d.User)
}

// late lets news of an arrival come late: the deposit waits already, or runs.
func (q *queue) late() {
	for _, s := range []state{waiting, running} {
		if d, ok := q.one(s); ok {
			q.did("%s: %s of %s, which is %s, arrives again", q.name, d.ID, d.User, s)
			for _, p := range q.processes {
				if !p.unread[d.User] || s == running {
					p.ring.Put(d.User, plain(d))
				}
			}
			q.same(d.User)
		}
	}
}

// restart lets a process begin anew from what is kept.
func (q *queue) restart() {
	q.n.restarts++
	i := q.r.IntN(len(q.processes))
	q.did("%s: process %d starts again", q.name, i)
	p := newProcess()
	start := func() {
		for _, d := range q.in(running) {
			p.ring.Start(d.User, d.ID)
		}
	}
	first := q.r.IntN(2) == 0
	if first {
		start()
	}
	for i, user := range q.model.Users {
		p.ring.Join(user, q.model.Slots[i])
		p.unread[user] = true
	}
	p.ring.Seek(q.position, q.model.Joined)
	if !first {
		start()
	}
	q.processes[i] = p
	q.check()
}

// decide asks a process for a decision, and lets it read what it wants for that.
func (q *queue) decide(p *process, ask func() fair.Decision) fair.Decision {
	for {
		d := ask()
		if d.Rule != fair.RuleRead {
			return d
		}
		if !p.unread[d.User] {
			q.fail("the deposits of %s are to be read again", d.User)
		}
		delete(p.unread, d.User)
		var all []fair.Deposit
		for _, w := range q.model.Waiting[d.User] {
			all = append(all, plain(w))
		}
		q.r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		p.ring.Read(d.User, all)
	}
}

// prepare brings a process those of the late news without which it would decide something
// else. It does without the others: it reads the deposits of their users anyway, or knows
// the first two of them.
func (q *queue) prepare(p *process) {
	for _, d := range slices.Clone(p.unheard) {
		if !p.unread[d.User] && (p.ring.Waiting(d.User) < 2 || q.model.Waiting[d.User][0].Number >= d.Number) {
			p.hear(d.ID)
		}
	}
}

// apply brings a decision, which the model has followed, to all processes. Sometimes it
// arrives twice, or one from before it arrives again.
func (q *queue) apply(d fair.Decision) {
	q.position = d.After
	for i, p := range q.processes {
		if d.Rule == fair.RuleParked {
			p.hear(d.Deposit.ID) // an arrival that is heard of after the removal would be a new one
		}
		if err := p.ring.Apply(d); err != nil {
			q.fail("process %d: %v", i, err)
		}
		if len(q.model.Waiting[d.User]) == 0 {
			delete(p.unread, d.User)
		} else if p.ring.Waiting(d.User) == 0 {
			p.unread[d.User] = true // of what waits it has heard nothing yet
		}
		for _, old := range []*fair.Decision{q.previous, &d} {
			if old == nil || q.r.IntN(16) > 0 {
				continue
			}
			if err := p.ring.Apply(*old); err == nil {
				q.fail("process %d applies an old decision: %+v", i, *old)
			}
			q.n.stale++
		}
	}
	if emptied := len(q.model.Waiting[d.User]) == 0; d.Emptied != emptied {
		q.fail("%s is emptied: %t, the model says %t", d.User, d.Emptied, emptied)
	}
	q.previous = &d
}

// same compares what is known of a user, and where round robin stands.
func (q *queue) same(user string) {
	for i, p := range q.processes {
		if n, want := p.ring.Running(user), len(q.model.Running[user]); n != want {
			q.fail("process %d: %d of %s run, the model says %d", i, n, user, want)
		}
		n, want := p.ring.Waiting(user), len(q.model.Waiting[user])
		if whole := !p.unread[user] && len(p.unheard) == 0; n > want || whole && n < want {
			q.fail("process %d: %d of %s wait, the model says %d", i, n, user, want)
		}
		at := p.ring.Position()
		if at.Turn != q.model.Turn {
			q.fail("process %d: turn %d, the model says %d", i, at.Turn, q.model.Turn)
		}
		q.sameLap(i, at)
	}
}

// sameLap compares the cursor of a process, and who is of the lap.
func (q *queue) sameLap(i int, at fair.Position) {
	if at.Lap > q.model.Joined || (at.Lap == 0) != (q.model.Lap == nil) {
		q.fail("process %d: %+v, the model says that %v are of the lap, and that the last slot is %d", i, at, q.model.Lap, q.model.Joined)
	}
	for k, user := range q.model.Users {
		if of := q.model.Slots[k] <= at.Lap; of != q.model.Lap[user] {
			q.fail("process %d: %+v, so %s at slot %d is of the lap: %t", i, at, user, q.model.Slots[k], of)
		}
	}
	if len(q.model.Users) == 0 {
		return
	}
	if at.Cursor == 0 {
		at.Cursor = q.model.Slots[0]
	}
	if slot := q.model.Slots[q.model.Cursor]; at.Used != q.model.Used || at.Cursor != slot {
		q.fail("process %d: %+v, the model says slot %d (%s), used %d", i, at, slot, q.model.Users[q.model.Cursor], q.model.Used)
	}
}

// check compares all of a queue, also with the notes of the test.
func (q *queue) check() {
	for _, p := range q.processes {
		p.hear("")
	}
	count := map[string]map[state]int{}
	for _, r := range q.records {
		if count[r.User] == nil {
			count[r.User] = map[state]int{}
		}
		count[r.User][r.state]++
	}
	for _, user := range q.users {
		if n := len(q.model.Waiting[user]); n != count[user][waiting] {
			q.fail("%d of %s wait in the model, %d should", n, user, count[user][waiting])
		}
		if n := len(q.model.Running[user]); n != count[user][running] {
			q.fail("%d of %s run in the model, %d should", n, user, count[user][running])
		}
		q.same(user)
	}
}

// config returns the settings as package fair takes them.
func (q *queue) config() fair.Config {
	return fair.Config{
		Suspended:   q.model.Suspended,
		Prohibited:  maps.Clone(q.model.Prohibited),
		Allocation:  fair.Limit{Default: q.model.Allocation, Of: maps.Clone(q.model.Allocations)},
		Concurrency: fair.Limit{Default: q.model.Concurrency, Of: maps.Clone(q.model.Concurrencies)},
	}
}

func (c criteria) processor() fair.Processor {
	return fair.Processor{MaxSize: c.size, Users: fair.ParseUsers(c.users), ExcludeUsers: c.exclude, Preferred: fair.ParseUsers(c.preferred)}
}

func (c criteria) model() model.Criteria {
	set := func(list string) map[string]bool {
		users := map[string]bool{}
		for _, user := range strings.Split(strings.ReplaceAll(list, " ", ","), ",") {
			if user != "" {
				users[user] = true
			}
		}
		return users
	}
	m := model.Criteria{MaxSize: c.size, Preferred: set(c.preferred)}
	if c.exclude {
		m.Excluded = set(c.users)
	} else {
		m.Required = set(c.users)
	}
	return m
}
