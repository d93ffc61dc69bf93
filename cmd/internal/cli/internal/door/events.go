package door

import (
	"context"
	"iter"
	"math"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Selected yields the events of a selection that are there now and that a filter
// chooses.
func Selected(ctx context.Context, d Door, s app.Selection, f operation.EventFilter) iter.Seq2[app.Event, error] {
	if d.There != nil {
		in := streamOf(s, f)
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
	return here(ctx, d, f, sel.Events(ctx, nil))
}

// streamOf is what a service is asked for to stream the events of a selection.
func streamOf(s app.Selection, f operation.EventFilter) operation.EventStream {
	return operation.EventStream{Profile: f.Profile, Collection: f.Collection, Submitter: f.Submitter, Code: f.Code, To: s.To, Batch: string(s.Batch), Job: string(s.Job), File: string(s.File), Type: s.Types, Actor: s.Actors, Since: s.Since, Until: s.Until}
}

// here yields those of events of this installation that a filter chooses.
func here(ctx context.Context, d Door, f operation.EventFilter, events iter.Seq2[app.Event, error]) iter.Seq2[app.Event, error] {
	if f.Empty() {
		return events
	}
	return operation.EventsOf(ctx, d.Here, f, events)
}

// Tail yields the last events of a selection that a filter chooses, and with
// o.Follow those that come.
func Tail(ctx context.Context, d Door, o app.TailOptions, f operation.EventFilter) iter.Seq2[app.Event, error] {
	if d.There == nil {
		return here(ctx, d, f, d.Here.Tail(ctx, o))
	}
	in := streamOf(o.Selection, f)
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
