package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Restored is the result of a restore.
type Restored struct {
	What     string `json:"what"`   // zookeeper or log
	Events   int64  `json:"events"` // events that were folded, or restored
	Batches  int    `json:"batches,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`
	Settings int    `json:"settings,omitempty"`
	Epoch    int64  `json:"epoch,omitempty"` // new epoch, 0 = none
	// Missing has the ids of known events that could not be restored.
	Missing []string `json:"missing,omitempty"`
	// Short is how many events the log has less than before, those of files among them: no
	// copy has them.
	Short int64 `json:"short,omitempty"`
	// Rebuild says that the tables have to be rebuilt: the events have other sequences
	// than before.
	Rebuild bool `json:"rebuild,omitempty"`
	// TreeLost says that the tree is lost too, and has to be restored from this log.
	TreeLost bool   `json:"tree_lost,omitempty"`
	Event    string `json:"event,omitempty"` // id of the restore's own event
	// RecordError is why the ids in the records could not be read from PostgreSQL.
	RecordError string `json:"record_unasked,omitempty"`
	DryRun      bool   `json:"dry_run,omitempty"`
}

// raiseNextIDs raises the next ids above those in the records and the high-water mark, and
// adds consistency.IDGap. recordErr is why the records could not be read, "" = they were read.
func (a *App) raiseNextIDs(ctx context.Context, water consistency.HighWater, h *eventstore.History) (recordErr string, err error) {
	if err := water.Restored(ctx, h); err != nil {
		return "", err
	}
	records, err := a.Open.Records(ctx)
	var batch domain.BatchID
	var job domain.JobID
	if err == nil {
		batch, job, err = records.HighestIDs(ctx)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if err != nil {
		recordErr = err.Error() // the tree can be restored without them
	}
	h.NextBatch = min(max(h.NextBatch, batch.Number()+1)+consistency.IDGap, domain.MaxID+1)
	h.NextJob = min(max(h.NextJob, job.Number()+1)+consistency.IDGap, domain.MaxID+1)
	h.NextEntry = min(h.NextEntry+consistency.IDGap, domain.MaxID+1)
	return recordErr, nil
}

// RestoreZooKeeper restores a lost tree from the log, in an empty root: batches, jobs,
// queues, holds and pauses as they were, ids above every one that was used, and a new
// epoch. Interrupted work is queued again. progress may be nil.
func (a *App) RestoreZooKeeper(ctx context.Context, progress func(VerifyProgress)) (r Restored, err error) {
	defer Explained(&err, "restore zookeeper")
	log, err := a.Open.Log(ctx)
	if err != nil {
		return r, err
	}
	var tree eventstore.Restorer
	var water consistency.HighWater
	var lost []string
	var older bool
	var h eventstore.History
	if !a.DryRun {
		tree, water, older, lost, err = a.openOlder(ctx, log)
	}
	if err == nil {
		h, err = consistency.FoldAll(ctx, log, progress)
	}
	h.Replaces = older
	if err == nil && h.Events == 0 {
		return r, errorf(Refused, "when it is lost too, `accession restore log` restores it from the tables first", "the log is empty")
	}
	if err == nil {
		r.RecordError, err = a.raiseNextIDs(ctx, water, &h)
	}
	if err != nil {
		return r, err
	}
	r = Restored{RecordError: r.RecordError, What: domain.RestoredZooKeeper, Events: int64(h.Events), Batches: len(h.Batches), Jobs: len(h.Jobs), Settings: len(h.Settings), Epoch: h.Epoch + 1, DryRun: a.DryRun, Missing: lost}
	if a.DryRun {
		return r, nil
	}
	err = tree.Restore(ctx, h, func(done, total int) {
		consistency.ProgressFunc(progress).Report("making the tree", done, total)
	})
	if err == nil {
		err = a.noteRestore(ctx, &r)
	}
	if err != nil {
		return r, err
	}
	return r, tree.Restored(ctx)
}

// openOlder opens the live state for its restore, and reports whether it is an older copy,
// whose outbox is brought to the log first; lost is what does not fit there.
func (a *App) openOlder(ctx context.Context, log eventstore.Log) (tree eventstore.Restorer, water consistency.HighWater, older bool, lost []string, err error) {
	o := consistency.Opening{Log: log}
	if tree, err = a.Open.Restorer(ctx); err == nil {
		o.Live, err = a.Open.Inspect(ctx)
	}
	if err == nil {
		o.HighWater, err = a.Open.HighWater(ctx)
	}
	if err == nil {
		older, lost, err = consistency.SaveOlder(ctx, o, tree)
	}
	if why, ok := errors.AsType[*consistency.Older](err); ok {
		err = errorf(Refused, "the log comes first: `accession restore log`", "%w", why)
	}
	return tree, o.HighWater, older, lost, err
}

// noteRestore writes a restore into the history of maintenance.
func (a *App) noteRestore(ctx context.Context, r *Restored) error {
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return err
	}
	e, err := handler.NoteRestore(ctx, r.What, r.Epoch, r.Events, eventstore.Meta{Actor: a.Actor})
	if err == nil {
		r.Event = e.ID()
	}
	return err
}

