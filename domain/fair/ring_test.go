package fair_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain/fair"
)

// TestDecisionsOfOthers: a ring follows the decisions of another process, and refuses
// one that was not made for its state.
func TestDecisionsOfOthers(t *testing.T) {
	t.Parallel()
	mine, other := ringOf("a1 a2 b1"), ringOf("a1 a2 b1")
	decisions := make([]fair.Decision, 3)
	for i := range decisions {
		decisions[i] = other.Grab(wide, fair.Processor{})
		if err := other.Apply(decisions[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := mine.Apply(decisions[1]); err == nil || !strings.Contains(err.Error(), "turn 2 does not follow turn 0") {
		t.Error(err)
	}
	for _, d := range decisions {
		if err := mine.Apply(d); err != nil {
			t.Fatal(err)
		}
	}
	if mine.Position() != other.Position() || mine.Running("a") != 2 {
		t.Errorf("%+v, want %+v; %d run", mine.Position(), other.Position(), mine.Running("a"))
	}
	stale := fair.Decision{Rule: fair.RuleRoundRobin, User: "a", Slot: 1, After: fair.Position{Turn: 4}}
	if err := mine.Apply(stale); err == nil || !strings.Contains(err.Error(), "who is not there") {
		t.Error(err)
	}
	// The other process grabs a deposit that this one has not heard of.
	mine, other = ringOf("a1"), ringOf("a1 a2")
	for range 2 {
		d := other.Grab(wide, fair.Processor{})
		if err := errors.Join(other.Apply(d), mine.Apply(d)); err != nil {
			t.Fatal(err)
		}
	}
	mine.Put("a", fair.Deposit{ID: "a2", Number: 2})
	if d := mine.Grab(wide, fair.Processor{}); d.Rule != fair.RuleNone || mine.Running("a") != 2 {
		t.Errorf("%+v", d)
	}
}

// TestDepositsAreReadWhenNeeded: of users who joined only by name, deposits are asked
// for one user at a time, those who may be served first.
func TestDepositsAreReadWhenNeeded(t *testing.T) {
	t.Parallel()
	var r fair.Ring
	for slot, user := range []string{"a", "b", "c"} {
		r.Join(user, int64(slot+4))
	}
	r.Seek(fair.Position{Turn: 7, Cursor: 5}, 8)
	if slot, joins := r.Slot("d"); slot != 9 || !joins {
		t.Errorf("the next slot is %d", slot)
	}
	read := fair.Decision{Rule: fair.RuleRead, User: "b", Slot: 5}
	if d := r.Grab(wide, fair.Processor{}); d != read || r.Apply(d) != nil {
		t.Errorf("%+v", d)
	}
	if d := r.Park("b", "b1"); d != read {
		t.Errorf("%+v", d)
	}
	if why := r.Why(wide, []fair.Processor{{}}, "b"); why != fair.ObstacleUnread {
		t.Errorf("%q", why)
	}
	r.Read("b", nil) // what was there has gone
	if d := r.Grab(wide, fair.Processor{}); d.Rule != fair.RuleRead || d.User != "c" {
		t.Errorf("%+v", d)
	}
	r.Read("c", []fair.Deposit{{ID: "c2", Number: 2}, {ID: "c1", Number: 1}})
	if d := r.Grab(wide, fair.Processor{}); d.Deposit.ID != "c1" || d.After != (fair.Position{Turn: 8, Cursor: 4, Lap: 8}) || d.Emptied {
		t.Errorf("%+v", d)
	}
	r.Join("c", 11) // left and came again, says another process
	if slot, joins := r.Slot("c"); slot != 11 || joins || r.Waiting("c") != 0 {
		t.Errorf("slot %d, %d waiting", slot, r.Waiting("c"))
	}
}

// TestDecisionBeforeTheNews: a ring that has not heard of all deposits of a user follows
// decisions about them, and reads the deposits before it decides about the user itself.
func TestDecisionBeforeTheNews(t *testing.T) {
	t.Parallel()
	mine, other := ringOf("a1"), ringOf("a1 a2")
	d := other.Grab(wide, fair.Processor{})
	if err := mine.Apply(d); err != nil || d.Deposit.ID != "a1" || d.Emptied {
		t.Fatalf("%v: %+v", err, d)
	}
	if slot, joins := mine.Slot("a"); slot != d.Slot || joins {
		t.Errorf("the user has left: slot %d", slot)
	}
	if why := mine.Why(wide, []fair.Processor{{}}, "a"); why != fair.ObstacleUnread {
		t.Fatalf("%q", why)
	}
	if next := mine.Grab(wide, fair.Processor{}); next != (fair.Decision{Rule: fair.RuleRead, User: "a", Slot: d.Slot}) {
		t.Errorf("%+v", next)
	}
	mine.Read("a", []fair.Deposit{{ID: "a2", Number: 2}})
	mine.Put("a", fair.Deposit{ID: "a2", Number: 2}) // the news
	if next := mine.Grab(wide, fair.Processor{}); next.Deposit.ID != "a2" || !next.Emptied {
		t.Errorf("%+v", next)
	}
}
