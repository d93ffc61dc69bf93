package app

import (
	"context"
	"errors"

	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/app/progress"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/projections"
)

// Progress counts the jobs and files of a batch.
type Progress = progress.Batch

// FileProgress counts the files of a batch or job and their bytes.
type FileProgress = progress.Files

// Watch follows the history of a batch from its beginning, calls seen after every
// event of it or of one of its jobs, and returns when the batch is at rest, not
// counting rests that were over when it began. from is a sequence in the log before its
// first event, 0 = not known.
func (a *App) Watch(ctx context.Context, id domain.BatchID, from uint64, seen func(Event, Progress)) (p Progress, err error) {
	defer Explained(&err, "watch "+string(id))
	log, info, err := a.log(ctx)
	if err != nil {
		return p, err
	}
	if from == 0 {
		of := id.Aggregate()
		for r, err := range log.Read(ctx, eventstore.ReadOptions{Aggregate: &of}) {
			if from = r.Seq; err != nil {
				return p, err
			}
			break
		}
	}
	source, err := a.Open.Source(ctx, true)
	if err != nil {
		return p, err
	}
	w := progress.New(id)
	for r, err := range source(ctx, max(from, 1)) {
		if _, ok := errors.AsType[*projections.Unreadable](err); ok {
			continue
		}
		if err != nil {
			return w.Now, err
		}
		if r.BatchID == id {
			w.Add(r)
			seen(event.Of(r), w.Now)
		}
		if r.Seq >= info.Last && w.Now.State.AtRest() && w.Now.InProgress == 0 {
			return w.Now, nil
		}
	}
	if ctx.Err() == nil {
		return w.Now, errors.New("the log ended before the batch did")
	}
	return w.Now, ctx.Err()
}

// LogEnd returns the sequence of the log's last event: later events come after it.
func (a *App) LogEnd(ctx context.Context) (seq uint64, err error) {
	defer Explained(&err, "look into the log")
	_, info, err := a.log(ctx)
	return info.Last, err
}
