package lookup_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/internal/testkit/model"
)

// command is a command of the model as one of the rules.
func command(c model.QueryCommand) lookup.Command {
	ticket := domain.Ticket{Queue: "query", User: c.User, Slot: 2, Turn: int64(c.Turn)}
	ring := domain.RingPosition{Turn: int64(c.Ring)}
	reason := domain.Reason{Class: domain.ClassWait, Code: domain.CodeParked, Message: "night"}
	switch c.Name {
	case "receive":
		request := asked.Request{Submitter: c.User, Lines: c.Lines}
		if c.Mail {
			request.Recipients = 1
		}
		return lookup.Receive{Request: request, Ticket: ticket}
	case "grab":
		return lookup.Grab{Ticket: ticket, Ring: ring, Rule: "round_robin", Processor: "default"}
	case "finish":
		finish := lookup.Finish{Answer: asked.Answer{Found: c.Lines}}
		if c.Lines > 1 {
			finish.Answer = asked.Answer{Found: c.Lines - 1, Wrong: 1}
		}
		if c.Mail {
			finish.Mailed = &domain.QueryDelivery{Delivered: true}
		}
		return finish
	case "fail":
		fail := lookup.Fail{Reason: domain.Reason{Class: domain.ClassSystem, Code: "x"}}
		if c.Ring > 0 {
			fail.Ring = &ring
		}
		return fail
	case "park":
		return lookup.Park{Reason: reason, Ring: ring}
	}
	return lookup.Unpark{Reason: &reason, Ticket: ticket}
}

// both is a query as the rules and as the model have it.
type both struct {
	query lookup.Query
	want  model.Query
}

// do does a command to both, compares them, and returns the row that it took.
func (b *both) do(t rapid.TB, c model.QueryCommand) (model.QueryRow, bool) {
	t.Helper()
	was := b.want
	row, taken := b.want.Do(c)
	dec, err := lookup.Decide(b.query, command(c))
	if !taken {
		var refused *domain.Refused
		ended := was.State == "answered" || was.State == "failed"
		if !errors.As(err, &refused) || refused.Code == "" || (len(refused.Possible) == 0) != ended {
			t.Fatalf("%+v of %+v takes %s (%v), want a refusal", c, was, dec.Row, err)
		}
		return row, false
	}
	if err != nil || len(dec.Events) != 1 {
		t.Fatalf("%+v of %+v: %d events, %v, want %v", c, was, len(dec.Events), err, row)
	}
	e := dec.Events[0]
	m, _ := domain.MoveOfQuery(e.Data)
	if got := (model.QueryRow{Row: dec.Row, From: string(m.From), To: string(m.To), Event: string(e.Type)}); got != row {
		t.Fatalf("%+v of %+v takes %v, want %v", c, was, got, row)
	}
	if b.query, err = lookup.Evolve(b.query, domain.Recorded{Event: e, CommandID: "c"}); err != nil {
		t.Fatal(err)
	}
	if _, err := lookup.Evolve(b.query, domain.Recorded{Event: e}); err == nil {
		t.Fatalf("%s is applied twice", e.Type)
	}
	user := ""
	if b.query.Ticket != nil {
		user = b.query.Ticket.User
	}
	q, w := b.query, b.want
	if string(q.State) != w.State || q.Version != int64(w.Version) || q.Request.Lines != w.Lines || user != w.User || (q.Answer != nil) != w.Answered || q.CommandID != "c" {
		t.Fatalf("%+v of %+v leads to %+v, want %+v", c, was, q, w)
	}
	return row, true
}

func newQuery() both { return both{query: lookup.Query{ID: domain.NewQueryID(3)}} }

// TestQueryTable: every command in every state takes the row of the model, or is refused
// where the model refuses it.
func TestQueryTable(t *testing.T) {
	t.Parallel()
	grab := model.QueryCommand{Name: "grab", User: "ana", Turn: 7, Ring: 7}
	taken := map[model.QueryRow]bool{}
	for _, mail := range []bool{false, true} {
		received := model.QueryCommand{Name: "receive", User: "ana", Lines: 2, Mail: mail}
		for _, path := range [][]model.QueryCommand{
			nil, {received}, {received, {Name: "park"}}, {received, grab},
			{received, grab, {Name: "finish", Lines: 2, Mail: mail}}, {received, grab, {Name: "fail"}},
		} {
			before := newQuery()
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
	}
	if len(lookup.Transitions) != len(model.QueryRows) || len(taken) != len(model.QueryRows) {
		t.Errorf("the table has %d rows, %d were taken, want %d", len(lookup.Transitions), len(taken), len(model.QueryRows))
	}
}

// commands returns every command, with tickets, turns, lines and mails that fit and that do
// not.
func commands() (all []model.QueryCommand) {
	for _, user := range []string{"ana", "ben"} {
		for _, turn := range []int{0, 7} {
			for _, ring := range []int{0, 7, 8} {
				for _, name := range []string{"grab", "fail", "park", "unpark"} {
					all = append(all, model.QueryCommand{Name: name, User: user, Turn: turn, Ring: ring})
				}
			}
		}
		for _, lines := range []int{0, 2, 3} {
			for _, mail := range []bool{false, true} {
				for _, name := range []string{"receive", "finish"} {
					all = append(all, model.QueryCommand{Name: name, User: user, Lines: lines, Mail: mail})
				}
			}
		}
	}
	return all
}

// TestQueryWalks: random histories go as the model's, and take every row.
func TestQueryWalks(t *testing.T) {
	t.Parallel()
	taken := map[model.QueryRow]bool{}
	all := rapid.SampledFrom(commands())
	for range 20 { // a hundred walks take a rare row nearly always
		rapid.Check(t, func(t *rapid.T) {
			b := newQuery()
			for range rapid.IntRange(10, 60).Draw(t, "commands") {
				c := all.Draw(t, "command")
				if rapid.Bool().Draw(t, "fits") {
					c.User, c.Lines, c.Mail, c.Turn, c.Ring = "ana", max(b.want.Lines, 1), b.want.Mail, 7, 0
					if b.want.State == "received" {
						c.Ring = 7
					}
				}
				if row, ok := b.do(t, c); ok {
					taken[row] = true
				}
			}
		})
		if len(taken) == len(model.QueryRows) {
			break
		}
	}
	for _, row := range model.QueryRows {
		if !taken[row] {
			t.Errorf("%v was never taken", row)
		}
	}
}
