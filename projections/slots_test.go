package projections_test

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/query"
)

// slots are one that waits, one that is open, one that was closed and one that was missed
// and opened again.
func (w *world) slots() {
	opens, closes := domain.At(w.now.Add(time.Hour)), domain.At(w.now.Add(2*time.Hour))
	why := domain.Reason{Class: domain.ClassWait, Code: "opened_by_operator", Message: "the files come late"}
	for n, commands := range [][]slot.Command{
		nil, {slot.Open{Now: opens}}, {slot.Open{Now: opens}, slot.End{Now: closes, Files: 2}},
		{slot.End{Now: closes}, slot.Open{Now: closes, Until: domain.At(closes.Add(time.Hour)), Reason: &why}},
	} {
		group := []string{"one", "two", "a%b", "four"}[n]
		s := slot.Slot{ID: slot.NewID("goes-16", group)}
		for _, cmd := range append([]slot.Command{slot.Add{Dataset: "goes-16", Group: group, Opens: opens, Closes: closes}}, commands...) {
			dec, err := slot.Decide(s, cmd)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, r := range w.record(dec.Events, "") {
				if s, err = slot.Evolve(s, r); err != nil {
					w.t.Fatal(err)
				}
			}
		}
	}
}

// TestSlotsByFilter: slots are chosen by the reason of their last change, by when their windows
// begin, and by dataset.
func TestSlotsByFilter(t *testing.T) {
	t.Parallel()
	db, w := granted(t), newWorld(t, 1)
	w.slots()
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	all, err := query.Slots(t.Context(), db, query.SlotFilter{})
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	opens := all[0].OpensAt
	for _, c := range []struct {
		filter query.SlotFilter
		want   int
	}{
		{query.SlotFilter{Code: "opened_by_operator"}, 1}, {query.SlotFilter{Code: "nothing"}, 0},
		{query.SlotFilter{Since: opens}, 4}, {query.SlotFilter{Until: opens}, 0}, {query.SlotFilter{Since: opens.Add(1 * time.Second)}, 0}, {query.SlotFilter{Until: opens.Add(time.Second)}, 4},
		{query.SlotFilter{Datasets: []string{}}, 0}, {query.SlotFilter{Datasets: []string{"goes-16"}, Status: domain.SlotActive, Code: "opened_by_operator"}, 1},
	} {
		if got, err := query.Slots(t.Context(), db, c.filter); err != nil || len(got) != c.want {
			t.Errorf("%+v: %+v, want %d (%v)", c.filter, got, c.want, err)
		}
	}
}
