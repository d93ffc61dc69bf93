package app

import (
	"context"
	"errors"
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

// Move returns the states before and after the event, and the reason.
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

// tailLength is how many events Tail returns when it is not said where to begin.
const tailLength = 20

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
			o.From = max(last, tailLength) - tailLength + 1
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
