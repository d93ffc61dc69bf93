package app

import (
	"context"

	"github.com/accession-ingest/accession/projections"
)

type (
	// DiffOptions say what is compared, and how much of it is told.
	DiffOptions = projections.DiffOptions
	// Diff tells in what two generations of the tables differ.
	Diff = projections.Diff
	// Generation is one of the two, and where it stands.
	Generation = projections.Generation
	// TableDiff tells it of one table.
	TableDiff = projections.TableDiff
	// RowDiff tells it of one row.
	RowDiff = projections.RowDiff
	// ColumnDiff tells it of one value.
	ColumnDiff = projections.ColumnDiff
)

// How a row differs.
const (
	RowOnlyBefore = projections.OnlyBefore
	RowOnlyAfter  = projections.OnlyAfter
	RowChanged    = projections.Changed
)

// DiffTables names the tables that can be compared.
func DiffTables() []string { return projections.DiffTables() }

// Diff compares the live tables with those that a rebuild left or kept, row by row.
// Differences are no error; not being able to compare is one.
func (a *App) Diff(ctx context.Context, o DiffOptions) (Diff, error) {
	const what = "compare the tables"
	pool, err := a.World.Pool(ctx)
	if err != nil {
		return Diff{}, explain(what, err)
	}
	d, err := projections.Compare(ctx, pool, o)
	return d, explain(what, err)
}
