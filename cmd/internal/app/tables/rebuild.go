// Package tables has the use cases of operators about the tables that follow from the log.
//
//	Migrate          creates or updates them
//	Rebuild          rebuilds them from the log DropRebuild    removes what one left
//	Compare          compares the tables of before and after a rebuild
//	Poison, PoisonAt show events that the tables lack
//	RetryPoison      applies them
//
// Their errors are those of package app.
package tables

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// Migrated says how many migrations each schema took.
type Migrated struct {
	Applied map[string]int `json:"applied"`
}

// Migrate creates or updates the tables of the projection and of the records, and
// grants rights on them to the roles that exist; with roles it creates these first. No
// other use case does this.
func Migrate(ctx context.Context, a *app.App, roles bool) (m Migrated, err error) {
	defer app.Explained(&err, "migrate")
	if roles {
		if err := a.Open.MakeRoles(ctx); err != nil {
			app.Explained(&err, "make roles")
			return m, err
		}
	}
	m.Applied, err = a.Open.Migrate(ctx)
	return m, err
}

// RebuildOptions say how the tables are rebuilt.
type RebuildOptions struct {
	Resume   bool // go on with a rebuild that was interrupted
	KeepOld  bool // keep the tables that are replaced
	Accept   bool // swap even if the tables differ for no known reason
	Progress func(RebuildProgress)

	DropDependents bool // drop what others have built on the old tables with them
}

type (
	// RebuildProgress says how far a rebuild is.
	RebuildProgress = rebuild.Progress
	// Rebuilt says what a rebuild did.
	Rebuilt = rebuild.Result
	// TableDigest compares a table of both generations.
	TableDigest = rebuild.TableDigest
)

// Rebuild builds all tables and views that follow from the log beside the live ones,
// compares and swaps them.
func Rebuild(ctx context.Context, a *app.App, o RebuildOptions) (done Rebuilt, err error) {
	defer app.Explained(&err, "rebuild the tables")
	pool, err := a.Open.Pool(ctx)
	if err != nil {
		return done, err
	}
	log, err := a.Open.Log(ctx)
	if err != nil {
		return done, err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return done, err
	}
	source, err := a.Open.Source(ctx, false)
	if err != nil {
		return done, err
	}
	done, err = rebuild.Run(ctx, rebuild.Config{
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
		err = interrupted("the new tables are live, the old ones are still there", "`accession rebuild --drop` removes the old ones")
	case err != nil && ctx.Err() != nil:
		err = interrupted("the live tables are as they were", "`accession rebuild --resume` goes on, `accession rebuild --drop` removes the new tables")
	}
	return done, err
}

// interrupted returns the error of a rebuild that the caller ended.
func interrupted(left, hint string) error {
	return &app.Error{Kind: app.Interrupted, Err: errors.New("it was interrupted; " + left), Hint: hint}
}

// DropRebuild removes what an interrupted rebuild left, and old tables that were kept;
// objects that others have built on these only with dropDependents.
func DropRebuild(ctx context.Context, a *app.App, dropDependents bool) (err error) {
	defer app.Explained(&err, "remove what a rebuild left")
	pool, err := a.Open.Pool(ctx)
	if err != nil {
		return err
	}
	return rebuild.Drop(ctx, pool, dropDependents)
}

type (
	// DiffOptions say what is compared, and how much of it is shown.
	DiffOptions = rebuild.DiffOptions
	// Diff is how two generations of the tables differ.
	Diff = rebuild.Diff
	// Generation is one of the two, with its checkpoint.
	Generation = rebuild.Generation
	// TableDiff is how one table differs.
	TableDiff = rebuild.TableDiff
	// RowDiff is how one row differs.
	RowDiff = rebuild.RowDiff
	// ColumnDiff is how one value differs.
	ColumnDiff = rebuild.ColumnDiff
)

// How a row differs.
const (
	RowOnlyBefore = rebuild.OnlyBefore
	RowOnlyAfter  = rebuild.OnlyAfter
	RowChanged    = rebuild.Changed
)

// DiffTables returns the tables that can be compared.
func DiffTables() []string { return rebuild.DiffTables() }

// Compare compares the live tables with those that a rebuild left or kept, row by row.
// Differences are no error; not being able to compare is one.
func Compare(ctx context.Context, a *app.App, o DiffOptions) (d Diff, err error) {
	defer app.Explained(&err, "compare the tables")
	pool, err := a.Open.Pool(ctx)
	if err != nil {
		return d, err
	}
	return rebuild.Compare(ctx, pool, o)
}
