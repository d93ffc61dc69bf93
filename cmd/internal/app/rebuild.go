package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// Migrated tells how many migrations each schema took.
type Migrated struct {
	Applied map[string]int `json:"applied"`
}

// Migrate makes or updates the tables of the projection and of the records, and
// grants rights on them to the roles that exist; with roles it makes these first.
// It is never done without being asked for.
func (a *App) Migrate(ctx context.Context, roles bool) (Migrated, error) {
	if roles {
		if err := a.Open.MakeRoles(ctx); err != nil {
			return Migrated{}, explain("make roles", err)
		}
	}
	applied, err := a.Open.Migrate(ctx)
	return Migrated{Applied: applied}, explain("migrate", err)
}

// RebuildOptions say how the tables are made anew.
type RebuildOptions struct {
	Resume   bool // go on with a rebuild that was interrupted
	KeepOld  bool // keep the tables that are replaced
	Accept   bool // swap even if the tables differ for no known reason
	Progress func(RebuildProgress)

	DropDependents bool // drop what others have built on the old tables with them
}

type (
	// RebuildProgress tells how far a rebuild is.
	RebuildProgress = rebuild.Progress
	// Rebuilt tells what a rebuild did.
	Rebuilt = rebuild.Result
	// TableDigest compares a table of both generations.
	TableDigest = rebuild.TableDigest
)

// Rebuild makes all tables and views that follow from the log anew, beside the
// live ones, compares and swaps them.
func (a *App) Rebuild(ctx context.Context, o RebuildOptions) (Rebuilt, error) {
	const what = "rebuild the tables"
	pool, err := a.Open.Pool(ctx)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	log, err := a.Open.Log(ctx)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	info, err := log.Info(ctx)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	source, err := a.Open.Source(ctx, false)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	done, err := rebuild.Run(ctx, rebuild.Config{
		Pool:   pool,
		Stream: projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last},
		Source: source,
		Last: func(ctx context.Context) (uint64, error) {
			info, err := log.Info(ctx)
			return info.Last, err
		},
		Resume: o.Resume, KeepOld: o.KeepOld, Accept: o.Accept, Progress: o.Progress, DropDependents: o.DropDependents,
	})
	switch {
	case err != nil && ctx.Err() != nil && done.Kept:
		return done, &Error{Kind: Interrupted, What: what, Err: errors.New("it was interrupted; the new tables are live, the old ones are still there"),
			Hint: "`accession rebuild --drop` removes the old ones"}
	case err != nil && ctx.Err() != nil:
		return done, &Error{Kind: Interrupted, What: what, Err: errors.New("it was interrupted; the live tables are as they were"),
			Hint: "`accession rebuild --resume` goes on, `accession rebuild --drop` removes what was made"}
	}
	return done, explain(what, err)
}

// DropRebuild removes what an interrupted rebuild left, and old tables that were
// kept; what others have built on these only with dropDependents.
func (a *App) DropRebuild(ctx context.Context, dropDependents bool) error {
	const what = "remove what a rebuild left"
	pool, err := a.Open.Pool(ctx)
	if err != nil {
		return explain(what, err)
	}
	return explain(what, rebuild.Drop(ctx, pool, dropDependents))
}

type (
	// DiffOptions say what is compared, and how much of it is told.
	DiffOptions = rebuild.DiffOptions
	// Diff tells in what two generations of the tables differ.
	Diff = rebuild.Diff
	// Generation is one of the two, and where it stands.
	Generation = rebuild.Generation
	// TableDiff tells it of one table.
	TableDiff = rebuild.TableDiff
	// RowDiff tells it of one row.
	RowDiff = rebuild.RowDiff
	// ColumnDiff tells it of one value.
	ColumnDiff = rebuild.ColumnDiff
)

// How a row differs.
const (
	RowOnlyBefore = rebuild.OnlyBefore
	RowOnlyAfter  = rebuild.OnlyAfter
	RowChanged    = rebuild.Changed
)

// DiffTables names the tables that can be compared.
func DiffTables() []string { return rebuild.DiffTables() }

// Diff compares the live tables with those that a rebuild left or kept, row by row.
// Differences are no error; not being able to compare is one.
func (a *App) Diff(ctx context.Context, o DiffOptions) (Diff, error) {
	const what = "compare the tables"
	pool, err := a.Open.Pool(ctx)
	if err != nil {
		return Diff{}, explain(what, err)
	}
	d, err := rebuild.Compare(ctx, pool, o)
	return d, explain(what, err)
}
