package slot_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// The window of the slots of these tests, in minutes of the model.
const opens, closes = 100, 160

// minute is a minute of the model as a time.
func minute(m int) domain.Time {
	if m == 0 {
		return domain.Time{}
	}
	return after(m)
}

// command is a command of the model as one of the rules.
func command(c model.SlotCommand) slot.Command {
	reason := map[string]*domain.Reason{model.Given: &why, model.Blank: {}}[c.Reason]
	switch c.Name {
	case "add":
		return slot.Add{Dataset: add.Dataset, Group: add.Group, Opens: minute(c.Opens), Closes: minute(c.Closes)}
	case "open":
		return slot.Open{Now: minute(c.Now), Reason: reason, Until: minute(c.Until)}
	case "close":
		if reason == nil {
			reason = &domain.Reason{}
		}
		return slot.Close{Reason: *reason, Files: c.Files}
	}
	return slot.End{Now: minute(c.Now), Files: c.Files}
}

// both is a slot as the rules and as the model have it.
type both struct {
	slot slot.Slot
	want model.Slot
}

// do does a command to both, compares them, and returns the rows that it took.
func (b *both) do(t rapid.TB, c model.SlotCommand) []model.SlotRow {
	t.Helper()
	was := b.want
	rows := b.want.Do(c)
	dec, err := slot.Decide(b.slot, command(c))
	var refused *domain.Refused
	if err != nil && !errors.As(err, &refused) || len(dec.Events) != len(rows) {
		t.Fatalf("%+v of %+v takes %q (%v), want %v", c, was, dec.Rows, err, rows)
	}
	for i, e := range dec.Events {
		m, want := e.Data.(*domain.SlotMove), rows[i]
		if got := (model.SlotRow{Row: dec.Rows[i], From: string(m.From), To: string(m.To), Event: string(e.Type)}); got != want {
			t.Fatalf("%+v of %+v takes %v, want %v", c, was, got, want)
		}
		if b.slot, err = slot.Evolve(b.slot, domain.Recorded{Event: e}); err != nil {
			t.Fatal(err)
		}
		if _, err := slot.Evolve(b.slot, domain.Recorded{Event: e}); err == nil {
			t.Fatalf("%s is applied twice", e.Type)
		}
	}
	s, w := b.slot, b.want
	if string(s.State) != w.State || s.Opens != minute(w.Opens) || s.Closes != minute(w.Closes) || s.Files != w.Files || s.Version != int64(w.Version) {
		t.Fatalf("%+v of %+v leads to %+v, want %+v", c, was, s, w)
	}
	return rows
}

// TestSlotTable: every command in every state leads along the rows of the model, or is
// refused where the model refuses it.
func TestSlotTable(t *testing.T) {
	t.Parallel()
	added := model.SlotCommand{Name: "add", Opens: opens, Closes: closes}
	opened := model.SlotCommand{Name: "open", Now: opens}
	taken := map[model.SlotRow]bool{}
	for _, path := range [][]model.SlotCommand{
		nil, {added}, {added, opened}, {added, opened, {Name: "end", Now: closes, Files: 2}}, {added, opened, {Name: "end", Now: closes}},
	} {
		before := both{slot: slot.Slot{ID: id}}
		for _, c := range path {
			before.do(t, c)
		}
		for _, c := range commands() {
			now := before
			for _, row := range now.do(t, c) {
				taken[row] = true
			}
		}
	}
	if len(slot.Transitions) != len(model.SlotRows) || len(taken) != len(model.SlotRows) {
		t.Errorf("the table has %d rows, %d were taken, want %d", len(slot.Transitions), len(taken), len(model.SlotRows))
	}
}

// commands returns every command, before, in and after the window, with every reason.
func commands() (all []model.SlotCommand) {
	for _, begin := range []int{0, opens, closes} {
		all = append(all, model.SlotCommand{Name: "add", Opens: begin, Closes: closes})
	}
	for _, files := range []int{0, 2} {
		for _, reason := range []string{"", model.Given, model.Blank} {
			all = append(all, model.SlotCommand{Name: "close", Reason: reason, Files: files})
		}
		for _, now := range []int{0, opens - 1, closes - 1, closes, closes + 1} {
			all = append(all, model.SlotCommand{Name: "end", Now: now, Files: files})
		}
	}
	for _, reason := range []string{"", model.Given, model.Blank} {
		for _, now := range []int{0, opens - 9, opens - 1, opens, closes - 1, closes, closes + 1} {
			for _, until := range []int{0, opens - 5, opens, opens + 1, closes + 1, closes + 9} {
				all = append(all, model.SlotCommand{Name: "open", Now: now, Reason: reason, Until: until})
			}
		}
	}
	return all
}

// TestSlotWalks: random histories go as the model's, and take every row.
func TestSlotWalks(t *testing.T) {
	t.Parallel()
	taken := map[model.SlotRow]bool{}
	for range 20 { // a hundred walks take a rare row nearly always
		rapid.Check(t, func(t *rapid.T) {
			b, now := both{slot: slot.Slot{ID: id}}, opens-30
			for range rapid.IntRange(4, 16).Draw(t, "commands") {
				now += rapid.IntRange(0, 50).Draw(t, "minutes")
				c := model.SlotCommand{Name: rapid.SampledFrom([]string{"add", "open", "close", "end"}).Draw(t, "command"), Opens: opens, Closes: closes, Now: now,
					Reason: rapid.SampledFrom([]string{"", model.Given, model.Given, model.Blank}).Draw(t, "reason"), Files: rapid.IntRange(0, 2).Draw(t, "files")}
				if rapid.Bool().Draw(t, "until") {
					c.Until = now + 20
				}
				for _, row := range b.do(t, c) {
					taken[row] = true
				}
			}
		})
		if len(taken) == len(model.SlotRows) {
			break
		}
	}
	for _, row := range model.SlotRows {
		if !taken[row] {
			t.Errorf("%v was never taken", row)
		}
	}
}
