package slot_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
)

var (
	noon = domain.At(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	id   = slot.NewID("goes", "2026-121")
	why  = domain.Reason{Class: domain.ClassSystem, Code: "by_hand", Message: "the instrument was late"}
	add  = slot.Add{Dataset: "goes", Group: "2026-121", Opens: after(0), Closes: after(60)}
)

// after is a time some minutes after noon.
func after(minutes int) domain.Time { return domain.At(noon.Add(time.Duration(minutes) * time.Minute)) }

// written returns the slot after its commands, each of which the rules must allow.
func written(t *testing.T, commands ...slot.Command) slot.Slot {
	t.Helper()
	s := slot.Slot{ID: id}
	for _, c := range commands {
		dec, err := slot.Decide(s, c)
		if err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		for _, e := range dec.Events {
			if s, err = slot.Evolve(s, domain.Recorded{Event: e, Stored: noon.Time}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s
}

// TestSlotRefusals: what the rules do not allow is refused with its code.
func TestSlotRefusals(t *testing.T) {
	t.Parallel()
	opened := slot.Open{Now: after(0)}
	pending, active := written(t, add), written(t, add, opened)
	done, missed := written(t, add, opened, slot.End{Now: after(60), Files: 2}), written(t, add, opened, slot.End{Now: after(60)})
	for name, c := range map[string]struct {
		from slot.Slot
		cmd  slot.Command
		want domain.Code
	}{
		"added twice":                {pending, add, "slot_exists"},
		"added after its end":        {missed, add, "slot_exists"},
		"no dataset":                 {slot.Slot{ID: id}, slot.Add{Group: "g", Opens: after(0), Closes: after(1)}, "bad_slot"},
		"control character":          {slot.Slot{ID: id}, slot.Add{Dataset: "d", Group: "g\n", Opens: after(0), Closes: after(1)}, "bad_slot"},
		"a group without files":      {slot.Slot{ID: slot.NewID("goes", "2026/121")}, slot.Add{Dataset: "goes", Group: "2026/121", Opens: after(0), Closes: after(1)}, "bad_slot"},
		"another's id":               {slot.Slot{ID: id}, slot.Add{Dataset: "goes", Group: "2026-122", Opens: after(0), Closes: after(1)}, "bad_slot"},
		"no window":                  {slot.Slot{ID: id}, slot.Add{Dataset: "goes", Group: "2026-121"}, "bad_slot"},
		"ends as it begins":          {slot.Slot{ID: id}, slot.Add{Dataset: "goes", Group: "2026-121", Opens: after(1), Closes: after(1)}, "bad_slot"},
		"begins later":               {pending, slot.Open{Now: after(-1)}, "slot_not_begun"},
		"over before it was opened":  {pending, slot.Open{Now: after(60)}, "slot_over"},
		"opened late, by hand":       {pending, slot.Open{Now: after(60), Reason: &why}, "slot_over"},
		"opened with an early end":   {pending, slot.Open{Now: after(-9), Reason: &why, Until: after(-5)}, "bad_slot"},
		"opened without a time":      {pending, slot.Open{Reason: &why}, "time_unknown"},
		"opened for nothing":         {pending, slot.Open{Now: after(0), Reason: &domain.Reason{}}, "reason_missing"},
		"opened twice":               {active, slot.Open{Now: after(1), Reason: &why}, "illegal_transition"},
		"opened again, over":         {done, slot.Open{Now: after(61), Reason: &why}, "slot_over"},
		"opened again by itself":     {done, slot.Open{Now: after(0)}, "reason_missing"},
		"not there":                  {slot.Slot{ID: id}, slot.Open{Now: after(0), Reason: &why}, "illegal_transition"},
		"not over":                   {active, slot.End{Now: after(59), Files: 1}, "slot_not_over"},
		"over at no time":            {active, slot.End{Files: 1}, "time_unknown"},
		"ended twice":                {done, slot.End{Now: after(70), Files: 1}, "illegal_transition"},
		"closed by hand, no reason":  {active, slot.Close{}, "reason_missing"},
		"closed by hand, it is over": {done, slot.Close{Reason: why}, "illegal_transition"},
	} {
		_, err := slot.Decide(c.from, c.cmd)
		var refused *domain.Refused
		if !errors.As(err, &refused) || refused.Code != c.want || refused.Error() == "" {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// TestSlotFromName: a slot whose window is from the name of its group says so; what the name
// does not give is no slot.
func TestSlotFromName(t *testing.T) {
	t.Parallel()
	r := setting.SlotRule{Layout: "2006-002", OffsetSeconds: 12 * 60 * 60, LengthSeconds: 60 * 60}
	made, err := slot.FromName("goes", "2026-121", r)
	if err != nil {
		t.Fatal(err)
	}
	if s := written(t, made); s.State != domain.SlotPending || s.Opens != after(0) || s.Closes != after(60) || s.Reason == nil || s.Reason.Code != slot.CodeFromName ||
		s.Reason.Message != "its window is from the name of its group: 12h0m0s after 2006-002, for 1h0m0s" {
		t.Errorf("%+v, %+v", s, s.Reason)
	}
	if made, err := slot.FromName("goes", "x", r); err == nil {
		t.Errorf("%+v", made)
	}
}

// TestSlotEvolve: an event of another kind, aggregate, number or state cannot follow.
func TestSlotEvolve(t *testing.T) {
	t.Parallel()
	pending := written(t, add)
	dec, err := slot.Decide(pending, slot.Open{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	good := dec.Events[0]
	for name, change := range map[string]func(*domain.Recorded){
		"number":  func(r *domain.Recorded) { r.Version++ },
		"id":      func(r *domain.Recorded) { r.Aggregate.ID += "x" },
		"kind":    func(r *domain.Recorded) { r.Aggregate.Kind = domain.KindFile },
		"type":    func(r *domain.Recorded) { r.Type = domain.EventSlotClosed },
		"from":    func(r *domain.Recorded) { r.Data = &domain.SlotMove{From: domain.SlotDone, To: domain.SlotActive} },
		"no row":  func(r *domain.Recorded) { r.Data = &domain.SlotMove{From: domain.SlotPending, To: domain.SlotDone} },
		"no data": func(r *domain.Recorded) { r.Data = &domain.FileMoved{} },
	} {
		r := domain.Recorded{Event: good}
		change(&r)
		var unexpected *domain.Unexpected
		if _, err := slot.Evolve(pending, r); !errors.As(err, &unexpected) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSlotID: two slots never have the same id, and an id leads back to its names.
func TestSlotID(t *testing.T) {
	t.Parallel()
	for want, names := range map[slot.ID][2]string{
		"goes:2026-121":  {"goes", "2026-121"},
		"a%3Ab:c%25%2Fd": {"a:b", "c%/d"},
		"K%C3%A4fer:x":   {"Käfer", "x"},
	} {
		if got := slot.NewID(names[0], names[1]); got != want || got.Aggregate().String() != "slot/"+string(want) {
			t.Errorf("%q has the id %s, want %s", names, got, want)
		}
	}
	for _, bad := range []string{"", "a", ":", "a:", ":b", "a:b:c", "a/b:c", "a:%41", "a:%4", "a:%zz", "a:..", "a:%0A", "a:b c"} {
		if id, _, _, err := slot.ParseID(bad); err == nil {
			t.Errorf("%q was taken as %s", bad, id)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z:%/. _ä-]{1,9}`)
		dataset, group := name.Draw(t, "dataset"), name.Draw(t, "group")
		if slot.Check(dataset, group) != nil {
			return
		}
		id, d, g, err := slot.ParseID(string(slot.NewID(dataset, group)))
		if err != nil || d != dataset || g != group {
			t.Fatalf("%q and %q became %s, which is %q and %q (%v)", dataset, group, id, d, g, err)
		}
	})
	if err := slot.Check(strings.Repeat("d", 129), strings.Repeat("g", 201)); err == nil || !strings.Contains(fmt.Sprint(err), "the group") {
		t.Errorf("long names: %v", err)
	}
}
