package compute

import (
	"cmp"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
)

// DefaultAttempts is how often workers may take an entry.
const DefaultAttempts = 3

// Transition is one row of the table.
type Transition struct {
	Row      string
	From, To entry.State
	Event    domain.EventType
	By       string // who makes it
}

// Transitions are all changes of an entry's state; nothing else is legal.
var Transitions = []Transition{
	{"E1", entry.None, entry.Pending, domain.EventEntryRequested, "submission"},
	{"E2", entry.Pending, entry.Staging, domain.EventEntryClaimed, "worker"},
	{"E3", entry.Staging, entry.Pending, domain.EventEntryReturned, "worker, leader"},
	{"E4", entry.Staging, entry.Successful, domain.EventEntryCompleted, "worker"},
	{"E5", entry.Staging, entry.Failed, domain.EventEntryFailed, "worker, leader"},
	{"E6", entry.Pending, entry.Failed, domain.EventEntryFailed, "operator, leader"},
	{"E7", entry.Failed, entry.Pending, domain.EventEntryReturned, "operator"},
	{"E8", entry.Successful, entry.Purged, domain.EventEntryPurged, "leader"},
	{"E9", entry.Failed, entry.Purged, domain.EventEntryPurged, "leader"},
}

// Command asks for a change of an entry.
type Command interface {
	// name is how refusals call it.
	name() string
	// wants reports whether a row is what the command asks of an entry.
	wants(Transition, Entry) bool
}

// Commands for entries.
type (
	// Request makes the entry (E1).
	Request struct {
		Work    entry.Work
		Request entry.Request
	}
	// Claim is of the worker that takes the entry (E2).
	Claim struct{ Worker string }
	// Return ends the attempt of a worker, which will not complete it: the entry waits again
	// (E3), or has failed when its attempts are used up (E5).
	Return struct {
		Reason domain.Reason
		// Attempts is how many an entry has, 0 = [DefaultAttempts].
		Attempts int
		// Uncounted is set when the fault is not in the work: the attempt is given back.
		Uncounted bool
	}
	// Complete ends the entry with its result (E4).
	Complete struct{ Result entry.Result }
	// Fail ends the entry without one (E5, E6).
	Fail struct{ Reason domain.Reason }
	// Retry lets a failed entry wait again, with all its attempts (E7).
	Retry struct{ Reason *domain.Reason }
	// Purge ends what the live state keeps of an entry that has ended (E8, E9).
	Purge struct{}
)

func (Request) name() string  { return "request" }
func (Claim) name() string    { return "claim" }
func (Return) name() string   { return "return" }
func (Complete) name() string { return "complete" }
func (Fail) name() string     { return "fail" }
func (Retry) name() string    { return "retry" }
func (Purge) name() string    { return "purge" }

func (Request) wants(t Transition, _ Entry) bool  { return t.Event == domain.EventEntryRequested }
func (Claim) wants(t Transition, _ Entry) bool    { return t.Event == domain.EventEntryClaimed }
func (Complete) wants(t Transition, _ Entry) bool { return t.Event == domain.EventEntryCompleted }
func (Fail) wants(t Transition, _ Entry) bool     { return t.Event == domain.EventEntryFailed }
func (Purge) wants(t Transition, _ Entry) bool    { return t.Event == domain.EventEntryPurged }
func (Retry) wants(t Transition, _ Entry) bool {
	return t.From == entry.Failed && t.To == entry.Pending
}
func (c Return) wants(t Transition, e Entry) bool {
	to := entry.Pending
	if !c.Uncounted && e.Attempt >= cmp.Or(c.Attempts, DefaultAttempts) {
		to = entry.Failed
	}
	return t.From == entry.Staging && t.To == to
}

// Decide returns the decision that cmd leads to for entry e. If the rules do not allow it the
// error is a *[domain.Refused].
func Decide(e Entry, cmd Command) (domain.Decision, error) {
	i := slices.IndexFunc(Transitions, func(t Transition) bool { return t.From == e.State && cmd.wants(t, e) })
	if i < 0 {
		return e.refuse(cmd, domain.CodeIllegal, "")
	}
	t := Transitions[i]
	m := &domain.EntryMove{From: t.From, To: t.To, Work: e.Work, Attempt: e.Attempt, Worker: e.Worker}
	switch c := cmd.(type) {
	case Request:
		if err := c.check(); err != nil {
			return e.refuse(cmd, domain.CodeBadName, err.Error())
		}
		m.Work, m.Request = c.Work, &c.Request
	case Claim:
		if c.Worker == "" {
			return e.refuse(cmd, domain.CodeFenced, "it has no worker")
		}
		m.Worker, m.Attempt = c.Worker, e.Attempt+1
	case Return:
		m.Reason = &c.Reason
		if c.Uncounted {
			m.Attempt--
		}
		if t.To == entry.Failed {
			m.Reason = c.Reason.Final()
		}
	case Complete:
		m.Result = &c.Result
	case Fail:
		m.Reason = c.Reason.Final()
	case Retry:
		m.Reason, m.Attempt = c.Reason, 0
	}
	return domain.Decision{Row: t.Row, Events: []domain.Event{{Type: t.Event, Aggregate: e.ID.Aggregate(), Version: e.Version + 1, Data: m}},
		Require: domain.Require{Unlocked: e.Owned()}}, nil
}

// check refuses what cannot be requested.
func (c Request) check() error {
	if err := c.Work.Check(); err != nil {
		return err
	}
	return c.Request.Check()
}

func (e Entry) refuse(cmd Command, code domain.Code, why string) (domain.Decision, error) {
	r := &domain.Refused{Aggregate: e.ID.Aggregate(), Command: cmd.name(), State: string(e.State), Code: code}
	if why != "" {
		r.Message = "cannot " + cmd.name() + " " + r.Aggregate.String() + ": " + why
	}
	for _, t := range Transitions {
		if t.From == e.State && code == domain.CodeIllegal {
			r.Possible = append(r.Possible, string(t.To))
		}
	}
	return domain.Decision{}, r
}

// legal reports whether the table has the move that an event makes.
func legal(event domain.EventType, m *domain.EntryMove) bool {
	return slices.ContainsFunc(Transitions, func(t Transition) bool { return t.Event == event && t.From == m.From && t.To == m.To })
}

// Evolve applies one event to an entry. It refuses (*[domain.Unexpected]) one that is not
// its next, does not start from its state, or makes a transition that the table does not
// have.
func Evolve(e Entry, r domain.Recorded) (Entry, error) {
	m, ok := r.Data.(*domain.EntryMove)
	if !ok {
		m = &domain.EntryMove{}
	}
	if !legal(r.Type, m) || m.From != e.State || r.Aggregate.Kind != domain.KindEntry || e.ID != "" && r.Aggregate.ID != string(e.ID) || r.Version != e.Version+1 {
		return e, &domain.Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: e.Version, From: string(m.From), State: string(e.State)}
	}
	e.ID, e.Version, e.State, e.Modified, e.CommandID = ID(r.Aggregate.ID), r.Version, m.To, r.Time, r.CommandID
	e.Work, e.Attempt, e.Reason, e.Worker = m.Work, m.Attempt, m.Reason, ""
	if e.Owned() {
		e.Worker = m.Worker
	}
	if m.Request != nil {
		e.Request, e.Requested = *m.Request, r.Time
	}
	if m.Result != nil {
		result := *m.Result
		e.Result = &result
	}
	return e, nil
}
