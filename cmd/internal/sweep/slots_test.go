package sweep_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore"
)

// windows finds slots as the database does, by folding the log.
type windows struct{ log eventstore.Log }

func (windows) CaughtUp(context.Context) error { return nil }

func (f windows) Due(ctx context.Context, now domain.Time, after slot.ID, limit int) ([]sweep.Due, error) {
	slots, arrived := map[domain.Aggregate]slot.Slot{}, map[slot.ID]int{}
	for r, err := range f.log.Read(ctx, eventstore.ReadOptions{}) {
		if err == nil && r.Aggregate.Kind == domain.KindSlot {
			slots[r.Aggregate], err = slot.Evolve(slots[r.Aggregate], r)
		}
		if m, ok := domain.MoveOfFile(r.Data); ok && m.To == domain.FileDownloaded {
			arrived[slot.NewID(m.Dataset, m.Group)]++
		}
		if err != nil {
			return nil, err
		}
	}
	var due []sweep.Due
	for _, s := range slots {
		over, begun := !now.Before(s.Closes.Time), s.State == domain.SlotPending && !now.Before(s.Opens.Time)
		if !slot.Ended(s.State) && (over || begun) && s.ID > after {
			due = append(due, sweep.Due{ID: s.ID, Closes: s.Closes, Arrived: arrived[s.ID]})
		}
	}
	slices.SortFunc(due, func(a, b sweep.Due) int { return cmp.Compare(a.ID, b.ID) })
	return due[:min(limit, len(due))], nil
}

// behind are windows of tables that are behind for ever.
type behind struct{ windows }

func (behind) CaughtUp(context.Context) error { return context.DeadlineExceeded }

// TestSlotsOpenAndEnd: slots open and end as their windows do, by the clock of the log: one
// with a file is done, one without is missed; and while the tables are behind none ends.
func TestSlotsOpenAndEnd(t *testing.T) {
	t.Parallel()
	spec := listed
	spec.Dataset, spec.Group = "goes", "b"
	w := newFixture(t, spec)
	now := domain.At(w.clock.Now())
	hour := domain.At(now.Add(time.Hour))
	slots := w.worker.Slots()
	for group, from := range map[string]domain.Time{"a": now, "b": now, "c": hour} {
		id, add := slot.NewID("goes", group), slot.Add{Dataset: "goes", Group: group, Opens: from, Closes: domain.At(from.Add(time.Hour))}
		if _, err := slots.Slot(t.Context(), id, add, eventstore.Meta{Actor: "user/ana"}); err != nil {
			t.Fatal(err)
		}
	}
	pass := func(want map[domain.SlotState]int) {
		t.Helper()
		for _, s := range []*sweep.Sweeper{w.sweeper, w.newSweeper()} { // another one has nothing left
			sum, err := s.Once(t.Context())
			if err != nil || sum.Errors > 0 || len(sum.Slots) != len(want) {
				t.Fatalf("%+v, %v; want %v", sum, err, want)
			}
			for state, n := range want {
				if sum.Slots[state] != n {
					t.Errorf("%v, want %v", sum.Slots, want)
				}
			}
			want = nil
		}
	}
	pass(map[domain.SlotState]int{domain.SlotActive: 2})
	w.fetched(w.download())
	w.clock.Advance(59 * time.Minute)
	pass(nil)
	w.clock.Advance(time.Minute)
	late := w.newSweeper()
	late.Windows = behind{windows{w.log}}
	w.gone = map[entry.State]int{entry.Pending: 2} // what becomes of entries does not wait for that
	if sum, err := late.Once(t.Context()); !errors.Is(err, context.DeadlineExceeded) || len(sum.Slots) > 0 || sum.Entries[entry.Pending] != 2 {
		t.Fatalf("the tables are behind: %+v, %v", sum, err)
	}
	pass(map[domain.SlotState]int{domain.SlotDone: 1, domain.SlotMissed: 1, domain.SlotActive: 1})
	all, err := slots.States(t.Context(), []slot.ID{slot.NewID("goes", "a"), slot.NewID("goes", "b")})
	if err != nil || all[slot.NewID("goes", "a")].State != domain.SlotMissed || all[slot.NewID("goes", "b")].State != domain.SlotDone {
		t.Errorf("%+v, %v", all, err)
	}
}
