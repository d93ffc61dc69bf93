// Package simulate serves deposits in virtual time, by the rules of package fair and
// first in, first out, so that the two can be compared before a limit is changed. It
// reads no clock and has no chance of its own: the same arrivals have the same outcome.
package simulate

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
	"time"

	"github.com/accession-ingest/accession/domain/fair"
)

// Arrival is a deposit that arrives.
type Arrival struct {
	User    string
	At      time.Duration // since the start
	Service time.Duration // how long it takes a server
	Size    int64         // bytes, 0 = unknown
	// Waited is how long it really waited until it was grabbed, if Grabbed.
	Grabbed bool
	Waited  time.Duration
}

// Waits are percentiles of how long deposits waited until they were served, by nearest
// rank.
type Waits struct {
	P50, P95, P99, Max time.Duration
}

// User is how long the deposits of a user waited under both rules, and how long those that
// were grabbed really waited.
type User struct {
	Name                  string
	Deposits              int
	Fair                  Waits
	FIFO                  Waits
	Grabbed               int
	Actual                Waits // of those that were grabbed
	fair, inOrder, really []time.Duration
}

// Comparison has the users with the most deposits first.
type Comparison struct {
	Users []User
	All   User          // all deposits as if they were of one user; Name is ""
	End   time.Duration // until the last deposit was served by the rules of package fair
}

// Compare serves the arrivals under both rules with so many servers, at least 1. A
// configuration under which a deposit is never served is an error.
func Compare(arrivals []Arrival, servers int, c fair.Config) (Comparison, error) {
	arrivals = slices.Clone(arrivals)
	slices.SortStableFunc(arrivals, func(a, b Arrival) int { return cmp.Compare(a.At, b.At) })
	turns, end := serve(arrivals, servers, &inTurn{config: c, arrivals: arrivals, index: map[string]int{}})
	inOrder, _ := serve(arrivals, servers, &inOrder{})
	of := map[string]*User{}
	var out Comparison
	out.End = end
	for i, a := range arrivals {
		if turns[i] < 0 {
			return out, fmt.Errorf("the deposits of %s are never served: give the user an allocation and a concurrency of at least 1", a.User)
		}
		u := of[a.User]
		if u == nil {
			u = &User{Name: a.User}
			of[a.User] = u
		}
		for _, u := range []*User{u, &out.All} {
			u.Deposits++
			u.fair, u.inOrder = append(u.fair, turns[i]), append(u.inOrder, inOrder[i])
			if a.Grabbed {
				u.Grabbed++
				u.really = append(u.really, a.Waited)
			}
		}
	}
	out.All.count()
	for _, u := range of {
		u.count()
		out.Users = append(out.Users, *u)
	}
	slices.SortFunc(out.Users, func(a, b User) int {
		return cmp.Or(cmp.Compare(b.Deposits, a.Deposits), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// count makes the percentiles.
func (u *User) count() {
	u.Fair, u.FIFO, u.Actual = waitsOf(u.fair), waitsOf(u.inOrder), waitsOf(u.really)
	u.fair, u.inOrder, u.really = nil, nil, nil
}

func waitsOf(all []time.Duration) Waits {
	if len(all) == 0 {
		return Waits{}
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)*percent+99)/100-1] }
	return Waits{at(50), at(95), at(99), at(100)}
}

// queue is what waits, by the index of the arrival.
type queue interface {
	put(i int)
	next() (i int, ok bool)
	end(i int)
}

// serve returns how long each arrival waited, -1 = it was never served, and when the
// last one ended.
func serve(arrivals []Arrival, servers int, q queue) (waited []time.Duration, now time.Duration) {
	waited = make([]time.Duration, len(arrivals))
	for i := range waited {
		waited[i] = -1
	}
	var busy running
	for arrived := 0; arrived < len(arrivals) || len(busy) > 0; {
		if len(busy) > 0 && (arrived == len(arrivals) || busy[0].ends <= arrivals[arrived].At) {
			done := heap.Pop(&busy).(service)
			now = done.ends
			q.end(done.arrival)
		} else {
			now = arrivals[arrived].At
			q.put(arrived)
			arrived++
		}
		for len(busy) < servers {
			i, ok := q.next()
			if !ok {
				break
			}
			waited[i] = now - arrivals[i].At
			heap.Push(&busy, service{now + arrivals[i].Service, i})
		}
	}
	return waited, now
}

// inTurn is the deposit queue.
type inTurn struct {
	ring     fair.Ring
	config   fair.Config
	arrivals []Arrival
	index    map[string]int // of what waits, by id
}

func (q *inTurn) put(i int) {
	id := fmt.Sprint(i)
	q.index[id] = i
	q.ring.Put(q.arrivals[i].User, fair.Deposit{ID: id, Number: int64(i) + 1, Size: q.arrivals[i].Size})
}

func (q *inTurn) next() (int, bool) {
	if len(q.index) == 0 {
		return 0, false
	}
	d := q.ring.Grab(q.config, fair.Processor{})
	if !d.Rule.Grabbed() || q.ring.Apply(d) != nil {
		return 0, false
	}
	i := q.index[d.Deposit.ID]
	delete(q.index, d.Deposit.ID)
	return i, true
}

func (q *inTurn) end(i int) { q.ring.End(q.arrivals[i].User, fmt.Sprint(i)) }

// inOrder is first in, first out.
type inOrder struct{ waiting []int }

func (q *inOrder) put(i int) { q.waiting = append(q.waiting, i) }

func (q *inOrder) next() (int, bool) {
	if len(q.waiting) == 0 {
		return 0, false
	}
	i := q.waiting[0]
	q.waiting = q.waiting[1:]
	return i, true
}

func (*inOrder) end(int) {}

// service is a deposit on a server.
type service struct {
	ends    time.Duration
	arrival int
}

// running has the service that ends first on top.
type running []service

// Len implements heap.Interface.
func (r running) Len() int { return len(r) }

// Less implements heap.Interface.
func (r running) Less(i, k int) bool {
	return cmp.Or(cmp.Compare(r[i].ends, r[k].ends), cmp.Compare(r[i].arrival, r[k].arrival)) < 0
}

// Swap implements heap.Interface.
func (r running) Swap(i, k int) { r[i], r[k] = r[k], r[i] }

// Push implements heap.Interface.
func (r *running) Push(s any) { *r = append(*r, s.(service)) }

// Pop implements heap.Interface.
func (r *running) Pop() any {
	last := len(*r) - 1
	s := (*r)[last]
	*r = (*r)[:last]
	return s
}
