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
	Selection
	Follow bool // go on until ctx ends
}

// Tail gives the events of the history in order. It ends after the first error.
// Without any choice it begins with the last 20.
func (a *App) Tail(ctx context.Context, o TailOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if o.all() && o.From == 0 && o.Since.IsZero() {
			last, err := a.LogEnd(ctx)
			if err != nil {
				yield(Event{}, explain("read events", err))
				return
			}
			if last > tailLength {
				o.From = last - tailLength + 1
			}
		}
		sel, err := a.selectEvents(ctx, o.Selection, o.Follow)
		if err != nil {
			yield(Event{}, explain("read events", err))
			return
		}
		for e, err := range sel.Events(ctx, nil) {
			if !yield(e, err) {
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
