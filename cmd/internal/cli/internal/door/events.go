package door

import (
	"context"
	"iter"
	"math"
	"strconv"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Selected yields the events of a selection that are there now.
func Selected(ctx context.Context, d Door, s app.Selection) iter.Seq2[app.Event, error] {
	if d.There != nil {
		in := streamOf(s)
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
	return sel.Events(ctx, nil)
}

// streamOf is what a service is asked for to stream the events of a selection.
func streamOf(s app.Selection) operation.EventStream {
	return operation.EventStream{To: s.To, Batch: string(s.Batch), Job: string(s.Job), File: string(s.File), Type: s.Types, Actor: s.Actors, Since: s.Since, Until: s.Until}
}

// Tail yields the last events of a selection, and with o.Follow those that come.
func Tail(ctx context.Context, d Door, o app.TailOptions) iter.Seq2[app.Event, error] {
	if d.There == nil {
		return d.Here.Tail(ctx, o)
	}
	in := streamOf(o.Selection)
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
