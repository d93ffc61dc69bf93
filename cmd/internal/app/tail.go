package app

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// tailLength is how many events Tail gives when it is not told where to begin.
const tailLength = 20

// TailOptions choose events.
type TailOptions struct {
	From   uint64         // first place in the log, 0 = the last 20
	Follow bool           // go on until ctx ends
	Batch  domain.BatchID // only this batch's and its jobs', "" = all
}

// Tail gives the events of the history in order. It ends after the first error.
func (a *App) Tail(ctx context.Context, o TailOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		log, err := a.World.Log(ctx)
		if err != nil {
			yield(Event{}, explain("read events", err))
			return
		}
		info, err := log.Info(ctx)
		if err != nil {
			yield(Event{}, explain("read events", err))
			return
		}
		if err := a.known(ctx, log, o.Batch); err != nil {
			yield(Event{}, explain("read events", err))
			return
		}
		from := o.From
		if from == 0 && info.Last > tailLength && o.Batch == "" {
			from = info.Last - tailLength + 1
		}
		for r, err := range log.Read(ctx, eventstore.ReadOptions{From: from, Follow: o.Follow}) {
			if err != nil {
				if ctx.Err() == nil {
					yield(Event{}, explain("read events", err))
				}
				return
			}
			if o.Batch != "" && r.BatchID != o.Batch {
				continue
			}
			if !yield(eventOf(r), nil) {
				return
			}
		}
	}
}

// known refuses a batch of which neither the log nor the live state knows; "" is
// none.
func (a *App) known(ctx context.Context, log eventstore.Log, id domain.BatchID) error {
	if id == "" {
		return nil
	}
	if last, err := log.Last(ctx, id.Aggregate()); err != nil || last.Version > 0 {
		return err
	}
	live, err := a.World.Live(ctx) // its first event may still be on its way to the log
	if err != nil {
		return err
	}
	if _, err = live.Batch(ctx, id); errors.Is(err, eventstore.ErrNotFound) {
		return &Error{Kind: NotFound, What: "read events", Err: fmt.Errorf("there is no batch %s", id), Hint: "`accession batch ls` lists them"}
	}
	return err
}
