package projections_test

import (
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
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
		group := []string{"one", "two", "a/b", "four"}[n]
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
