package eventstore

import (
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/fair"
	"github.com/accession-ingest/accession/domain/lookup"
)

// Deposit is what waits or runs in a deposit queue: a batch or a query.
type Deposit struct {
	Aggregate domain.Aggregate
	Version   int64
	Ticket    *domain.Ticket // nil = it does neither
	Size      int64          // in bytes, 0 = unknown
}

// DepositOfBatch returns a batch as a deposit.
func DepositOfBatch(b domain.Batch) Deposit {
	return Deposit{b.ID.Aggregate(), b.Version, b.Ticket, b.Submission.Size}
}

// DepositOfQuery returns a query as a deposit.
func DepositOfQuery(q lookup.Query) Deposit {
	return Deposit{q.ID.Aggregate(), q.Version, q.Ticket, q.Request.Size}
}

// Waits reports whether the deposit waits to be grabbed.
func (d Deposit) Waits() bool { return d.Ticket.Waits() }

// Runs reports whether the deposit counts among the running ones of its user, or of the
// pool of synchronous deposits.
func (d Deposit) Runs() bool { return d.Ticket.Runs() }

// Entry returns the deposit as the queue orders it.
func (d Deposit) Entry() fair.Deposit {
	return fair.Deposit{ID: d.Aggregate.ID, Number: DepositNumber(d.Aggregate.ID), Size: d.Size}
}

// DepositNumber returns the number in the id of a batch or query, 0 if it is malformed.
func DepositNumber(id string) int64 {
	return max(domain.BatchID(id).Number(), domain.QueryID(id).Number())
}

// Deposits returns the deposit before and after the change; ok is false if it is about
// something else.
func (c Change) Deposits() (from, to Deposit, ok bool) {
	switch {
	case c.Batch != nil:
		return DepositOfBatch(c.Batch.From), DepositOfBatch(c.Batch.To), true
	case c.Query != nil:
		return DepositOfQuery(c.Query.From), DepositOfQuery(c.Query.To), true
	}
	return from, to, false
}
