package app

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/eventstore/codec"
)

// Event is one event of the history as it is shown.
type Event struct {
	ID      string           `json:"id"` // KIND/ID/VERSION
	Seq     uint64           `json:"seq"`
	Time    domain.Time      `json:"time"`
	Stored  time.Time        `json:"stored"`
	Type    domain.EventType `json:"type"`
	Subject string           `json:"subject"` // such as job/jid0000000042
	Version int64            `json:"version"`
	Batch   domain.BatchID   `json:"batch,omitempty"`
	Actor   domain.Actor     `json:"actor"`
	Command string           `json:"command"`
	Cause   string           `json:"causationid,omitempty"` // id of the event that its writer reacted to
	Trace   string           `json:"traceparent,omitempty"` // W3C trace context
	Zxid    int64            `json:"zxid"`                  // ZooKeeper's commit number
	Epoch   int64            `json:"epoch"`                 // counts how often the tree was restored
	Source  string           `json:"source"`                // installation that wrote it: /accession/NAME
	Schema  string           `json:"dataschema"`            // of Data, as it is shown here
	Data    domain.EventData `json:"data"`
}

func eventOf(r domain.Recorded) Event {
	return Event{ID: r.ID(), Cause: r.CausationID, Trace: r.TraceParent, Zxid: r.Zxid, Epoch: r.Epoch, Source: r.Source, Schema: codec.NewestSchemaID(r.Type),
		Seq: r.Seq, Time: r.Time, Stored: r.Stored.UTC(), Type: r.Type, Subject: r.Aggregate.String(), Version: r.Version,
		Batch: r.BatchID, Actor: r.Actor, Command: r.CommandID, Data: r.Data}
}

// Move gives the states before and after the event, and why.
func (e Event) Move() (from, to string, why *domain.Reason) {
	if m, ok := domain.MoveOfBatch(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	if m, ok := domain.MoveOfJob(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	if m, ok := domain.MoveOfFile(e.Data); ok {
		return string(m.From), string(m.To), m.Reason
	}
	if s, ok := e.Data.(*domain.SettingChanged); ok {
		return s.From, s.To, nil
	}
	return "", "", nil
}

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
	live, err := a.Open.Live(ctx) // its first event may still be on its way to the log
	if err != nil {
		return err
	}
	if _, err = live.Batch(ctx, id); errors.Is(err, eventstore.ErrNotFound) {
		return &Error{Kind: NotFound, What: "read events", Err: fmt.Errorf("there is no batch %s", id), Hint: "`accession batch ls` lists them"}
	}
	return err
}

// Republisher sends events once more, below a subject prefix that nobody's events
// stand on (else ErrConflict). It tells how many, and which stream keeps them,
// "" = none does.
type Republisher interface {
	Republish(ctx context.Context, prefix string, events iter.Seq2[domain.Recorded, error]) (n int, stream string, err error)
}

// Republished says where events were sent once more.
type Republished struct {
	Events  int    `json:"events"`
	Subject string `json:"subject"` // they are below it
	Stream  string `json:"stream"`  // that keeps them, "" = none does
}

// Republish sends what was selected to a fresh subject. looked is told how many
// places of the log have been looked at.
func (a *App) Republish(ctx context.Context, sel *Selected, subject string, looked func(places uint64)) (Republished, error) {
	done := Republished{Subject: subject}
	what := "send events to " + subject
	to, err := a.Open.Republisher(ctx)
	if err != nil {
		return done, explain(what, err)
	}
	done.Events, done.Stream, err = to.Republish(ctx, subject, sel.Recorded(ctx, looked))
	var e *eventstore.Error
	if errors.Is(err, eventstore.ErrConflict) && errors.As(err, &e) {
		return done, &Error{Kind: Refused, What: what, Err: e.Err, Hint: e.Hint}
	}
	return done, explain(what, err)
}
