package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

// Request is a command about all that a filter selects.
type Request struct {
	Kind     domain.Kind `json:"kind" enum:"batch,job,file,entry,query,drop,slot,discover" doc:"What it is about"`
	Verb     string      `json:"verb" maxLength:"20" example:"requeue" doc:"The command, as for one thing"`
	Filter   Filter      `json:"filter" doc:"What it selects; at least one condition"`
	Priority *int        `json:"priority,omitempty" minimum:"0" maximum:"99" doc:"The new priority, with the verb priority: lower runs first"`
	To       time.Time   `json:"to,omitzero" doc:"The new end of the windows, with the verb open; absent = they stay"`
	Reason   string      `json:"reason,omitempty" maxLength:"500" doc:"Why; it stays in the history"`
}

// The states of a bulk action.
const (
	Waiting   = "waiting"
	Running   = "running"
	Done      = "done"
	Cancelled = "cancelled"
)

// Action is a bulk action and how far it is.
type Action struct {
	ID          string     `json:"id" doc:"Id of the bulk action; empty after a dry run"`
	Status      string     `json:"status" enum:"waiting,running,done,cancelled" doc:"How far it is"`
	State       string     `json:"state" enum:"waiting,running,done,cancelled" deprecated:"true" doc:"The same as status"`
	By          string     `json:"by" doc:"Who requested it"`
	Request     Request    `json:"request" doc:"What was requested"`
	Matched     *int64     `json:"matched" doc:"How many things the filter selected when it was requested; null = more than are counted"`
	Done        int64      `json:"done" doc:"How many were changed"`
	Refused     int64      `json:"refused" doc:"How many could not be changed: its items say why"`
	RequestedAt time.Time  `json:"requested_at" doc:"When it was requested: what came later is not selected"`
	BegunAt     *time.Time `json:"begun_at,omitempty" doc:"When the first were taken"`
	EndedAt     *time.Time `json:"ended_at,omitempty" doc:"When nothing was left to do"`
	CancelledBy string     `json:"cancelled_by,omitempty" doc:"Who ended it early"`
	DryRun      bool       `json:"dry_run,omitempty" doc:"Nothing was begun: this is what it would be about"`
	First       []Tried    `json:"first,omitempty" doc:"After a dry run: the first things, and what would become of each"`

	number int64
}

// Item is a thing that a bulk action has taken.
type Item struct {
	ID      string `json:"id" doc:"Batch id, job id, hash of the file, entry id, query id, id of the deposit, slot id or name of the directory"`
	Outcome string `json:"outcome" enum:"begun,done,refused" doc:"What became of it"`
	Status  string `json:"status,omitempty" doc:"Its state afterwards"`
	State   string `json:"state,omitempty" deprecated:"true" doc:"The same as status"`
	Code    string `json:"code,omitempty" doc:"Kind of the error for which it was refused"`
	Message string `json:"message,omitempty" doc:"Why it was refused"`
}

// Requester is who requests a bulk action; the zero value is a user of the machine itself,
// who may act on everything.
type Requester struct {
	User string         // with rights
	Acts *access.Filter // where it may act
}

// Permit refuses a request of one who may act on nothing of its kind.
func (r Request) Permit(by Requester) error {
	if (selection{kind: r.Kind, sees: by.Acts}).closed() {
		return &app.Error{Kind: app.Forbidden, What: "give a command to all", Err: fmt.Errorf("you have no right to act on all %s", Plural(r.Kind)),
			Hint: "entries, queries and deposits in the drop folder are of no collection: it takes the right to act in all, which an administrator gives with `accession user grant`"}
	}
	return nil
}

