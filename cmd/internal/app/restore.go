package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// Restored tells what a restore made.
type Restored struct {
	What     string `json:"what"`   // zookeeper or log
	Events   int64  `json:"events"` // that it was made from, or that were put back
	Batches  int    `json:"batches,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`
	Settings int    `json:"settings,omitempty"`
	Epoch    int64  `json:"epoch,omitempty"` // that begins with it, 0 = none
	// Missing are ids of events that are known of and could not be put back.
	Missing []string `json:"missing,omitempty"`
	// Rebuild says that the tables have to be made anew: the events stand at other
	// places than before.
	Rebuild bool `json:"rebuild,omitempty"`
	// TreeLost says that the tree is lost too, and has to be made anew from this log.
	TreeLost bool   `json:"tree_lost,omitempty"`
	Event    string `json:"event,omitempty"` // that tells of it
	// RecordUnasked is why the record in PostgreSQL was not asked which ids it has.
	RecordUnasked string `json:"record_unasked,omitempty"`
	DryRun        bool   `json:"dry_run,omitempty"`
}

// idGap is left above the highest id that is known of: ids that were only handed out,
// or whose events were lost with the outbox, are not used again.
const idGap = 10_000

// above puts the next ids above those that the record has, and a gap between. It tells
// why the record could not be asked, "" = it was.
func (a *App) above(ctx context.Context, h *eventstore.History) (unasked string, err error) {
	records, err := a.Open.Records(ctx)
	var batch domain.BatchID
	var job domain.JobID
	if err == nil {
		batch, job, err = records.HighestIDs(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		unasked = err.Error() // the tree can be made without it
	}
	h.NextBatch = min(max(h.NextBatch, batch.Number()+1)+idGap, domain.MaxID+1)
	h.NextJob = min(max(h.NextJob, job.Number()+1)+idGap, domain.MaxID+1)
	return unasked, nil
}

// RestoreZooKeeper makes a lost tree anew from the log, in an empty root: batches,
// jobs, queues, holds and pauses as they were, ids above every one that was used, and
// a new epoch. Work that was under way is queued again. progress may be nil.
func (a *App) RestoreZooKeeper(ctx context.Context, progress func(VerifyProgress)) (r Restored, err error) {
	const what = "restore zookeeper"
	log, err := a.Open.Log(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	h, err := consistency.FoldAll(ctx, log, progress)
	if err != nil {
		return r, explain(what, err)
	}
	if h.Events == 0 {
		return r, &Error{Kind: Refused, What: what, Err: errors.New("the log is empty"), Hint: "when it is lost too, `accession restore log` puts it back from the tables first"}
	}
	unasked, err := a.above(ctx, &h)
	if err != nil {
		return r, explain(what, err)
	}
	r = Restored{RecordUnasked: unasked, What: domain.RestoredZooKeeper, Events: int64(h.Events), Batches: len(h.Batches), Jobs: len(h.Jobs), Settings: len(h.Settings), Epoch: h.Epoch + 1, DryRun: a.DryRun}
	if a.DryRun {
		return r, nil
	}
	tree, err := a.Open.Restorer(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	err = tree.Restore(ctx, h, func(done, total int) {
		if progress != nil {
			progress(VerifyProgress{Doing: "making the tree", Done: done, Total: total})
		}
	})
	if err != nil {
		return r, explain(what, err)
	}
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	e, err := handler.NoteRestore(ctx, domain.RestoredZooKeeper, r.Epoch, r.Events, eventstore.Meta{Actor: a.Actor})
	if err != nil {
		return r, explain(what, err)
	}
	r.Event = e.ID()
	return r, explain(what, tree.Restored(ctx))
}

// RestoreLog puts back what the log has lost, from the history in the tables and from
// what the outbox still keeps: ids, versions, commands and times are kept. A stream
// that is new begins a new epoch, and the tables go on with it if every event stands
// where it stood. progress may be nil.
func (a *App) RestoreLog(ctx context.Context, progress func(VerifyProgress)) (r Restored, err error) {
	const what = "restore log"
	log, err := a.Open.Log(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return r, explain(what, err)
	}
	live, err := a.Open.Restorer(ctx)
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
	done, err := consistency.RestoreLog(ctx, log, consistency.Copies{DB: db, Outbox: live}, !a.DryRun, progress)
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
func (a *App) adopt(ctx context.Context, r *Restored, done consistency.LogRestored, lost bool, log eventstore.Log, db query.DB, live eventstore.Restorer) error {
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
		handler, err := a.Open.Handler(ctx)
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
