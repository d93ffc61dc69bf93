package layout

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/eventstore"
)

// Queries returns the path of the directory of all queries.
func (r Root) Queries() string { return r.At("/queries") }

// Query returns the path of the node of a query. Its data is how often the query was claimed
// since it was released last; none = since its grab, which is the first claim.
func (r Root) Query(id domain.QueryID) string { return r.At("/queries/" + string(id)) }

// QueryRequest returns the path of what a query asks for, a asked.Request.
func (r Root) QueryRequest(id domain.QueryID) string { return r.Query(id) + "/request" }

// QueryStatus returns the path of the status of a query.
func (r Root) QueryStatus(id domain.QueryID) string { return r.Query(id) + "/status" }

// QueryStatus is the data of /queries/QID/status.
type QueryStatus struct {
	Status       asked.State    `json:"status"`
	LastModified domain.Time    `json:"last_modified"`
	Received     domain.Time    `json:"received,omitzero"`
	Ticket       *domain.Ticket `json:"ticket,omitempty"` // in its deposit queue
	Answer       *asked.Answer  `json:"answer,omitempty"`
	Common
}

// Apply sets the fields of a query that its status holds.
func (s QueryStatus) Apply(q *lookup.Query) {
	q.State, q.Modified, q.Version, q.CommandID, q.Reason = s.Status, s.LastModified, s.Version, s.Command, s.reason()
	q.Ticket, q.Answer, q.Received = s.Ticket, s.Answer, s.Received
}

// QueryNodes returns the nodes of a query, parents first.
func (r Root) QueryNodes(q lookup.Query) []Node {
	if q.State == asked.None {
		return nil
	}
	nodes := []Node{{Path: r.Query(q.ID), Counter: true}, {Path: r.QueryRequest(q.ID), Value: q.Request},
		{Path: r.QueryStatus(q.ID), Value: QueryStatus{q.State, q.Modified, q.Received, q.Ticket, q.Answer, common(q.Version, q.CommandID, q.Reason)}}}
	return append(nodes, r.ticketNode(eventstore.DepositOfQuery(q))...)
}