// Begin keeps a request that is permitted, which the service then carries out; a dry run only
// returns what it would be about. Requested again under the same command id it is the same
// bulk action.
func Begin(ctx context.Context, a *app.App, r Request, by Requester) (begun Action, err error) {
	defer app.Explained(&err, "give a command to all")
	v, err := find(r)
	if err != nil {
		return begun, err
	}
	if err := r.Filter.check(r.Kind); err != nil {
		return begun, err
	}
	s := selection{kind: r.Kind, Filter: r.Filter, sees: by.Acts}
	if err := s.resolve(ctx, a); err != nil {
		return begun, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return begun, err
	}
	matched, err := s.count(ctx, db)
	if err != nil {
		return begun, err
	}
	if a.DryRun {
		begun = Action{Status: Waiting, State: Waiting, By: string(a.Actor), Request: r, Matched: matched, DryRun: true}
		begun.First, err = v.try(ctx, a, db, s, r)
		return begun, err
	}
	row, err := rowOf(a, r, by)
	if err != nil {
		return begun, err
	}
	row.Matched = matched
	records, err := a.Open.Records(ctx)
	if err != nil {
		return begun, err
	}
	kept, err := records.AddBulkAction(ctx, row)
	if err != nil {
		return begun, err
	}
	if kept.InputSha256 != row.InputSha256 {
		return begun, &app.Error{Kind: app.KeyReused, Err: fmt.Errorf("the key was used for another bulk action, %s", kept.ID), Hint: "nothing was changed: give this one a key of its own"}
	}
	return actionOf(kept)
}

// try returns what would become of the first things of a selection.
func (v Verb) try(ctx context.Context, a *app.App, db query.DB, s selection, r Request) ([]Tried, error) {
	items, err := s.after(ctx, db, "", sample)
	first := make([]Tried, len(items))
	for i, item := range items {
		first[i].ID = item.Target
		c, err := v.do(&app.App{Open: a.Open, Actor: a.Actor, DryRun: true}, ctx, item.Target, r)
		if err == nil {
			first[i].Change = &c
			continue
		}
		why := refusal(err)
		if why.Message == "" {
			return first, err
		}
		first[i].Code, first[i].Refusal = why.Code, why.Message
	}
	return first, err
}

// rowOf returns the row of a request.
func rowOf(a *app.App, r Request, by Requester) (row record.BulkAction, err error) {
	row = record.BulkAction{ID: uuid.Must(uuid.NewV7()).String(), Actor: string(a.Actor), Kind: string(r.Kind), Verb: r.Verb, UserName: by.User, Reason: r.Reason}
	input, err := json.Marshal(r)
	if err != nil {
		return row, err
	}
	row.InputSha256 = digest(string(input))
	if a.Command != nil && a.Command.ID != "" {
		row.RequestSha256 = new(digest(row.Actor, a.Command.ID))
	}
	if r.Priority != nil {
		row.Priority = new(int32(*r.Priority))
	}
	if !r.To.IsZero() {
		row.ClosesAt = &r.To
	}
	if row.Filter, err = json.Marshal(r.Filter); err != nil || by.Acts == nil {
		return row, err
	}
	row.Sees, err = json.Marshal(by.Acts)
	return row, err
}

func digest(words ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(words, "\x00")))
	return hex.EncodeToString(sum[:])
}

// actionOf returns a bulk action by its row.
func actionOf(row record.BulkAction) (Action, error) {
	a := Action{ID: row.ID, State: Waiting, By: row.Actor, Request: Request{Kind: domain.Kind(row.Kind), Verb: row.Verb, Reason: row.Reason}, Matched: row.Matched,
		Done: row.Done, Refused: row.Refused, RequestedAt: row.RequestedAt.UTC(), BegunAt: row.BegunAt, EndedAt: row.EndedAt, CancelledBy: row.CancelledBy, number: row.Number}
	if row.Priority != nil {
		a.Request.Priority = new(int(*row.Priority))
	}
	if row.ClosesAt != nil {
		a.Request.To = row.ClosesAt.UTC()
	}
	switch {
	case row.EndedAt != nil && row.CancelledAt != nil:
		a.State = Cancelled
	case row.EndedAt != nil:
		a.State = Done
	case row.BegunAt != nil:
		a.State = Running
	}
	a.Status = a.State
	kept := struct {
		*Filter
		Until time.Time `json:"until"` // as builds before the first release have it
	}{Filter: &a.Request.Filter}
	err := json.Unmarshal(row.Filter, &kept)
	if a.Request.Filter.OlderThan.IsZero() {
		a.Request.Filter.OlderThan = kept.Until
	}
	return a, err
}

