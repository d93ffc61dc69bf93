package fold

import (
	"context"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

// slotState is the state of a slot.
type slotState struct {
	slot.Slot
	rowState
	row pgdb.AccessionSlot
}

func (s *slotState) state() *rowState            { return &s.rowState }
func (s *slotState) ended() bool                 { return slot.Ended(s.State) }
func (s *slotState) columns() pgdb.AccessionSlot { return s.row }

func (f *Fold) loadSlots(ctx context.Context, q *pgdb.Queries, ids []string) error {
	rows, err := q.LoadSlots(ctx, ids)
	for _, row := range rows {
		f.slots.load(row.ID, &slotState{SlotOf(row), rowState{}, row}, f.round)
	}
	return err
}

// slot folds a slot's event into its state and its transitions. All times but the event's
// own are the log's.
func (f *Fold) slot(r domain.Recorded) error {
	s := f.slots.byKey[r.Aggregate.ID]
	before := s.Slot
	next, err := slot.Evolve(before, r)
	if err != nil {
		return err
	}
	s.Slot, s.dirty = next, true
	at, why := domain.At(r.Stored).Time, columnsOf(next.Reason)
	moved := pgdb.AccessionSlotTransition{SlotID: string(next.ID), Version: r.Version, Dataset: next.Dataset, GroupName: next.Group,
		FromStatus: string(before.State), ToStatus: string(next.State), At: at, Actor: string(r.Actor), OpensAt: next.Opens.Time, ClosesAt: next.Closes.Time,
		FilesArrived: int64(next.Files), ReasonClass: why.class, ReasonCode: why.code, ReasonMessage: why.message, Seq: int64(r.Seq)}
	if before.State == domain.SlotNone {
		s.row.CreatedAt = at
	} else {
		moved.FromSince = new(s.row.StatusSince)
	}
	f.slotTransitions = append(f.slotTransitions, moved)
	row := &s.row
	row.ID, row.Version, row.Status, row.Dataset, row.GroupName = string(next.ID), next.Version, string(next.State), next.Dataset, next.Group
	row.OpensAt, row.ClosesAt, row.FilesArrived, row.StatusSince = next.Opens.Time, next.Closes.Time, int64(next.Files), at
	row.ReasonClass, row.ReasonCode, row.ReasonMessage = why.class, why.code, why.message
	row.LastModified, row.CommandID = r.Time.Time, next.CommandID
	return nil
}

// SlotOf returns the slot of a row, with what the row has of its reason.
func SlotOf(row pgdb.AccessionSlot) slot.Slot {
	return slot.Slot{ID: slot.ID(row.ID), Version: row.Version, State: domain.SlotState(row.Status), Dataset: row.Dataset, Group: row.GroupName,
		Opens: domain.At(row.OpensAt), Closes: domain.At(row.ClosesAt), Files: int(row.FilesArrived),
		Reason: reasonColumns{class: row.ReasonClass, code: row.ReasonCode, message: row.ReasonMessage}.reason(),
		Since:  domain.At(row.StatusSince), Modified: domain.At(row.LastModified), CommandID: row.CommandID}
}
