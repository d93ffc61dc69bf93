package bulk

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/people"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
	"github.com/accession-ingest/accession/projections/query"
)

// Runner carries out bulk actions, each in one process at a time. Every thing is noted,
// with the version that may be changed, before the command is given to it; its events have
// the id of the bulk action as their command. So the process that comes after one that was
// killed finds what was changed, and changes nothing twice.
type Runner struct {
	App *app.App
	Log *slog.Logger
}

const (
	chunk      = 32               // things that are taken at once
	parallel   = 16               // commands at once
	chunkTime  = 90 * time.Second // for one chunk; less than the lead is kept idle
	lookPause  = time.Second
	maxPause   = 30 * time.Second
	maxTries   = 5 // of one thing
	shownTime  = 10 * time.Second
	openAtOnce = 20
)

// Run carries out bulk actions until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: lookPause, Multiplier: 2, RandomizationFactor: 0.2, MaxInterval: maxPause}
	for {
		worked, err := r.round(ctx)
		pause := lookPause
		switch {
		case err != nil && ctx.Err() == nil:
			pause = pauses.NextBackOff()
			r.Log.Warn("bulk actions are tried again later", "error", err, "pause", pause)
		case worked:
			pauses.Reset()
			continue
		default:
			pauses.Reset()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil
		}
	}
}

// round takes a step of each open bulk action that no other process has the lead of. One
// that cannot go on does not stop the others.
func (r *Runner) round(ctx context.Context) (worked bool, err error) {
	records, err := r.App.Open.Records(ctx)
	if err != nil {
		return false, err
	}
	ids, err := records.OpenBulkActions(ctx, openAtOnce)
	var failed error
	for _, id := range ids {
		leads, err := records.LeadBulkAction(ctx, id, func() error {
			ctx, cancel := context.WithTimeout(ctx, chunkTime)
			defer cancel()
			return r.step(ctx, records, id)
		})
		worked = worked || leads && err == nil
		failed = errors.Join(failed, err)
	}
	return worked, errors.Join(err, failed)
}

// running is a bulk action that this process carries out.
type running struct {
	*Runner
	records *record.Records
	db      query.DB
	row     record.BulkAction
	request Request
	verb    Verb
	of      selection
}

// step does what is to be done next of a bulk action: what was begun and not ended, or the
// next things.
func (r *Runner) step(ctx context.Context, records *record.Records, id string) error {
	row, found, err := records.BulkAction(ctx, id)
	if err != nil || !found || row.EndedAt != nil {
		return err
	}
	db, err := r.App.Open.DB(ctx)
	if err != nil {
		return err
	}
	now := &running{Runner: r, records: records, db: db, row: row}
	if err := now.read(ctx); err != nil {
		return err
	}
	items, err := records.TakeBulkItemsAgain(ctx, id)
	if err != nil {
		return err
	}
	if len(items) == 0 {
		if row.Position == "" {
			if err := r.App.Open.CaughtUp(ctx); err != nil { // what was changed a moment ago counts
				return err
			}
		}
		if items, err = now.next(ctx); err != nil || items == nil {
			return err
		}
	}
	return now.give(ctx, items)
}

// read reads the row of the bulk action, and what it selects where its user may act now.
func (n *running) read(ctx context.Context) error {
	a, err := actionOf(n.row)
	if err != nil {
		return err
	}
	n.request = a.Request
	if n.verb, err = find(n.request); err != nil {
		return err
	}
	n.of = selection{kind: n.request.Kind, Filter: n.request.Filter, requested: n.row.RequestedAt}
	if n.row.Sees != nil { // else it was requested on the machine itself
		if err := n.limit(ctx); err != nil {
			return err
		}
	}
	return n.of.resolve(ctx, n.App)
}

// limit limits the bulk action to where its user might act when it was requested and may now.
func (n *running) limit(ctx context.Context) error {
	var then access.Filter
	if err := json.Unmarshal(n.row.Sees, &then); err != nil {
		return err
	}
	caller, err := (&people.People{Records: n.records}).Caller(ctx, n.row.UserName)
	if known, ok := errors.AsType[*app.Error](err); err != nil && (!ok || known.Kind != app.Unauthenticated) {
		return err
	}
	n.of.sees = new(then.LimitTo(caller.FilterFor(access.Act)))
	return nil
}

// next takes the next things; nil = there are none, and the bulk action has ended, or
// another process has taken them.
func (n *running) next(ctx context.Context) ([]record.BulkItem, error) {
	if n.row.CancelledAt == nil && n.of.closed() {
		if _, err := n.records.CancelBulkAction(ctx, n.row.ID, withdrawn); err != nil {
			return nil, err
		}
		return nil, n.records.EndBulkAction(ctx, n.row.ID)
	}
	if n.row.CancelledAt != nil {
		return nil, n.records.EndBulkAction(ctx, n.row.ID)
	}
	items, err := n.of.after(ctx, n.db, n.row.Position, chunk)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, n.records.EndBulkAction(ctx, n.row.ID)
	}
	for i := range items {
		items[i].ActionID, items[i].Outcome, items[i].Tries = n.row.ID, record.ItemBegun, 1
	}
	begun, err := n.records.BeginBulkItems(ctx, n.row.ID, n.row.Position, items[len(items)-1].Target, items)
	if err != nil || !begun {
		return nil, err
	}
	return items, nil
}

