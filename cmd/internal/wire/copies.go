package wire

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/consistency"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store/marks"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/query"
)

// checkCopies returns an error of kind Lost if a server was put back to an older copy
// of its data. Every process checks that once, before it writes.
func (in *Installation) checkCopies(ctx context.Context) error {
	if in.restoring { // which is the remedy
		return nil
	}
	_, err := in.copies.get(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, in.compareCopies(ctx) })
	return err
}

// compareCopies is checkCopies, each time anew.
func (in *Installation) compareCopies(ctx context.Context) error {
	live, err := in.Inspect(ctx)
	if err != nil {
		return err
	}
	o := consistency.Opening{Live: live}
	if o.HighWater, err = in.HighWater(ctx); err != nil {
		return err
	}
	var known *app.Error
	log, logErr := in.Log(ctx)
	if logErr == nil {
		o.Log = log
	} else if !errors.As(logErr, &known) || known.Kind != app.Unavailable {
		return logErr
	}
	if _, err := in.Pool(ctx); err == nil {
		o.Used = in.usedIDs
	} else if logErr != nil {
		return failed("open the live state", logErr, "neither the log nor the tables answer, and one of them must say whether the live state in ZooKeeper is the right one")
	}
	if err := in.checkContinuity(ctx); err != nil {
		return err
	}
	return older(o.Check(ctx))
}

// usedIDs returns the highest ids that the tables and the records have, "" = none; tables
// that were not made have none.
func (in *Installation) usedIDs(ctx context.Context) (batch domain.BatchID, job domain.JobID, err error) {
	pool, err := in.Pool(ctx)
	if err != nil {
		return "", "", err
	}
	for _, part := range []struct {
		pending func(context.Context, *projections.Pool) (int, error)
		highest func(context.Context) (domain.BatchID, domain.JobID, error)
	}{
		{projections.Pending, func(ctx context.Context) (domain.BatchID, domain.JobID, error) { return query.HighestIDs(ctx, pool) }},
		{record.Pending, record.New(pool).HighestIDs},
	} {
		if missing, err := part.pending(ctx, pool); err != nil || missing > 0 {
			continue // what needs the tables reports it
		}
		b, j, err := part.highest(ctx)
		if err != nil {
			return "", "", err
		}
		batch, job = max(batch, b), max(job, j)
	}
	return batch, job, nil
}

// HighWater implements app.LiveState. What does not answer is reported by what needs it.
func (in *Installation) HighWater(ctx context.Context) (w consistency.HighWater, err error) {
	live, err := in.LiveState(ctx)
	if err != nil {
		return w, err
	}
	w.Live = live
	if records, err := in.Records(ctx); err == nil {
		w.Records = records
	}
	if objects, err := in.Uploads(ctx); err == nil {
		w.Store = marks.Marks{Store: objects}
	}
	return w, nil
}

// older explains what to do about an older copy.
func older(err error) error {
	var o *consistency.Older
	if !errors.As(err, &o) {
		return err
	}
	e := &app.Error{Kind: app.Lost, Err: o}
	switch o.Code {
	case consistency.TreeOlder:
		e.What, e.Hint = app.ServerZooKeeper, "nothing was taken or changed. Put the newest copy back if there is one; else stop every process and run `accession restore zookeeper`, which makes the tree anew from the log"
	case consistency.LogOlder:
		e.What, e.Hint = app.ServerNATS, "nothing was taken or changed. Put the newest copy back if there is one; else stop every process and run `accession restore log`, which puts back what the tables and the outbox have"
	case consistency.RecordsOlder:
		e.What, e.Hint = app.ServerPostgres, "nothing was taken or changed. Put the newest copy back if there is one; else stop every process and run `accession verify --repair --yes`, which makes the inventory again from the object store and the log"
	case consistency.StoreOlder:
		e.What, e.Hint = "object store", "nothing was taken or changed. Put the newest copy back if there is one; else `accession verify` names what the store lacks, and `accession verify --repair --yes` takes the store as it is"
	default:
		e.What, e.Hint = app.ServerZooKeeper, "nothing was taken or changed. `accession verify` shows whether the rest of the live state is older too; `accession verify --repair --yes` raises the ids"
	}
	return e
}
