package fold

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// depositState is the last time that a batch or query was in a deposit queue; number 0 = it never was.
type depositState struct {
	pgdb.AccessionDeposit
	rowState
}

func (s *depositState) state() *rowState               { return &s.rowState }
func (s *depositState) ended() bool                    { return s.Number == 0 || s.EndedAt != nil }
func (s *depositState) columns() pgdb.AccessionDeposit { return s.AccessionDeposit }

func (f *Fold) loadDeposits(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadDeposits(ctx, ids)
	for _, row := range rows {
		f.deposits.load(row.BatchID, &depositState{row, rowState{}}, f.round)
	}
	return err
}

// deposited is a batch or a query as a deposit queue knows it.
type deposited struct {
	id     string
	ticket *domain.Ticket
	size   int64
	parked bool // if it waits no longer
}

func depositedBatch(b domain.Batch) deposited {
	return deposited{string(b.ID), b.Ticket, b.Submission.Size, b.State == domain.BatchHeld}
}

func depositedQuery(q lookup.Query) deposited {
	return deposited{string(q.ID), q.Ticket, q.Request.Size, q.State == asked.Parked}
}

// deposit folds what an event of a batch or query changed of its ticket.
func (f *Fold) deposit(r domain.Recorded, before, now deposited) {
	s := f.deposits.byKey[now.id]
	switch {
	case now.ticket.Waits() && !before.ticket.Waits(), now.ticket.Pooled() && !before.ticket.Pooled():
		f.receive(r, now)
	case s.Number == 0: // it waited before there were rows of deposits
	case now.ticket.Runs() && before.ticket.Waits():
		s.dirty, s.Turn, s.GrabbedAt, s.GrabbedSeq = true, now.ticket.Turn, timeOrNull(r.Time), orNull(int64(r.Seq))
		switch d := r.Data.(type) {
		case *domain.BatchGrabbed:
			s.grabbed(&d.Rule, &d.Processor, d.Ring)
		case *domain.QueryGrabbed:
			s.grabbed(&d.Rule, &d.Processor, d.Ring)
		}
	case now.ticket == nil && before.ticket != nil:
		s.dirty, s.EndedAt = true, timeOrNull(r.Time)
		if before.ticket.Waits() && now.parked {
			s.ParkedAt = s.EndedAt
		}
	}
}

func (s *depositState) grabbed(rule, processor *string, ring *domain.RingPosition) {
	used := int64(ring.Used)
	s.Rule, s.Processor, s.Cursor, s.Used, s.Lap = rule, processor, &ring.Cursor, &used, &ring.Lap
}

// receive begins a row for a deposit that joins a queue, or runs beside it. The row of the time
// before is kept under a key of its own until it is written.
func (f *Fold) receive(r domain.Recorded, now deposited) {
	last := f.deposits.byKey[now.id]
	if last.Number > 0 {
		f.deposits.touch(fmt.Sprintf("%s/%d", now.id, last.Number), last, f.round)
	}
	f.deposits.touch(now.id, &depositState{pgdb.AccessionDeposit{
		BatchID: now.id, Number: last.Number + 1, Queue: now.ticket.Queue, UserName: now.ticket.User, Slot: now.ticket.Slot,
		Size: now.size, ReceivedAt: r.Time.Time, Seq: int64(r.Seq), Synchronous: now.ticket.Synchronous,
	}, rowState{dirty: true}}, f.round)
}