// withdrawn is who cancels a bulk action of a user who may not act any more.
const withdrawn = "the service: the user may not act any more"

// give carries out the command on things, several at once, and keeps what became of each. The
// error is that of the first of which it is not known.
func (n *running) give(ctx context.Context, items []record.BulkItem) error {
	errs := make([]error, len(items))
	var g errgroup.Group
	g.SetLimit(parallel)
	for i := range items {
		g.Go(func() error {
			if errs[i] = ctx.Err(); errs[i] == nil {
				errs[i] = n.one(ctx, &items[i])
			}
			return nil
		})
	}
	_ = g.Wait() // each has its own error
	var untried []string
	var first error
	for i, err := range errs {
		if err == nil {
			continue
		}
		first = cmp.Or(first, fmt.Errorf("%s %s: %w", n.request.Verb, items[i].Target, err))
		if known, ok := errors.AsType[*app.Error](err); ctx.Err() != nil || ok && known.Kind == app.Unavailable {
			untried = append(untried, items[i].Target)
		}
	}
	return errors.Join(n.records.EndBulkItems(ctx, n.row.ID, items, untried), first)
}

// one carries out the command on a thing and sets what became of it. The error is one that may go
// away: the thing is then begun still.
func (n *running) one(ctx context.Context, item *record.BulkItem) error {
	if item.Tries > maxTries {
		n.Log.Error("a bulk action could not change one thing", "action", n.row.ID, "target", item.Target, "tries", maxTries)
		n.refuse(item, Item{Code: string(app.Failed), Message: fmt.Sprintf("given up after %d tries: the service's log says why", maxTries)})
		return nil
	}
	changed, err := n.command(ctx, item)
	if err == nil {
		item.Outcome, item.Result = record.ItemDone, changed.State
		return nil
	}
	why := refusal(err)
	if why.Message == "" || conflicts(err) && item.Tries < maxTries {
		return err
	}
	if item.Tries > 1 && (why.Code == string(app.Outdated) || why.Code == string(app.NotFound)) { // an earlier try may have changed it
		if given, err := n.given(ctx, item); err != nil || given {
			return err
		}
	}
	n.refuse(item, why)
	return nil
}

// conflicts reports whether another process changed a thing at the same moment. A worker that
// has it locked may keep it for hours.
func conflicts(err error) bool {
	known, ok := errors.AsType[*app.Error](err)
	return ok && known.Kind == app.Refused && errors.Is(err, eventstore.ErrConflict) && !errors.Is(err, eventstore.ErrLocked)
}

// command carries out the command on a thing, under an id that is always the same.
func (n *running) command(ctx context.Context, item *record.BulkItem) (c app.Changed, err error) {
	a := &app.App{Open: n.App.Open, Actor: domain.Actor(n.row.Actor), Command: &app.Command{ID: commandOf(n.row.ID)}}
	if n.request.Kind != domain.KindFile { // files are found by the command in their history
		a.Command.IfVersion = item.Version
	}
	err = crash.Around("app/bulk/one", func() error {
		c, err = n.verb.do(a, ctx, item.Target, n.request)
		return err
	})
	return c, err
}

// commandOf returns the command id that events of a bulk action have.
func commandOf(action string) string { return "bulk-" + action }

// about returns the thing that an item is about.
func (n *running) about(item *record.BulkItem) domain.Aggregate {
	if n.request.Kind == KindDiscover {
		return domain.SettingAggregate(domain.SettingDiscovery, item.Target)
	}
	return domain.Aggregate{Kind: n.request.Kind, ID: item.Target}
}

// given reports whether an earlier try has given the command to the thing, as the tables
// show, and then sets what became of it. If it was changed after the version that might be
// changed, that is waited for: in vain, it is tried again later, but for the last try.
func (n *running) given(ctx context.Context, item *record.BulkItem) (bool, error) {
	if n.request.Kind == KindDrop {
		return n.givenTo(item)
	}
	waiting, cancel := context.WithTimeout(ctx, shownTime)
	defer cancel()
	if err := n.App.Open.Projected(waiting, n.about(item), item.Version+1); err != nil && (waiting.Err() == nil || item.Tries < maxTries) {
		return false, err
	}
	events, err := query.EventsOfCommand(ctx, n.db, n.about(item), commandOf(n.row.ID))
	if err != nil || len(events) == 0 {
		return false, err
	}
	item.Outcome = record.ItemDone
	return true, nil
}

// refuse sets that a thing could not be changed, and why.
func (n *running) refuse(item *record.BulkItem, why Item) {
	item.Outcome, item.Code, item.Message = record.ItemRefused, why.Code, why.Message
}

// refusal returns the kind and the sentence of an error that is about the thing and will not
// go away; without a sentence it is another one.
func refusal(err error) Item {
	known, ok := errors.AsType[*app.Error](err)
	if !ok {
		return Item{}
	}
	switch known.Kind {
	case app.Refused, app.NotFound, app.Outdated, app.Invalid:
		return Item{Code: string(known.Kind), Message: known.Err.Error()}
	}
	return Item{}
}
