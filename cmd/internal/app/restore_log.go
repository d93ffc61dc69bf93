package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// RestoreLog puts back what the log has lost, from the history in the tables and from
// what the outbox still keeps: ids, versions, commands and times are kept. A stream
// that is new begins a new epoch, and the tables go on with it if every event stands
// where it stood. progress may be nil.
func (a *App) RestoreLog(ctx context.Context, progress func(VerifyProgress)) (r Restored, err error) {
	const what = "restore log"
	log, err := a.World.Log(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	db, err := a.World.DB(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	live, err := a.World.Restorer(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	lost, err := live.Untouched(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	r = Restored{What: domain.RestoredLog, DryRun: a.DryRun}
	if !a.DryRun {
		if err := live.Exclude(ctx); err != nil {
			return r, explain(what, err)
		}
	}
	done, err := consistency.PutEventsBack(ctx, log, db, live, !a.DryRun, progress)
	r.Events, r.Missing = done.Events, done.Missing
	if errors.Is(err, consistency.ErrClash) {
		err = &Error{Kind: Failed, What: what, Err: err, Hint: "nothing was written. Somebody else wrote to this stream, or the tables are of another installation: compare them by hand (`accession replay`, table accession.event) before anything is started again"}
		if !a.DryRun {
			err = errors.Join(err, live.Restored(ctx))
		}
		return r, err
	}
	if err != nil || a.DryRun {
		return r, explain(what, err)
	}
	if err := a.adopt(ctx, &r, done, lost, log, db, live); err != nil {
		return r, explain(what, err)
	}
	return r, explain(what, live.Restored(ctx))
}

// adopt begins an epoch for a new stream and lets the tables follow it; the history
// of maintenance tells of what was put back. Beside a lost tree both are left to the
// tree's own restore, which must find nothing there.
func (a *App) adopt(ctx context.Context, r *Restored, done consistency.PutBack, lost bool, log eventstore.Log, db projections.DB, live eventstore.Restorer) error {
	info, err := log.Info(ctx)
	if err != nil {
		return err
	}
	r.Rebuild, r.TreeLost = !done.Aligned, lost && info.Last > 0
	if done.NewStream && !r.TreeLost {
		if r.Epoch, err = live.NewEpoch(ctx); err != nil {
			return err
		}
	}
	if (done.Events > 0 || done.NewStream) && !r.TreeLost {
		handler, err := a.World.Handler(ctx)
		if err != nil {
			return err
		}
		e, err := handler.NoteRestore(ctx, domain.RestoredLog, r.Epoch, r.Events, eventstore.Meta{Actor: a.Actor})
		if err != nil {
			return err
		}
		r.Event = e.ID()
	}
	if done.NewStream && done.Aligned {
		return projections.Adopt(ctx, db, projections.StreamInfo{Name: info.Name, Created: info.Created})
	}
	return nil
}
