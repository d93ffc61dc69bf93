package query

import (
	"context"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections/internal/pgdb"
)

type (
	// SlotRow is a row of report.slot_progress.
	SlotRow = pgdb.ReportSlotProgress
	// SlotTransition is a row of accession.slot_transition.
	SlotTransition = pgdb.AccessionSlotTransition
	// SlotToMove is a slot whose window has begun or is over.
	SlotToMove = pgdb.SlotsToMoveRow
)

// SlotFilter chooses slots; empty fields choose all.
type SlotFilter struct {
	Dataset  string
	Datasets []string // of one of these, nil = of any
	Status   domain.SlotState
	Code     string // of the reason of its last change
	// Since and Until bound when their windows begin: not before, and before.
	Since, Until time.Time
	After        slot.ID // only later ones: the last of the page before
	Limit        int     // at most, in the order of their ids (default 100)
}

// Slots lists slots with how many of their files stand where.
func Slots(ctx context.Context, db Reader, f SlotFilter) ([]SlotRow, error) {
	rows, err := pgdb.New(db).Slots(ctx, pgdb.SlotsParams{Dataset: f.Dataset, OfAll: f.Datasets == nil, Datasets: f.Datasets, Status: string(f.Status), Code: f.Code, Since: given(f.Since), Until: given(f.Until), After: string(f.After), MaxRows: atMost(f.Limit)})
	return rows, wrap("list slots", err)
}

// SlotVersion is the id of a slot, and its version.
type SlotVersion = pgdb.SlotVersionsRow

// SlotVersions lists slots as [Slots] does, with their versions: those that were made before a
// time, zero = all.
func SlotVersions(ctx context.Context, db Reader, f SlotFilter, madeBefore time.Time) ([]SlotVersion, error) {
	rows, err := pgdb.New(db).SlotVersions(ctx, pgdb.SlotVersionsParams{Dataset: f.Dataset, OfAll: f.Datasets == nil, Datasets: f.Datasets, Status: string(f.Status), Code: f.Code, Since: given(f.Since), Until: given(f.Until), MadeBefore: given(madeBefore), After: string(f.After), MaxRows: atMost(f.Limit)})
	return rows, wrap("list slots", err)
}

// SlotByID returns one slot, or ErrNotFound.
func SlotByID(ctx context.Context, db Reader, id slot.ID) (SlotRow, error) {
	row, err := pgdb.New(db).SlotByID(ctx, string(id))
	return row, wrap(string(id), err)
}

// SlotHistory returns the changes of a slot's state.
func SlotHistory(ctx context.Context, db Reader, id slot.ID) ([]SlotTransition, error) {
	rows, err := pgdb.New(db).SlotTransitions(ctx, string(id))
	return rows, wrap("list the changes of "+string(id), err)
}

// FilesWithoutSlot counts the files of a dataset that may yet become ready and whose group has no
// slot.
func FilesWithoutSlot(ctx context.Context, db Reader, dataset string) (int64, error) {
	n, err := pgdb.New(db).FilesWithoutSlot(ctx, dataset)
	return n, wrap("count the files of the dataset "+dataset+" without a slot", err)
}

// SlotsToMove lists up to limit slots whose window has begun or is over at a time, in the
// order of their ids.
func SlotsToMove(ctx context.Context, db Reader, now domain.Time, after slot.ID, limit int) ([]SlotToMove, error) {
	rows, err := pgdb.New(db).SlotsToMove(ctx, pgdb.SlotsToMoveParams{Now: now.Time, After: string(after), MaxRows: int32(limit)})
	return rows, wrap("look for slots whose window has begun or is over", err)
}
