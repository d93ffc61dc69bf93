package app

import (
	"context"
	"errors"
	"iter"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

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
	to, err := a.World.Republisher(ctx)
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