// Show returns a bulk action. One of another actor is only shown with everyones.
func Show(ctx context.Context, a *app.App, id string, everyones bool) (shown Action, err error) {
	defer app.Explained(&err, "show the bulk action "+id)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return shown, err
	}
	row, found, err := records.BulkAction(ctx, id)
	if err != nil {
		return shown, err
	}
	if !found || !everyones && row.Actor != string(a.Actor) {
		return shown, &app.Error{Kind: app.NotFound, Err: errors.New("there is no such bulk action"), Hint: "`accession bulk ls` lists them"}
	}
	return actionOf(row)
}

// ListFilter chooses bulk actions; empty fields choose all.
type ListFilter = record.BulkFilter

// States are the states of bulk actions.
var States = []string{Waiting, Running, Done, Cancelled}

// List lists bulk actions, newest first: those of the actor, or everyones.
func List(ctx context.Context, a *app.App, everyones bool, f ListFilter, limit int, from app.Cursor) (p app.Page[Action], err error) {
	defer app.Explained(&err, "list bulk actions")
	after, err := app.After(from, "bulk", func(s string) (string, error) {
		_, err := strconv.ParseInt(s, 10, 64)
		return s, err
	})
	if err != nil {
		return p, err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return p, err
	}
	before, _ := strconv.ParseInt(after, 10, 64) // 0 = from the newest on
	actor := string(a.Actor)
	if everyones {
		actor = ""
	}
	f.Actor = actor
	rows, err := records.BulkActions(ctx, f, before, limit+1)
	all := make([]Action, len(rows))
	for i, row := range rows {
		if all[i], err = actionOf(row); err != nil {
			return p, err
		}
	}
	return app.PageOf(limit, all, "bulk", func(a Action) string { return strconv.FormatInt(a.number, 10) }), err
}

// Items lists what a bulk action has taken, by id; with an outcome, those.
func Items(ctx context.Context, a *app.App, id string, everyones bool, outcome string, limit int, from app.Cursor) (p app.Page[Item], err error) {
	defer app.Explained(&err, "list what the bulk action "+id+" has taken")
	after, err := app.After(from, "item", func(s string) (string, error) { return s, nil })
	if err != nil {
		return p, err
	}
	if _, err := Show(ctx, a, id, everyones); err != nil {
		return p, err
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return p, err
	}
	rows, err := records.BulkItems(ctx, id, outcome, after, limit+1)
	all := make([]Item, len(rows))
	for i, row := range rows {
		all[i] = Item{row.Target, row.Outcome, row.Result, row.Result, row.Code, row.Message}
	}
	return app.PageOf(limit, all, "item", func(i Item) string { return i.ID }), err
}

// ended returns the action as it would be if it were cancelled now.
func (a Action) ended() Action {
	if a.DryRun = true; a.EndedAt == nil {
		a.Status, a.State = Cancelled, Cancelled
	}
	return a
}

// Cancel ends a bulk action early: no further things are taken. What was changed stays so.
func Cancel(ctx context.Context, a *app.App, id string, everyones bool) (shown Action, err error) {
	defer app.Explained(&err, "cancel the bulk action "+id)
	if shown, err = Show(ctx, a, id, everyones); err != nil {
		return shown, err
	}
	if a.DryRun {
		return shown.ended(), nil
	}
	records, err := a.Open.Records(ctx)
	if err != nil {
		return shown, err
	}
	if _, err := records.CancelBulkAction(ctx, id, string(a.Actor)); err != nil {
		return shown, err
	}
	return Show(ctx, a, id, everyones)
}
