package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
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

// changeJob decides and writes an operator's command about a job.
func (a *App) changeJob(ctx context.Context, verb string, id domain.JobID, cmd domain.JobCommand) (Changed, error) {
	what := verb + " " + string(id)
	handler, err := a.World.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	res, err := handler.Job(ctx, id, cmd, a.order())
	if errors.Is(err, eventstore.ErrNotFound) {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such job"),
			Hint: "`accession job ls` lists them; `accession job show " + string(id) + "` tells of one that was deleted"}
	}
	if errors.Is(err, eventstore.ErrLocked) {
		if at, looked := handler.Live.Job(ctx, id); looked == nil {
			return Changed{}, &Error{Kind: Refused, What: what, Err: fmt.Errorf("%s is %s and locked by a worker", id.Aggregate(), at.State.State), Hint: lockedHint}
		}
	}
	if err != nil {
		return Changed{}, explain(what, err)
	}
	before, after := res.Before, res.State
	c := Changed{Subject: id.Aggregate().String(), Version: after.Version, From: string(before.State), State: string(after.State), Row: res.Row, DryRun: a.DryRun}
	if before.Priority != after.Priority {
		c.add("its priority changes from %d to %d", before.Priority, after.Priority)
	}
	if before.State != after.State && after.QueueEntry() != "" {
		c.add("it waits in the queue %s with priority %d", after.State, after.Priority)
	}
	if after.RetryCount != before.RetryCount {
		c.add("this is its attempt number %d", after.RetryCount+1)
	}
	if from, to := before.State.Sub(), after.State.Sub(); from != to && to != domain.SubNone {
		c.add("its batch %s counts it in %s, no longer in %s", after.Configuration.BatchID, to, from)
	}
	return c, nil
}

// changeBatch decides and writes an operator's command about a batch.
func (a *App) changeBatch(ctx context.Context, verb string, id domain.BatchID, cmd domain.BatchCommand) (Changed, error) {
	what := verb + " " + string(id)
	handler, err := a.World.Handler(ctx)
	if err != nil {
		return Changed{}, explain(what, err)
	}
	res, err := handler.Batch(ctx, id, cmd, a.order())
	var refused *domain.Refused
	if errors.As(err, &refused) && refused.State == "" {
		return Changed{}, &Error{Kind: NotFound, What: what, Err: errors.New("there is no such batch"),
			Hint: "`accession batch ls` lists them, also those that were deleted"}
	}
	if err != nil {
		return Changed{}, explain(what, err)
	}
	return Changed{Subject: id.Aggregate().String(), Version: res.State.Version, From: string(res.Before.State), State: string(res.State.State),
		Row: res.Row, DryRun: a.DryRun}, nil
}

// changeHold sets (hold not nil) or lifts a hold or pause.
func (a *App) changeHold(ctx context.Context, verb string, kind domain.HoldKind, name string, hold *domain.Hold, why string) (Changed, error) {
	what := verb + " " + string(kind) + " " + name
	handler, err := a.World.Handler(ctx)
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
