package fair

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Standing is where a user stands in a ring.
type Standing struct {
	User        string
	Waiting     int // deposits
	Running     int
	Concurrency int // how many may run at once
	Allocation  int // how many are grabbed in one turn
	// Position is where the user stands in the order of visits from the cursor on, 1 = is
	// visited now; 0 = nothing of the user waits.
	Position int
	NextLap  bool // has the next turn in the next lap, not in this one
	// Before is how many deposits of others round robin grabs before the next one of the
	// user, while the ring stays as it is and each user who can be served now uses up their
	// allocation. It counts for a user without an obstacle.
	Before int
	Why    Obstacle // what keeps the user from being served
}

// Standings returns where the users stand: those with waiting deposits in the order of
// visits, and then those of whom some only run, by name.
func (r *Ring) Standings(c Config, processors []Processor) []Standing {
	var all []Standing
	if len(r.members) > 0 {
		all = r.inOrder(c, processors)
	}
	for _, user := range slices.Sorted(maps.Keys(r.known)) {
		if m := r.known[user]; m.slot == 0 {
			all = append(all, r.standing(m, c, processors))
		}
	}
	return all
}

func (r *Ring) standing(m *member, c Config, processors []Processor) Standing {
	return Standing{User: m.user, Waiting: m.waiting.Len(), Running: len(m.running), Concurrency: c.Concurrency.For(m.user),
		Allocation: c.Allocation.For(m.user), Why: r.Why(c, processors, m.user)}
}

// inOrder returns where the users of the ring stand, in the order of visits: the rest of this
// lap, and then the next one, as far as it has others.
func (r *Ring) inOrder(c Config, processors []Processor) (all []Standing) {
	start, at := r.visit(r.position)
	end, _ := r.find(at.Lap + 1)
	turn := func(m *member, used int) int { // what round robin grabs of m in one visit
		if r.Why(c, processors, m.user) != ObstacleNone {
			return 0
		}
		return max(0, min(c.Allocation.For(m.user)-used, c.Concurrency.For(m.user)-len(m.running), m.waiting.Len()))
	}
	before := 0
	for i, part := range [][]*member{r.members[start:end], r.members[:start], r.members[end:]} {
		if i == 2 { // in the next lap those of this one come first again
			for _, m := range r.members[start:end] {
				before += min(turn(m, 0), max(0, m.waiting.Len()-turn(m, 0)))
			}
		}
		for _, m := range part {
			s := r.standing(m, c, processors)
			s.Position, s.NextLap, s.Before = len(all)+1, i > 0, before
			all = append(all, s)
			used := 0
			if m.slot == at.Cursor {
				used = at.Used
			}
			before += turn(m, used)
		}
	}
	return all
}

// Pace is how often deposits of a queue were grabbed lately.
type Pace struct {
	Grabs int
	Over  time.Duration
}

// NewPace returns the pace of some grabs, in any order, up to now.
func NewPace(grabs []time.Time, now time.Time) Pace {
	if len(grabs) == 0 {
		return Pace{}
	}
	first := slices.MinFunc(grabs, func(a, b time.Time) int { return a.Compare(b) })
	return Pace{Grabs: len(grabs), Over: max(now.Sub(first), time.Second)}
}

// Expected returns when the next deposit of the user is grabbed at a pace; ok is false if
// that is not known, because something keeps the user from being served, or nothing was
// grabbed lately.
func (s Standing) Expected(p Pace) (in time.Duration, ok bool) {
	if s.Why != ObstacleNone || s.Position == 0 || p.Grabs == 0 {
		return 0, false
	}
	return time.Duration(float64(p.Over) / float64(p.Grabs) * float64(s.Before+1)), true
}

// obstacles says what each obstacle means, in a few words.
var obstacles = map[Obstacle]string{
	ObstacleNone:            "",
	ObstacleUnread:          "not known yet",
	ObstacleConcurrency:     "at the limit",
	ObstacleTooLarge:        "the first deposit is too large for the processors",
	ObstacleSizeUnknown:     "the size of the first deposit is unknown, and no processor takes every size",
	ObstacleConcurrencyZero: "concurrency 0",
	ObstacleAllocationZero:  "allocation 0",
	ObstacleProhibited:      "prohibited",
	ObstacleExcluded:        "no processor serves this user",
	ObstacleNotRequired:     "no processor serves this user",
	ObstacleNoProcessor:     "no processor is started",
	ObstacleSuspended:       "suspended",
	ObstacleEmpty:           "nothing waits",
}

// Text says what the obstacle means, "" for none.
func (o Obstacle) Text() string { return cmp.Or(obstacles[o], string(o)) }
