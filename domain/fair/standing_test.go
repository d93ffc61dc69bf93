package fair_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain/fair"
)

// ringOf returns a ring in which users wait, as in "ana:3 ben:1", in slots from 1 on.
func standingRing(t *testing.T, users string) *fair.Ring {
	t.Helper()
	r, number := &fair.Ring{}, int64(0)
	for i, of := range strings.Fields(users) {
		var n int
		user, count, _ := strings.Cut(of, ":")
		if _, err := fmt.Sscan(count, &n); err != nil {
			t.Fatal(err)
		}
		r.Join(user, int64(i+1))
		for range n {
			number++
			r.Put(user, fair.Deposit{ID: fmt.Sprint(number), Number: number, Size: 10})
		}
		r.Read(user, nil)
	}
	return r
}

// standings writes where users stand, as "ana 1 after 0, ben 2 next lap prohibited".
func standings(all []fair.Standing) string {
	var texts []string
	for _, s := range all {
		text := fmt.Sprintf("%s %d", s.User, s.Position)
		if s.NextLap {
			text += " next lap"
		}
		if s.Why == fair.ObstacleNone {
			text += fmt.Sprintf(" after %d", s.Before)
		} else {
			text += " " + string(s.Why)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func TestStandings(t *testing.T) {
	t.Parallel()
	anyone := []fair.Processor{{}}
	two := fair.Limit{Default: 2}
	for name, c := range map[string]struct {
		users      string
		at         fair.Position
		last       int64 // slot that was given
		config     func(*fair.Config)
		processors []fair.Processor
		running    string
		want       string
	}{
		"a new ring":             {"ana:3 ben:1 cleo:2", fair.Position{}, 3, nil, anyone, "", "ana 1 after 0, ben 2 after 1, cleo 3 after 2"},
		"the cursor in the lap":  {"ana:3 ben:1 cleo:2", fair.Position{Turn: 1, Cursor: 2, Lap: 3}, 3, nil, anyone, "", "ben 1 after 0, cleo 2 after 1, ana 3 next lap after 2"},
		"who joined in this lap": {"ana:3 ben:1 cleo:2", fair.Position{Turn: 1, Cursor: 2, Lap: 2}, 3, nil, anyone, "", "ben 1 after 0, ana 2 next lap after 1, cleo 3 next lap after 2"},
		"who joined, when another has more": {"ana:3 ben:5 cleo:2", fair.Position{Turn: 1, Cursor: 2, Lap: 2}, 3, nil, anyone, "",
			"ben 1 after 0, ana 2 next lap after 1, cleo 3 next lap after 3"},
		"an allocation": {"ana:3 ben:1 cleo:2", fair.Position{}, 3, func(c *fair.Config) { c.Allocation = two }, anyone, "", "ana 1 after 0, ben 2 after 2, cleo 3 after 3"},
		"some of it used": {"ana:3 ben:1", fair.Position{Turn: 1, Cursor: 1, Used: 1, Lap: 2}, 2, func(c *fair.Config) { c.Allocation = two }, anyone, "",
			"ana 1 after 0, ben 2 after 1"},
		"at the limit": {"ana:3 ben:1", fair.Position{}, 2, func(c *fair.Config) { c.Concurrency = two }, anyone, "ana ana", "ana 1 at_concurrency, ben 2 after 0"},
		"room for one": {"ana:3 ben:1", fair.Position{}, 2, func(c *fair.Config) { c.Allocation, c.Concurrency = two, two }, anyone, "ana", "ana 1 after 0, ben 2 after 1"},
		"concurrency 0": {"ana:3 ben:1", fair.Position{}, 2, func(c *fair.Config) { c.Concurrency.Of = map[string]int{"ana": 0} }, anyone, "",
			"ana 1 concurrency_zero, ben 2 after 0"},
		"allocation 0": {"ana:3 ben:1", fair.Position{}, 2, func(c *fair.Config) { c.Allocation.Of = map[string]int{"ana": 0} }, anyone, "", "ana 1 allocation_zero, ben 2 after 0"},
		"prohibited":   {"ana:3 ben:1", fair.Position{}, 2, func(c *fair.Config) { c.Prohibited = fair.Users{"ana": true} }, anyone, "", "ana 1 prohibited, ben 2 after 0"},
		"suspended":    {"ana:3 ben:1", fair.Position{}, 2, func(c *fair.Config) { c.Suspended = true }, anyone, "", "ana 1 suspended, ben 2 suspended"},
		"too large":    {"ana:3", fair.Position{}, 1, nil, []fair.Processor{{MaxSize: 9}}, "", "ana 1 too_large"},
		"no processor": {"ana:3", fair.Position{}, 1, nil, nil, "", "ana 1 no_processor"},
		"excluded by all": {"ana:3 ben:1", fair.Position{}, 2, nil, []fair.Processor{{Users: fair.Users{"ana": true}, ExcludeUsers: true}}, "",
			"ana 1 excluded, ben 2 after 0"},
		"required by none": {"ana:3 ben:1", fair.Position{}, 2, nil, []fair.Processor{{Users: fair.Users{"ben": true}}}, "", "ana 1 not_required, ben 2 after 0"},
		"only running":     {"ben:1", fair.Position{}, 1, nil, anyone, "zoe ana", "ben 1 after 0, ana 0 empty, zoe 0 empty"},
		"nothing":          {"", fair.Position{}, 0, nil, anyone, "", ""},
	} {
		config := fair.DefaultConfig()
		if c.config != nil {
			c.config(&config)
		}
		r := standingRing(t, c.users)
		r.Seek(c.at, c.last)
		for i, user := range strings.Fields(c.running) {
			r.Start(user, fmt.Sprintf("running %d", i))
		}
		if got := standings(r.Standings(config, c.processors)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestStandingsAreWhatIsGrabbed: a processor without criteria grabs as many deposits before a
// user's next one as the standing says.
func TestStandingsAreWhatIsGrabbed(t *testing.T) {
	t.Parallel()
	config := fair.DefaultConfig()
	config.Allocation.Of = map[string]int{"ben": 2, "dan": 3}
	for grabbed := range 12 {
		r := standingRing(t, "ana:4 ben:5 cleo:1 dan:6 eve:2")
		next := func() string {
			d := r.Grab(config, fair.Processor{})
			if err := r.Apply(d); err != nil {
				t.Fatal(err)
			}
			r.End(d.User, d.Deposit.ID)
			return d.User
		}
		for range grabbed {
			next()
		}
		if grabbed == 7 { // joins during a lap
			r.Put("fay", fair.Deposit{ID: "fay1", Number: 99})
		}
		want := r.Standings(config, []fair.Processor{{}})
		seen := map[string]int{}
		for n := 0; len(seen) < len(want); n++ {
			if user := next(); seen[user] == 0 {
				seen[user] = n + 1
			}
		}
		for _, s := range want {
			if seen[s.User] != s.Before+1 {
				t.Errorf("after %d grabs: %s is served after %d, the standing says %d", grabbed, s.User, seen[s.User]-1, s.Before)
			}
		}
	}
}

func TestExpected(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	pace := fair.NewPace([]time.Time{now.Add(-time.Minute), now.Add(-10 * time.Minute), now.Add(-5 * time.Minute)}, now)
	if pace != (fair.Pace{Grabs: 3, Over: 10 * time.Minute}) {
		t.Errorf("%+v", pace)
	}
	none := fair.NewPace(nil, now)
	for name, c := range map[string]struct {
		s    fair.Standing
		p    fair.Pace
		want time.Duration
		ok   bool
	}{
		"next":             {fair.Standing{Position: 1}, pace, 200 * time.Second, true},
		"after two":        {fair.Standing{Position: 3, Before: 2}, pace, 10 * time.Minute, true},
		"at the limit":     {fair.Standing{Position: 1, Why: fair.ObstacleConcurrency}, pace, 0, false},
		"nothing grabbed":  {fair.Standing{Position: 1}, none, 0, false},
		"nothing waits":    {fair.Standing{}, pace, 0, false},
		"grabbed just now": {fair.Standing{Position: 1}, fair.NewPace([]time.Time{now}, now), time.Second, true},
	} {
		if got, ok := c.s.Expected(c.p); got != c.want || ok != c.ok {
			t.Errorf("%s: %v %v, want %v %v", name, got, ok, c.want, c.ok)
		}
	}
}

// TestObstaclesInWords: each obstacle is said in words of its own kind.
func TestObstaclesInWords(t *testing.T) {
	t.Parallel()
	for _, o := range []fair.Obstacle{fair.ObstacleUnread, fair.ObstacleConcurrency, fair.ObstacleTooLarge, fair.ObstacleSizeUnknown, fair.ObstacleConcurrencyZero,
		fair.ObstacleAllocationZero, fair.ObstacleProhibited, fair.ObstacleExcluded, fair.ObstacleNotRequired, fair.ObstacleNoProcessor, fair.ObstacleSuspended, fair.ObstacleEmpty} {
		if text := o.Text(); text == "" || strings.Contains(text, "_") {
			t.Errorf("%s: %q", o, text)
		}
	}
	if text := fair.ObstacleNone.Text(); text != "" {
		t.Errorf("none: %q", text)
	}
}
