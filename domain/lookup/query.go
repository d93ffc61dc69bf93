package lookup

import (
	"fmt"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
)

// Query is the state of a query: a list of identifiers that waits for its answer in a
// deposit queue.
type Query struct {
	ID        domain.QueryID
	Version   int64 // number of its last event, from 1
	State     asked.State
	Request   asked.Request
	Answer    *asked.Answer
	Reason    *domain.Reason // why it failed or is parked
	Ticket    *domain.Ticket // in its deposit queue, nil = none
	Received  domain.Time
	Modified  domain.Time
	CommandID string // the command that wrote Version
}

// MailKey returns the key of the mail with the report of a query.
func MailKey(id domain.QueryID) string { return string(id) + "/report" }

// ReportKey returns the key of the n-th mail, from 1, by which an operator sends that report
// again.
func ReportKey(id domain.QueryID, n int) string { return fmt.Sprintf("%s/again/%d", id, n) }

// Transition is one row of the table.
type Transition struct {
	Row      string
	From, To asked.State
	Event    domain.EventType
	By       string // who makes it
}

// Transitions are all changes of a query's state; nothing else is legal.
var Transitions = []Transition{
	{"Q1", asked.None, asked.Received, domain.EventQueryReceived, "submission"},
	{"Q2", asked.Received, asked.Grabbed, domain.EventQueryGrabbed, "processor"},
	{"Q3", asked.Grabbed, asked.Answered, domain.EventQueryAnswered, "processor"},
	{"Q4", asked.Grabbed, asked.Failed, domain.EventQueryFailed, "processor, operator"},
	{"Q5", asked.Received, asked.Parked, domain.EventQueryParked, "operator"},
	{"Q6", asked.Parked, asked.Received, domain.EventQueryUnparked, "operator"},
	{"Q7", asked.Received, asked.Failed, domain.EventQueryFailed, "operator"},
	{"Q8", asked.Parked, asked.Failed, domain.EventQueryFailed, "operator"},
}

// Command asks for a change of a query.
type Command interface{ event() domain.EventType }

// Commands for queries. Tickets are those of the deposit queue; that of a grab has its
// turn.
type (
	// Receive makes the query (Q1).
	Receive struct {
		Request   asked.Request
		KeySHA256 string // of the idempotency key, "" = none
		Ticket    domain.Ticket
	}
	// Grab takes the query out of its queue, so that it runs (Q2).
	Grab struct {
		Ticket          domain.Ticket
		Ring            domain.RingPosition
		Rule, Processor string
	}
	// Finish ends the query with its answer (Q3). Mailed is the outcome of the mail about
	// its end, nil = none was to be sent.
	Finish struct {
		Answer asked.Answer
		Mailed *domain.QueryDelivery
	}
	// Fail ends the query without one (Q4, Q7, Q8). Mailed is as that of Finish; Ring is
	// that of a query that waits, which leaves its queue.
	Fail struct {
		Reason domain.Reason
		Mailed *domain.QueryDelivery
		Ring   *domain.RingPosition
	}
	// Park takes the waiting query out of its queue (Q5).
	Park struct {
		Reason domain.Reason
		Ring   domain.RingPosition
	}
	// Unpark lets the query wait again (Q6).
	Unpark struct {
		Reason *domain.Reason
		Ticket domain.Ticket
	}
)

func (Receive) event() domain.EventType { return domain.EventQueryReceived }
func (Grab) event() domain.EventType    { return domain.EventQueryGrabbed }
func (Finish) event() domain.EventType  { return domain.EventQueryAnswered }
func (Fail) event() domain.EventType    { return domain.EventQueryFailed }
func (Park) event() domain.EventType    { return domain.EventQueryParked }
func (Unpark) event() domain.EventType  { return domain.EventQueryUnparked }

// row finds the row that an event takes from a state.
func row(from asked.State, event domain.EventType) (Transition, bool) {
	i := slices.IndexFunc(Transitions, func(t Transition) bool { return t.From == from && t.Event == event })
	if i < 0 {
		return Transition{}, false
	}
	return Transitions[i], true
}

