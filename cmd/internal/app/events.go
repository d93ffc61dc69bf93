package app

import (
	"context"
	"errors"
	"iter"

	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// Event is one event of the history as it is shown.
type Event = event.Event

// TailLength is how many events Tail returns when it is not said where to begin.
const TailLength = 20

// TailOptions select events.
type TailOptions struct {
	Selection
	Follow bool // go on until ctx ends
}

// Tail reads the events of the history in order. It ends after the first error.
// Without any selection it begins with the last 20.
func (a *App) Tail(ctx context.Context, o TailOptions) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var err error
		if o.All() && o.From == 0 && o.Since.IsZero() {
			var last uint64
			last, err = a.LogEnd(ctx)
			o.From = max(last, TailLength) - TailLength + 1
		}
		var sel *Selected
		if err == nil {
			sel, err = a.selectEvents(ctx, o.Selection, o.Follow)
		}
		if err != nil {
			yield(Event{}, explain("read events", err))
			return
		}
		sel.Events(ctx, nil)(yield)
	}
}

// Republisher sends events once more, below a subject prefix that has no events yet
// (else ErrConflict). It returns how many, and which stream keeps them, "" = none does.
type Republisher interface {
	Republish(ctx context.Context, prefix string, events iter.Seq2[domain.Recorded, error]) (n int, stream string, err error)
}

// Republished says where events were sent once more.
type Republished struct {
	Events  int    `json:"events"`
	Subject string `json:"subject"` // they are below it
	Stream  string `json:"stream"`  // that keeps them, "" = none does
}

// Republish sends the selected events to a fresh subject. looked is called with how
// many sequences of the log have been read.
func (a *App) Republish(ctx context.Context, sel *Selected, subject string, looked func(n uint64)) (done Republished, err error) {
	defer Explained(&err, "send events to "+subject)
	done.Subject = subject
	to, err := a.Open.Republisher(ctx)
	if err != nil {
		return done, err
	}
	done.Events, done.Stream, err = to.Republish(ctx, subject, sel.Recorded(ctx, looked))
	if e, ok := errors.AsType[*eventstore.Error](err); ok && errors.Is(err, eventstore.ErrConflict) {
		err = &Error{Kind: Refused, Err: e.Err, Hint: e.Hint}
	}
	return done, err
}
