package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/projections"
)

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
	RebuildProgress = projections.RebuildProgress
	// Rebuilt tells what a rebuild did.
	Rebuilt = projections.Rebuilt
)

// Rebuild makes all tables and views that follow from the log anew, beside the
// live ones, compares and swaps them.
func (a *App) Rebuild(ctx context.Context, o RebuildOptions) (Rebuilt, error) {
	const what = "rebuild the tables"
	pool, err := a.World.Pool(ctx)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	log, err := a.World.Log(ctx)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	info, err := log.Info(ctx)
	if err != nil {
		return Rebuilt{}, explain(what, err)
	}
	done, err := projections.Rebuild(ctx, projections.RebuildConfig{
		Pool:   pool,
		Stream: projections.StreamInfo{Name: info.Name, Created: info.Created, Last: info.Last},
		Source: Source(log, false),
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
	pool, err := a.World.Pool(ctx)
	if err != nil {
		return explain(what, err)
	}
	return explain(what, projections.DropRebuild(ctx, pool, dropDependents))
}
