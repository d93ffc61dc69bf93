package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// Changed says what a command changed: the aggregate, its version (a reader may wait
// for it) and its state. After a dry run it says what would change.
type Changed struct {
	Subject string   `json:"subject"`
	Version int64    `json:"version"`
	From    string   `json:"from,omitempty"`
	State   string   `json:"status"`
	Row     string   `json:"row"` // of the transition table, "" = the state stays
	DryRun  bool     `json:"dry_run,omitempty"`
	Effects []string `json:"effects,omitempty"` // further consequences, as sentences
}

// add appends a consequence of the change.
func (c *Changed) add(format string, args ...any) {
	c.Effects = append(c.Effects, fmt.Sprintf(format, args...))
}

// closed is what messages call a hold of each kind.
var closed = map[domain.HoldKind]string{domain.HoldCollection: "on hold", domain.HoldQueue: "paused"}

// changeHold sets (hold not nil) or lifts a hold or pause.
func (a *App) changeHold(ctx context.Context, verb string, kind domain.HoldKind, name string, hold *domain.Hold, why string) (c Changed, err error) {
	defer explained(&err, verb+" "+string(kind)+" "+name)
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	if hold != nil {
		hold.By, hold.When, hold.Why = string(a.Actor), domain.At(handler.Clock()), why
	}
	res, err := handler.Hold(ctx, kind, name, hold, why, a.meta())
	if err != nil {
		return c, err
	}
	word := func(h *domain.Hold) string {
		if h == nil {
			return "open"
		}
		return closed[kind]
	}
	return Changed{Subject: res.State.Aggregate().String(), Version: res.State.Version, From: word(res.Before.Hold), State: word(res.State.Hold), DryRun: a.DryRun}, nil
}

// The codes of an operator's reasons.
const (
	codeRequested         domain.Code = "requested"
	codeSkippedByOperator domain.Code = "skipped_by_operator"
)

// because returns an operator's reason, nil when none was given.
func because(why string) *domain.Reason {
	if why = strings.TrimSpace(why); why == "" {
		return nil
	}
	return &domain.Reason{Class: domain.ClassWait, Code: codeRequested, Message: why}
}

// required returns the reason of a command that must have one.
func required(what string, code domain.Code, why string) (*domain.Reason, error) {
	if why = strings.TrimSpace(why); why == "" {
		return nil, errorf(Invalid, "say why with --reason; it stays in the history", "%s needs a reason", what)
	}
	return &domain.Reason{Class: domain.ClassCancelled, Code: code, Message: why}, nil
}

// orElse returns why, or other if it is empty.
func orElse(why, other string) string {
	if why = strings.TrimSpace(why); why == "" {
		return other
	}
	return why
}
