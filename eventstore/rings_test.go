package eventstore_test

import (
	"slices"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/eventstore"
)

// The steps that a ring remembers are right if they are those of the events, whatever the
// order in which these were read, and of no other turn, deposit or user.
func TestRecentSteps(t *testing.T) {
	t.Parallel()
	var ring, events eventstore.RingState
	var steps []eventstore.RingStep
	for turn := int64(1); turn <= 40; turn++ {
		position := domain.RingPosition{Turn: turn, Cursor: turn % 3}
		if turn%4 == 0 {
			ring = ring.After(eventstore.RingStep{Rule: eventstore.StepJoined, User: "ben", Slot: turn, Deposit: "bid0000000099", RingPosition: ring.RingPosition})
		}
		step := eventstore.RingStep{Rule: fair.RuleRoundRobin, User: "ana", Slot: 1, Deposit: string(domain.NewBatchID(turn)), RingPosition: position}
		ring, steps = ring.After(step), append(steps, step)
	}
	slices.Reverse(steps)
	for _, s := range steps {
		events.ApplyOf(s.Deposit, &domain.Ticket{User: s.User, Slot: s.Slot}, &s.RingPosition)
		events.ApplyOf(s.Deposit, nil, &s.RingPosition) // twice
	}
	if n := len(events.Recent); n != 32 || events.RingPosition != ring.RingPosition || !ring.RecentSound(events.Recent, true) {
		t.Fatalf("%d steps of %+v, the ring is %+v", n, events, ring)
	}
	last := len(ring.Recent) - 1
	for name, edit := range map[string]func(*eventstore.RingState){
		"another deposit":          func(s *eventstore.RingState) { s.Recent[last].Deposit = "bid0000000001" },
		"another user":             func(s *eventstore.RingState) { s.Recent[last].User = "ben" },
		"another slot":             func(s *eventstore.RingState) { s.Recent[last].Slot++ },
		"another cursor":           func(s *eventstore.RingState) { s.Recent[3].Cursor++ },
		"another order":            func(s *eventstore.RingState) { slices.Reverse(s.Recent) },
		"a hole":                   func(s *eventstore.RingState) { s.Recent = slices.Delete(s.Recent, 3, 6) },
		"an end before the ring's": func(s *eventstore.RingState) { s.Recent = s.Recent[:last] },
		"more than was written":    func(s *eventstore.RingState) { s.Writes = 31 },
		"a turn without an event": func(s *eventstore.RingState) {
			*s = s.After(eventstore.RingStep{Rule: fair.RuleRoundRobin, Deposit: "bid0000000041", RingPosition: domain.RingPosition{Turn: 41}})
		},
	} {
		wrong := ring
		wrong.Recent = slices.Clone(ring.Recent)
		if edit(&wrong); wrong.RecentSound(events.Recent, true) {
			t.Errorf("%s is taken for right", name)
		}
	}
	if !ring.RecentSound(events.Recent[5:], false) || ring.RecentSound(events.Recent[20:], true) {
		t.Error("an event may be missing only if the events are not complete")
	}
}
