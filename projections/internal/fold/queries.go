package fold

import (
	"context"
	"slices"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// queryState is the state of a query.
type queryState struct {
	lookup.Query
	rowState
	row pgdb.AccessionQuery
}

func (s *queryState) state() *rowState             { return &s.rowState }
func (s *queryState) ended() bool                  { return s.State.Ended() }
func (s *queryState) columns() pgdb.AccessionQuery { return s.row }

func (f *Fold) loadQueries(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadQueries(ctx, ids)
	for _, row := range rows {
		f.queries.load(row.ID, &queryState{QueryOf(row), rowState{}, row}, f.round)
	}
	return err
}

// query folds a query's event.
func (f *Fold) query(r domain.Recorded) error {
	s := f.queries.byKey[r.Aggregate.ID]
	next, err := lookup.Evolve(s.Query, r)
	if err != nil {
		return err
	}
	f.deposit(r, depositedQuery(s.Query), depositedQuery(next))
	s.Query, s.dirty = next, true
	row := &s.row
	row.ID, row.Version, row.Status, row.CommandID, row.LastModified = string(next.ID), next.Version, string(next.State), next.CommandID, r.Time.Time
	switch d := r.Data.(type) {
	case *domain.QueryReceived:
		q := d.Request
		row.Submitter, row.FileName, row.ListUrl, row.ListSha256, row.Size = q.Submitter, q.FileName, q.ListURL, q.ListSHA256, q.Size
		row.Format, row.Recipients = q.Format, int64(q.Recipients)
		if w := q.Within; w != nil {
			row.WithinCollections, row.WithinOwn = append([]string{}, w.Collections...), w.Own
		}
		row.Lines, row.WrongLines, row.ReceivedAt = int64(q.Lines), int64(q.Wrong), r.Time.Time
	case *domain.QueryGrabbed:
		row.Processor, row.GrabbedAt = &d.Processor, timeOrNull(r.Time)
	case *domain.QueryAnswered:
		found, missing := int64(d.Answer.Found), int64(d.Answer.NotFound)
		row.Found, row.NotFound, row.AnswerUrl, row.AnswerSha256 = &found, &missing, &d.Answer.URL, &d.Answer.SHA256
	}
	if next.State.Ended() {
		row.EndedAt = timeOrNull(r.Time)
	}
	row.ReasonClass, row.ReasonCode, row.ReasonMessage = nil, nil, nil
	if why := next.Reason; why != nil {
		class, code := string(why.Class), string(why.Code)
		row.ReasonClass, row.ReasonCode, row.ReasonMessage = &class, &code, &why.Message
	}
	row.TicketUser, row.TicketSlot, row.TicketTurn = nil, nil, nil
	if t := next.Ticket; t != nil {
		row.TicketUser, row.TicketSlot, row.TicketTurn = &t.User, &t.Slot, &t.Turn
	}
	return nil
}

// RequestOf returns what the query of a row asks.
func RequestOf(row pgdb.AccessionQuery) asked.Request {
	r := asked.Request{Submitter: row.Submitter, FileName: row.FileName, ListURL: row.ListUrl, ListSHA256: row.ListSha256, Size: row.Size,
		Lines: int(row.Lines), Wrong: int(row.WrongLines), Format: row.Format, Recipients: int(row.Recipients)}
	if row.WithinCollections != nil {
		r.Within = &asked.Within{Own: row.WithinOwn, Collections: slices.Concat(row.WithinCollections)} // nil if there are none
	}
	return r
}

// QueryOf returns the query of a row, with what the row has of its reason.
func QueryOf(row pgdb.AccessionQuery) lookup.Query {
	q := lookup.Query{ID: domain.QueryID(row.ID), Version: row.Version, State: asked.State(row.Status), CommandID: row.CommandID, Received: domain.At(row.ReceivedAt), Modified: domain.At(row.LastModified),
		Request: RequestOf(row)}
	if row.Found != nil {
		q.Answer = &asked.Answer{Found: int(*row.Found), NotFound: int(value(row.NotFound)), Wrong: int(row.WrongLines), URL: value(row.AnswerUrl), SHA256: value(row.AnswerSha256)}
	}
	if row.ReasonCode != nil {
		q.Reason = &domain.Reason{Class: domain.Class(value(row.ReasonClass)), Code: domain.Code(*row.ReasonCode), Message: value(row.ReasonMessage)}
	}
	if row.TicketUser != nil {
		q.Ticket = &domain.Ticket{Queue: fair.QueueQuery, User: *row.TicketUser, Slot: value(row.TicketSlot), Turn: value(row.TicketTurn)}
	}
	return q
}
