package model

// Deposit waits in a Queue, or runs.
type Deposit struct {
	User   string
	ID     string
	Number int64 // a deposit that comes back keeps it
	Size   int64 // bytes, 0 = unknown
}

// Criteria are what a processor asks for.
type Criteria struct {
	MaxSize   int64           // bytes, 0 = any
	Required  map[string]bool // users; empty = all
	Excluded  map[string]bool
	Preferred map[string]bool
}

// Queue is the deposit queue once more: lists that are searched from end to end, and the
// three rules as they are written down. It shares nothing with package fair, so that
// random steps can compare the two.
type Queue struct {
	Suspended                  bool
	Prohibited                 map[string]bool
	Allocation, Concurrency    int            // of users without a number of their own
	Allocations, Concurrencies map[string]int // of users with one

	Users   []string        // those with waiting deposits, in the order in which they joined
	Slots   []int64         // of Users: a number for each joining, rising
	Joined  int64           // the last of these numbers
	Cursor  int             // index in Users of the user who is visited
	Used    int             // deposits taken in this visit
	Lap     map[string]bool // the users of this lap, nil = none has begun
	Turn    int64           // decisions so far
	Waiting map[string][]Deposit
	Running map[string][]Deposit
}

// NewQueue returns an empty queue with the start values.
func NewQueue() *Queue {
	return &Queue{
		Allocation: 1, Concurrency: 5,
		Prohibited: map[string]bool{}, Allocations: map[string]int{}, Concurrencies: map[string]int{},
		Waiting: map[string][]Deposit{}, Running: map[string][]Deposit{},
	}
}

// AllocationOf returns the allocation of a user.
func (q *Queue) AllocationOf(user string) int {
	if n, own := q.Allocations[user]; own {
		return n
	}
	return q.Allocation
}

// ConcurrencyOf returns the concurrency of a user.
func (q *Queue) ConcurrencyOf(user string) int {
	if n, own := q.Concurrencies[user]; own {
		return n
	}
	return q.Concurrency
}

// Put adds a deposit that is new, came back or was unparked. A user without waiting
// deposits joins at the end of the list.
func (q *Queue) Put(d Deposit) {
	if len(q.Waiting[d.User]) == 0 {
		q.Joined++
		q.Users = append(q.Users, d.User)
		q.Slots = append(q.Slots, q.Joined)
	}
	q.Waiting[d.User] = append(q.Waiting[d.User], d)
	all := q.Waiting[d.User]
	for i := len(all) - 1; i > 0 && all[i].Number < all[i-1].Number; i-- {
		all[i], all[i-1] = all[i-1], all[i]
	}
}

// End frees the place of a running deposit.
func (q *Queue) End(d Deposit) {
	q.Running[d.User] = without(q.Running[d.User], d.ID)
}

// Park takes out a waiting deposit, which is then counted nowhere.
func (q *Queue) Park(d Deposit) {
	q.Turn++
	q.Waiting[d.User] = without(q.Waiting[d.User], d.ID)
	q.leave(d.User)
}

// Grab takes out the deposit that a processor gets, with the number of the rule that
// chose it: 1 required, 2 preferred, 3 round robin, 0 none.
func (q *Queue) Grab(c Criteria) (Deposit, int) {
	if q.Suspended || len(q.Users) == 0 {
		return Deposit{}, 0
	}
	if len(c.Required) > 0 {
		for _, user := range q.Users {
			if c.Required[user] && q.ok(user, c) {
				return q.take(user), 1
			}
		}
		return Deposit{}, 0
	}
	for i := range q.Users {
		user := q.Users[(q.Cursor+i)%len(q.Users)]
		if c.Preferred[user] && !q.Prohibited[user] && !c.Excluded[user] && q.ok(user, c) {
			return q.take(user), 2
		}
	}
	cursor, used, lap := q.Cursor, q.Used, q.Lap
	if lap == nil {
		lap = q.all()
	}
	for left := 2; left > 0; { // the rest of this lap, and the next one
		user := q.Users[cursor]
		next, of := q.behind(cursor, lap)
		if !c.Excluded[user] && !q.Prohibited[user] && used < q.AllocationOf(user) && q.ok(user, c) {
			used++
			if used == q.AllocationOf(user) {
				cursor, used, lap = next, 0, of
			}
			q.Cursor, q.Used, q.Lap = cursor, used, lap
			return q.take(user), 3
		}
		if next == 0 {
			left--
		}
		cursor, used, lap = next, 0, of
	}
	return Deposit{}, 0 // that none was found is not written: cursor, used and lap stay
}

// all returns those who are in the list now.
func (q *Queue) all() map[string]bool {
	users := map[string]bool{}
	for _, user := range q.Users {
		users[user] = true
	}
	return users
}

// behind returns where the cursor moves on to, and the lap there: to the next user who is
// of the lap; if there is none, to index 0, where the next lap begins.
func (q *Queue) behind(cursor int, lap map[string]bool) (int, map[string]bool) {
	for i := cursor + 1; i < len(q.Users); i++ {
		if lap[q.Users[i]] {
			return i, lap
		}
	}
	return 0, q.all()
}

// ok is what all three rules ask for.
func (q *Queue) ok(user string, c Criteria) bool {
	size := q.Waiting[user][0].Size
	fits := c.MaxSize == 0 || size != 0 && size <= c.MaxSize
	return len(q.Running[user]) < q.ConcurrencyOf(user) && fits
}

// take lets the first deposit of a user run.
func (q *Queue) take(user string) Deposit {
	q.Turn++
	d := q.Waiting[user][0]
	q.Waiting[user] = q.Waiting[user][1:]
	q.Running[user] = append(q.Running[user], d)
	q.leave(user)
	return d
}

// leave takes a user out of the list if nothing of theirs waits any more. A cursor that
// stands there moves on.
func (q *Queue) leave(user string) {
	if len(q.Waiting[user]) > 0 {
		return
	}
	at := 0
	for q.Users[at] != user {
		at++
	}
	if at == q.Cursor {
		if q.Lap == nil {
			q.Lap = q.all()
		}
		q.Cursor, q.Lap = q.behind(at, q.Lap)
		q.Used = 0
	}
	if at < q.Cursor {
		q.Cursor--
	}
	q.Users = append(append([]string{}, q.Users[:at]...), q.Users[at+1:]...)
	q.Slots = append(append([]int64{}, q.Slots[:at]...), q.Slots[at+1:]...)
	delete(q.Lap, user)
	if len(q.Users) == 0 {
		q.Lap = nil
	}
}

func without(all []Deposit, id string) (rest []Deposit) {
	for _, d := range all {
		if d.ID != id {
			rest = append(rest, d)
		}
	}
	return rest
}