// Decide returns the decision that cmd leads to in state q. If the rules do not allow it
// the error is a *[domain.Refused].
func Decide(q Query, cmd Command) (domain.Decision, error) {
	t, ok := row(q.State, cmd.event())
	if !ok {
		return q.refuse(cmd, domain.CodeIllegal, "")
	}
	m := domain.QueryMove{From: t.From, To: t.To}
	var data domain.EventData
	switch c := cmd.(type) {
	case Receive:
		if c.Request.Lines < 1 {
			return q.refuse(cmd, domain.CodeEmptyListing, "its list asks for nothing")
		}
		m.Ticket = &c.Ticket
		data = &domain.QueryReceived{QueryMove: m, Request: c.Request, KeySHA256: c.KeySHA256}
	case Grab:
		if w := q.Ticket; w == nil || c.Ticket.Queue != w.Queue || c.Ticket.User != w.User || c.Ticket.Turn < 1 || c.Ticket.Turn != c.Ring.Turn {
			return q.refuse(cmd, domain.CodeNotWaiting, "it does not wait there")
		}
		m.Ticket, m.Ring = &c.Ticket, &c.Ring
		data = &domain.QueryGrabbed{QueryMove: m, Rule: c.Rule, Processor: c.Processor, Size: q.Request.Size}
	case Finish:
		if n := c.Answer.Found + c.Answer.NotFound + c.Answer.Wrong; n != q.Request.Lines {
			return q.refuse(cmd, domain.CodeIllegal, "its answers are not those of its list")
		}
		if (c.Mailed != nil) != (q.Request.Recipients > 0) {
			return q.refuse(cmd, domain.CodeIllegal, "its mail is not that which was asked for")
		}
		m.Mailed = c.Mailed
		data = &domain.QueryAnswered{QueryMove: m, Answer: c.Answer}
	case Fail:
		if (c.Ring != nil) != (t.From == asked.Received) {
			return q.refuse(cmd, domain.CodeNotWaiting, "whether it waits has changed")
		}
		m.Reason, m.Mailed, m.Ring = c.Reason.Final(), c.Mailed, c.Ring
	case Park:
		m.Reason, m.Ring = &c.Reason, &c.Ring
	case Unpark:
		m.Reason, m.Ticket = c.Reason, &c.Ticket
	}
	if data == nil {
		data = &m
	}
	return domain.Decision{Row: t.Row, Events: []domain.Event{{Type: t.Event, Aggregate: q.ID.Aggregate(), Version: q.Version + 1, Data: data}}}, nil
}

func (q Query) refuse(cmd Command, code domain.Code, why string) (domain.Decision, error) {
	name := string(cmd.event())
	r := &domain.Refused{Aggregate: q.ID.Aggregate(), Command: name, State: string(q.State), Code: code}
	if why != "" {
		r.Message = r.Aggregate.String() + " cannot have " + name + ": " + why
	}
	for _, t := range Transitions {
		if t.From == q.State {
			r.Possible = append(r.Possible, string(t.To))
		}
	}
	return domain.Decision{}, r
}

// Evolve applies one event to a query. It refuses (*[domain.Unexpected]) one that is not
// its next, does not start from its state, or makes a transition that the table does not
// have.
func Evolve(q Query, r domain.Recorded) (Query, error) {
	m, ok := domain.MoveOfQuery(r.Data)
	t, legal := row(m.From, r.Type)
	if !ok || !legal || t.To != m.To || m.From != q.State || r.Aggregate.Kind != domain.KindQuery || q.ID != "" && r.Aggregate.ID != string(q.ID) || r.Version != q.Version+1 {
		return q, &domain.Unexpected{Aggregate: r.Aggregate, Type: r.Type, Version: r.Version, Have: q.Version, From: string(m.From), State: string(q.State)}
	}
	q.ID = domain.QueryID(r.Aggregate.ID)
	q.Version, q.State, q.Modified, q.CommandID = r.Version, m.To, r.Time, r.CommandID
	q.Reason, q.Ticket = m.Reason, m.Ticket
	switch d := r.Data.(type) {
	case *domain.QueryReceived:
		q.Request, q.Received = d.Request, r.Time
	case *domain.QueryAnswered:
		answer := d.Answer
		q.Answer = &answer
	}
	return q, nil
}
