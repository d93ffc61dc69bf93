package compute_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// command is a command of the model as one of the rules.
func command(c model.EntryCommand) compute.Command {
	switch c.Name {
	case "request":
		asked := request
		switch c.Bad {
		case "dataset":
			asked.Work.Dataset = ""
		case "inputs":
			asked.Request.Inputs = nil
		}
		return asked
	case "claim":
		return compute.Claim{Worker: c.Worker}
	case "return":
		return compute.Return{Reason: failed, Attempts: c.Attempts, Uncounted: c.Uncounted}
	case "complete":
		return compute.Complete{Result: entry.Result{SHA256: "a1"}}
	case "fail":
		return compute.Fail{Reason: failed}
	case "retry":
		return compute.Retry{}
	}
	return compute.Purge{}
}

// both is an entry as the rules and as the model have it.
type both struct {
	entry compute.Entry
	want  model.Entry
}

func newEntry() both { return both{entry: compute.Entry{ID: compute.NewID(7)}} }

// do does a command to both, compares them, and returns the row that it took.
func (b *both) do(t rapid.TB, c model.EntryCommand) (model.EntryRow, bool) {
	t.Helper()
	was, before := b.want, b.entry
	row, taken := b.want.Do(c)
	dec, err := compute.Decide(before, command(c))
	if !taken {
		var refused *domain.Refused
		if !errors.As(err, &refused) || refused.Code == "" {
			t.Fatalf("%+v of %+v takes %s (%v), want a refusal", c, was, dec.Row, err)
		}
		return row, false
	}
	if err != nil || len(dec.Events) != 1 || dec.Require.Unlocked != (was.Worker != "") {
		t.Fatalf("%+v of %+v: %+v, %v, want %v", c, was, dec, err, row)
	}
	e := dec.Events[0]
	m, _ := e.Data.(*domain.EntryMove)
	if got := (model.EntryRow{Row: dec.Row, From: string(m.From), To: string(m.To), Event: string(e.Type)}); got != row {
		t.Fatalf("%+v of %+v takes %v, want %v", c, was, got, row)
	}
	if b.entry, err = compute.Evolve(before, domain.Recorded{Event: e, CommandID: "c"}); err != nil {
		t.Fatal(err)
	}
	if _, err := compute.Evolve(b.entry, domain.Recorded{Event: e}); err == nil {
		t.Fatalf("%s is applied twice", e.Type)
	}
	got, w := b.entry, b.want
	if string(got.State) != w.State || got.Attempt != w.Attempt || got.Worker != w.Worker || (got.Result != nil) != w.Stored || got.Version != int64(w.Version) || got.CommandID != "c" {
		t.Fatalf("%+v of %+v leads to %+v, want %+v", c, was, got, w)
	}
	if got.Work != request.Work || len(got.Request.Inputs) != 1 {
		t.Fatalf("it has lost what it is about: %+v", got)
	}
	return row, true
}

// commands returns every command, of two workers and with every count of attempts.
func commands() (all []model.EntryCommand) {
	for _, name := range []string{"request", "complete", "fail", "retry", "purge"} {
		all = append(all, model.EntryCommand{Name: name})
	}
	for _, part := range []string{"dataset", "inputs"} {
		all = append(all, model.EntryCommand{Name: "request", Bad: part})
	}
	for _, worker := range []string{"", "v", "w"} {
		all = append(all, model.EntryCommand{Name: "claim", Worker: worker})
	}
	for attempts := range 4 {
		for _, uncounted := range []bool{false, true} {
			all = append(all, model.EntryCommand{Name: "return", Attempts: attempts, Uncounted: uncounted})
		}
	}
	return all
}

// TestEntryTable: every command in every state takes the row of the model, or is refused
// where the model refuses it.
func TestEntryTable(t *testing.T) {
	t.Parallel()
	requested, claimed := model.EntryCommand{Name: "request"}, model.EntryCommand{Name: "claim", Worker: "w"}
	returned := model.EntryCommand{Name: "return"}
	taken := map[model.EntryRow]bool{}
	for _, path := range [][]model.EntryCommand{
		nil, {requested}, {requested, claimed}, {requested, claimed, returned, claimed}, {requested, claimed, returned, claimed, returned, claimed},
		{requested, claimed, {Name: "complete"}}, {requested, claimed, {Name: "fail"}}, {requested, {Name: "fail"}, {Name: "purge"}},
	} {
		before := newEntry()
		for _, c := range path {
			before.do(t, c)
		}
		for _, c := range commands() {
			now := before
			if row, ok := now.do(t, c); ok {
				taken[row] = true
			}
		}
	}
	if len(compute.Transitions) != len(model.EntryRows) || len(taken) != len(model.EntryRows) {
		t.Errorf("the table has %d rows, %d were taken, want %d", len(compute.Transitions), len(taken), len(model.EntryRows))
	}
}

// TestEntryWalks: random histories go as the model's, and take every row.
func TestEntryWalks(t *testing.T) {
	t.Parallel()
	taken := map[model.EntryRow]bool{}
	all := rapid.SampledFrom(commands())
	for range 20 { // a hundred walks take a rare row nearly always
		rapid.Check(t, func(t *rapid.T) {
			b := newEntry()
			b.do(t, model.EntryCommand{Name: "request"})
			taken[model.EntryRows[0]] = true
			for range rapid.IntRange(1, 40).Draw(t, "commands") {
				if row, ok := b.do(t, all.Draw(t, "command")); ok {
					taken[row] = true
				}
			}
		})
		if len(taken) == len(model.EntryRows) {
			break
		}
	}
	for _, row := range model.EntryRows {
		if !taken[row] {
			t.Errorf("%v was never taken", row)
		}
	}
}
