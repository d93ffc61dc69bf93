package fold

import (
	"context"
	"fmt"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// depositState is the last time that a batch was in a deposit queue; number 0 = it never was.
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
		f.deposits[row.BatchID] = &depositState{row, rowState{stored: true, round: f.round}}
	}
	return err
}

// deposit folds what an event of a batch changed of its ticket.
func (f *Fold) deposit(r domain.Recorded, before, now domain.Batch) {
	s := f.deposits[string(now.ID)]
	switch {
	case now.Waits() && !before.Waits(), now.Ticket.Pooled() && !before.Ticket.Pooled():
		f.receive(r, now)
	case s.Number == 0: // it waited before there were rows of deposits
	case now.Runs() && before.Waits():
		s.dirty, s.Turn, s.GrabbedAt, s.GrabbedSeq = true, now.Ticket.Turn, timeOrNull(r.Time), orNull(int64(r.Seq))
		if d, ok := r.Data.(*domain.BatchGrabbed); ok {
			s.Rule, s.Processor = &d.Rule, &d.Processor
			used := int64(d.Ring.Used)
			s.Cursor, s.Used, s.Lap = &d.Ring.Cursor, &used, &d.Ring.Lap
		}
	case now.Ticket == nil && before.Ticket != nil:
		s.dirty, s.EndedAt = true, timeOrNull(r.Time)
		if before.Waits() && now.State == domain.BatchHeld {
			s.ParkedAt = s.EndedAt
		}
	}
}

// receive begins a row for a batch that joins a queue, or runs beside it. The row of the time before is kept
// under a key of its own until it is written.
func (f *Fold) receive(r domain.Recorded, b domain.Batch) {
	id := string(b.ID)
	last := f.deposits[id]
	if last.Number > 0 {
		f.deposits[fmt.Sprintf("%s/%d", id, last.Number)] = last
	}
	f.deposits[id] = &depositState{pgdb.AccessionDeposit{
		BatchID: id, Number: last.Number + 1, Queue: b.Ticket.Queue, UserName: b.Ticket.User, Slot: b.Ticket.Slot,
		Size: b.Submission.Size, ReceivedAt: r.Time.Time, Seq: int64(r.Seq), Synchronous: b.Ticket.Synchronous,
	}, rowState{dirty: true, round: f.round}}
}
