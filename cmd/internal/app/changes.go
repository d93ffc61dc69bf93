package app

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app/event"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
)

// Changed says what a command changed: the aggregate, its version (a reader may wait
// for it) and its state. After a dry run it says what would change.
type Changed struct {
	target.Target
	Version int64    `json:"version"`
	From    string   `json:"from,omitempty"`
	State   string   `json:"status"`
	Row     string   `json:"row"` // of the transition table, "" = the state stays
	DryRun  bool     `json:"dry_run,omitempty"`
	Effects []string `json:"effects,omitempty"` // further consequences, as sentences
	// Also are the other aggregates that the command changed.
	Also []Changed `json:"also,omitempty"`
}

// add appends a consequence of the change.
func (c *Changed) add(format string, args ...any) {
	c.Effects = append(c.Effects, fmt.Sprintf(format, args...))
}

// closed is what messages call a hold of each kind.
var closed = map[domain.SettingKind]string{domain.HoldCollection: "on hold", domain.HoldQueue: "paused"}

// holdChange is the setting or the release of a hold or pause.
type holdChange struct {
	verb string // in messages
	kind domain.SettingKind
	name string
	hold *domain.Hold // to set, nil = release
	why  string
}

// changeHold sets or releases a hold or pause.
func (a *App) changeHold(ctx context.Context, h holdChange) (c Changed, err error) {
	defer Explained(&err, h.verb+" "+string(h.kind)+" "+h.name)
	handler, err := a.Open.Handler(ctx)
	if err != nil {
		return c, err
	}
	if h.hold != nil {
		h.hold.By, h.hold.When, h.hold.Why = string(a.Actor), domain.At(handler.Clock()), h.why
	}
	res, err := handler.Hold(ctx, h.kind, h.name, h.hold, h.why, a.Meta())
	if err != nil {
		return c, err
	}
	state := func(set *domain.Hold) string {
		if set == nil {
			return "open"
		}
		return closed[h.kind]
	}
	return Changed{Target: target.Of(res.State.Aggregate()), Version: res.State.Version, From: state(res.Before.Hold), State: state(res.State.Hold), DryRun: a.DryRun}, nil
}

// The codes of an operator's reasons.
const (
	codeRequested                     = event.CodeRequested
	codeSkippedByOperator domain.Code = "skipped_by_operator"
)

// operatorReason returns the reason of an operator's command, nil = none was given.
func operatorReason(why string) *domain.Reason {
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
	return cmp.Or(strings.TrimSpace(why), other)
}
