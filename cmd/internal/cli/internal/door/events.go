package door

import (
	"context"
	"iter"
	"math"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Selected yields the events of a selection that are there now, of one collection if it is
// named.
func Selected(ctx context.Context, d Door, s app.Selection, collection string) iter.Seq2[app.Event, error] {
	if d.There != nil {
		in := streamOf(s, collection)
		in.After = strconv.FormatUint(max(s.From, 1)-1, 10)
		if in.To == 0 {
			in.To = math.MaxUint64
		}
		return d.There.Follow(ctx, in)
	}
	sel, err := d.Here.Select(ctx, s)
	if err != nil {
		return func(yield func(app.Event, error) bool) { yield(app.Event{}, err) }
	}
	return here(ctx, d, collection, sel.Events(ctx, nil))
}

// streamOf is what a service is asked for to stream the events of a selection.
func streamOf(s app.Selection, collection string) operation.EventStream {
	return operation.EventStream{Collection: collection, To: s.To, Batch: string(s.Batch), Job: string(s.Job), File: string(s.File), Type: s.Types, Actor: s.Actors, Since: s.Since, Until: s.Until}
}

// here yields those of events of this installation that are of a collection, "" = all.
func here(ctx context.Context, d Door, collection string, events iter.Seq2[app.Event, error]) iter.Seq2[app.Event, error] {
	if collection == "" {
		return events
	}
	return operation.OfCollection(ctx, d.Here, collection, events)
}

// Tail yields the last events of a selection, of one collection if it is named, and with
// o.Follow those that come.
func Tail(ctx context.Context, d Door, o app.TailOptions, collection string) iter.Seq2[app.Event, error] {
	if d.There == nil {
		return here(ctx, d, collection, d.Here.Tail(ctx, o))
	}
	in := streamOf(o.Selection, collection)
	switch {
	case o.From > 0:
		in.After = strconv.FormatUint(o.From-1, 10)
	case o.All() && o.Since.IsZero():
		in.Newest = app.TailLength
	default:
		in.After = "0"
	}
	if !o.Follow && in.To == 0 {
		in.To = math.MaxUint64
	}
	return d.There.Follow(ctx, in)
}
