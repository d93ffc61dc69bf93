package domain

import "github.com/accession-ingest/accession/domain/asked"

// QueryID is "qid" and ten digits.
type QueryID string

// NewQueryID returns the id of the n-th query, n from 1 to MaxID.
func NewQueryID(n int64) QueryID { return QueryID(formatID("qid", n)) }

// ParseQueryID checks that s is the id of a query.
func ParseQueryID(s string) (QueryID, error) { return parseID[QueryID]("qid", s) }

// Number returns the number in the id, 0 if it is malformed.
func (id QueryID) Number() int64 { return number("qid", string(id)) }

// Aggregate names the query as an aggregate.
func (id QueryID) Aggregate() Aggregate { return Aggregate{Kind: KindQuery, ID: string(id)} }

// The event types of queries.
const (
	EventQueryReceived EventType = "query.received"
	EventQueryGrabbed  EventType = "query.grabbed"
	EventQueryAnswered EventType = "query.answered"
	EventQueryFailed   EventType = "query.failed"
	EventQueryParked   EventType = "query.parked"
	EventQueryUnparked EventType = "query.unparked"
)

// queryRegistry is the part of queries of [Registry].
var queryRegistry = []EventDef{
	{EventQueryReceived, KindQuery, data[QueryReceived], "A list of identifiers was accepted."},
	{EventQueryGrabbed, KindQuery, data[QueryGrabbed], "The query has left its deposit queue, and runs from now on."},
	{EventQueryAnswered, KindQuery, data[QueryAnswered], "Every line of the list is answered."},
	{EventQueryFailed, KindQuery, data[QueryMove], "The query could not be answered."},
	{EventQueryParked, KindQuery, data[QueryMove], "An operator took the waiting query out of its deposit queue."},
	{EventQueryUnparked, KindQuery, data[QueryMove], "An operator let the parked query wait again."},
}

// QueryMove is part of every query event, as [BatchMove] is of batch events, and the data
// of those that carry nothing else.
type QueryMove struct {
	From   asked.State    `json:"from"`
	To     asked.State    `json:"to"`
	Reason *Reason        `json:"reason,omitempty"`
	Ticket *Ticket        `json:"ticket,omitempty"` // in the deposit queue from this event on; left out where it has none
	Ring   *RingPosition  `json:"ring,omitempty"`   // where the ring stands when the query has left it
	Mailed *QueryDelivery `json:"mailed,omitempty"` // with the end of a query whose report is mailed
}

// QueryDelivery is the outcome of the mail with the report of a query.
type QueryDelivery struct {
	Delivery  string  `json:"delivery"` // its key
	Delivered bool    `json:"delivered"`
	Reason    *Reason `json:"reason,omitempty"` // why it was not
}

// QueryReceived is the data of query.received.
type QueryReceived struct {
	QueryMove
	Request   asked.Request `json:"request"`
	KeySHA256 string        `json:"key_sha256,omitempty"` // of the idempotency key
}

// QueryGrabbed is the data of query.grabbed.
type QueryGrabbed struct {
	QueryMove
	Rule      string `json:"rule"`      // required, preferred or round_robin
	Processor string `json:"processor"` // that grabbed it
	Size      int64  `json:"size"`      // bytes of the list
}

// QueryAnswered is the data of query.answered.
type QueryAnswered struct {
	QueryMove
	Answer asked.Answer `json:"answer"`
}

func (*QueryMove) eventData()         {}
func (m *QueryMove) move() *QueryMove { return m }

// MoveOfQuery returns the part that every query event has.
func MoveOfQuery(d EventData) (QueryMove, bool) { return moveOf[QueryMove](d) }