// RestoreLog restores what the log has lost, from the history in the tables and from
// what the outbox still keeps: ids, versions, commands and times are kept. A stream
// that is new begins a new epoch, and the tables go on with it if every event has the
// sequence that it had. progress may be nil.
func (a *App) RestoreLog(ctx context.Context, progress func(VerifyProgress)) (r Restored, err error) {
	defer Explained(&err, "restore log")
	log, err := a.Open.Log(ctx)
	if err != nil {
		return r, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return r, err
	}
	live, err := a.Open.Restorer(ctx)
	if err != nil {
		return r, err
	}
	lost, err := live.Untouched(ctx)
	if err != nil {
		return r, err
	}
	r = Restored{What: domain.RestoredLog, DryRun: a.DryRun}
	if !a.DryRun {
		if err := live.Exclude(ctx); err != nil {
			return r, err
		}
	}
	done, err := consistency.RestoreLog(ctx, log, consistency.Copies{DB: db, Outbox: live}, !a.DryRun, progress)
	r.Events, r.Missing = done.Events, done.Missing
	if errors.Is(err, consistency.ErrClash) {
		err = &Error{Kind: Failed, What: "restore log", Err: err, Hint: "nothing was written. Another installation wrote to this stream, or the tables are of another one: compare them by hand (`accession replay`, table accession.event) before anything is started again"}
		if !a.DryRun {
			err = errors.Join(err, live.Restored(ctx))
		}
		return r, err
	}
	if err != nil || a.DryRun {
		return r, err
	}
	info, err := log.Info(ctx)
	if err != nil {
		return r, err
	}
	if err := a.saw(ctx, log, info, live); err != nil {
		return r, err
	}
	r.Rebuild, r.TreeLost = !done.Aligned, lost && info.Last > 0
	if err := a.adopt(ctx, &r, done, info, live); err != nil {
		return r, err
	}
	if done.NewStream && done.Aligned {
		if err := projections.Adopt(ctx, db, projections.StreamInfo{Name: info.Name, Created: info.Created}); err != nil {
			return r, err
		}
	}
	return r, live.Restored(ctx)
}

// saw notes in the live state what the log holds last: a restored event may have another
// sequence than before.
func (a *App) saw(ctx context.Context, log eventstore.Log, info eventstore.LogInfo, live eventstore.Restorer) error {
	for e, err := range log.Read(ctx, eventstore.ReadOptions{From: info.Last, To: info.Last}) {
		if err != nil {
			return err
		}
		return live.RaiseMarks(ctx, info.Last, e.ID())
	}
	return nil
}

// adopt begins an epoch for a new stream, or for one that stays short, and writes what was
// restored into the history of maintenance. If the tree is lost too, the restore of the
// tree does both, because it needs an empty tree.
func (a *App) adopt(ctx context.Context, r *Restored, done consistency.LogRestored, log eventstore.LogInfo, live eventstore.Restorer) error {
	water, err := a.Open.HighWater(ctx)
	if err != nil {
		return err
	}
	short, err := water.Short(ctx, log.Last)
	r.Short = int64(short)
	if err != nil || r.TreeLost || done.Events == 0 && !done.NewStream && short == 0 {
		return err
	}
	if done.NewStream || short > 0 {
		if r.Epoch, err = live.NewEpoch(ctx); err != nil {
			return err
		}
	}
	return a.noteRestore(ctx, r)
}
