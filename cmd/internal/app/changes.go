package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// Changed says what a command left behind: the aggregate, its version (a reader
// may wait for it) and its state. Of a command that was only tried it says what
// would be.
type Changed struct {
	Subject string   `json:"subject"`
	Version int64    `json:"version"`
	From    string   `json:"from,omitempty"`
	State   string   `json:"status"`
	Row     string   `json:"row"` // of the transition table, "" = the state stays
	DryRun  bool     `json:"dry_run,omitempty"`
	Effects []string `json:"effects,omitempty"` // what follows besides, in sentences
}

// add appends what follows from the change.
func (c *Changed) add(format string, args ...any) {
	c.Effects = append(c.Effects, fmt.Sprintf(format, args...))
}

// changeHold sets (hold not nil) or lifts a hold or pause.
func (a *App) changeHold(ctx context.Context, verb string, kind domain.HoldKind, name string, hold *domain.Hold, why string) (Changed, error) {
	what := verb + " " + string(kind) + " " + name
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	if hold != nil {
		hold.By, hold.When, hold.Why = string(a.Actor), domain.At(handler.Clock()), why
	}
	res, err := handler.Hold(ctx, kind, name, hold, why, a.order())
	if err != nil {
		return Changed{}, explain(what, err)
	}
	word := func(h *domain.Hold) string {
		switch {
		case h == nil:
			return "open"
		case kind == domain.HoldQueue:
			return "paused"
		default:
			return "on hold"
		}
	}
	return Changed{Subject: res.State.Aggregate().String(), Version: res.State.Version, From: word(res.Before.Hold), State: word(res.State.Hold), DryRun: a.DryRun}, nil
}

// because gives an operator's reason, nil when none was told.
func because(why string) *domain.Reason {
	if why = strings.TrimSpace(why); why == "" {
		return nil
	}
	return &domain.Reason{Class: domain.ClassWait, Code: codeRequested, Message: why}
}

// deletedBecause gives the reason of a deletion, which has to have one.
func deletedBecause(what, why string) (*domain.Reason, error) {
	if why = strings.TrimSpace(why); why == "" {
		return nil, &Error{Kind: Invalid, What: what, Err: errors.New("a deletion needs a reason"), Hint: "say why with --reason; it stays in the history"}
	}
	return &domain.Reason{Class: domain.ClassCancelled, Code: codeRequested, Message: why}, nil
}
