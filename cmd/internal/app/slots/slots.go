// Package slots has the use cases of slots: groups of a dataset with a time window, in which
// their files may become ready, and what these wait for.
package slots

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/showing"
	"github.com/accession-ingest/accession/cmd/internal/app/target"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/eventstore/files"
	"github.com/accession-ingest/accession/projections/query"
)

// Slot is a slot as the tables have it.
type Slot struct {
	ID      slot.ID          `json:"id"`
	Dataset string           `json:"dataset"`
	Group   string           `json:"group"`
	Status  domain.SlotState `json:"status"`
	Opens   domain.Time      `json:"opens_at"`
	Closes  domain.Time      `json:"closes_at"`
	Since   domain.Time      `json:"status_since"`
	Reason  string           `json:"reason,omitempty"` // of its last change
	MadeBy  string           `json:"made_by"`          // an operator, or a daemon that made it from the name of its group
	Files   Counts           `json:"files"`
}

// Counts says how many files of a slot stand where.
type Counts struct {
	All       int64 `json:"all"`
	Arrived   int64 `json:"arrived"` // their content is there, or was
	Waiting   int64 `json:"waiting"` // to become ready
	Ready     int64 `json:"ready"`   // or being processed
	Processed int64 `json:"processed"`
	Skipped   int64 `json:"skipped"`
	GivenUp   int64 `json:"given_up"`
	Bytes     int64 `json:"bytes"` // of those that arrived
}

func of(r query.SlotRow) Slot {
	s := Slot{ID: slot.ID(r.SlotID), Dataset: r.Dataset, Group: r.GroupName, Status: domain.SlotState(r.Status), Opens: domain.At(r.OpensAt), Closes: domain.At(r.ClosesAt),
		Since: domain.At(r.StatusSince), MadeBy: r.MadeBy, Files: Counts{r.Files, r.FilesArrived, r.FilesWaiting, r.FilesReady, r.FilesProcessed, r.FilesSkipped, r.FilesGivenUp, r.BytesArrived}}
	if r.ReasonCode != nil {
		s.Reason = *r.ReasonCode
	}
	if m := r.ReasonMessage; m != nil && *m != "" { // a reason may be a code alone
		s.Reason = strings.TrimPrefix(s.Reason+": "+*m, ": ")
	}
	return s
}

// Transition is one change of a slot's state.
type Transition = query.SlotTransition

// View is a slot and every change of its state.
type View struct {
	Slot
	Version     int64        `json:"version"` // of the last of its transitions
	Transitions []Transition `json:"transitions"`
}

// Filter chooses slots; empty fields choose all.
type Filter struct {
	Dataset  string
	Datasets []string // of one of these, nil = of any
	Status   domain.SlotState
	Code     string // of the reason of its last change
	// Since and Until bound when their windows begin: not before, and before.
	Since, Until time.Time
	Limit        int
}

// parse checks the id of a slot in a cursor.
func parse(s string) (slot.ID, error) {
	id, _, _, err := slot.ParseID(s)
	return id, err
}

var list = showing.List[slot.ID, query.SlotRow, Slot]{Kind: domain.KindSlot, Parse: parse, Item: of, ID: func(s Slot) slot.ID { return s.ID }}

// Ls lists slots in the order of their ids, from a cursor on.
func Ls(ctx context.Context, a *app.App, f Filter, from app.Cursor) (p app.Page[Slot], err error) {
	defer app.Explained(&err, "list slots")
	return list.Page(ctx, a, from, f.Limit, func(db query.Reader, after slot.ID, limit int) ([]query.SlotRow, error) {
		return query.Slots(ctx, db, query.SlotFilter{Dataset: f.Dataset, Datasets: f.Datasets, Status: f.Status, Code: f.Code, Since: f.Since, Until: f.Until, After: after, Limit: limit})
	})
}

// Show shows one slot with its history.
func Show(ctx context.Context, a *app.App, name string) (v View, err error) {
	defer app.Explained(&err, "show the slot "+name)
	id, err := named(name)
	if err != nil {
		return v, err
	}
	db, err := a.Open.DB(ctx)
	if err != nil {
		return v, err
	}
	row, err := query.SlotByID(ctx, db, id)
	if errors.Is(err, query.ErrNotFound) {
		err = &app.Error{Kind: app.NotFound, Err: errors.New("there is no such slot in the tables"), Hint: "`accession slot ls` lists them; `accession status` shows how far the tables are behind"}
	}
	if err != nil {
		return v, err
	}
	v.Slot = of(row)
	if v.Transitions, err = query.SlotHistory(ctx, db, id); len(v.Transitions) > 0 {
		v.Version = v.Transitions[len(v.Transitions)-1].Version
	}
	return v, err
}

func named(name string) (slot.ID, error) {
	id, _, _, err := slot.ParseID(name)
	if err != nil {
		err = &app.Error{Kind: app.Invalid, Err: err, Hint: "`accession slot ls -o json` shows the ids"}
	}
	return id, err
}

// Window is the time of a slot.
type Window struct{ From, To time.Time }

// Add makes a slot (S1).
func Add(ctx context.Context, a *app.App, dataset, group string, w Window) (c app.Changed, err error) {
	id := slot.NewID(dataset, group)
	defer app.Explained(&err, "add the slot "+string(id))
	if err := errors.Join(slot.CheckDataset(dataset), setting.CheckGroup(group)); err != nil {
		return c, &app.Error{Kind: app.Invalid, Err: err}
	}
	return change(ctx, a, id, func(files.Slots, domain.Time) (slot.Command, error) {
		return slot.Add{Dataset: dataset, Group: group, Opens: domain.At(w.From), Closes: domain.At(w.To)}, nil
	})
}

// codeByOperator is the code of the reason of an operator.
const codeByOperator domain.Code = "requested"

func reason(what, why string) (*domain.Reason, error) {
	if why = strings.TrimSpace(why); why == "" {
		return nil, &app.Error{Kind: app.Invalid, Err: errors.New(what + " needs a reason"), Hint: "say why with --reason; it stays in the history"}
	}
	return &domain.Reason{Class: domain.ClassWait, Code: codeByOperator, Message: why}, nil
}

// Open opens a slot, before its window has begun or after it has ended (S2, S5). until moves
// the end of its window, zero = it stays.
func Open(ctx context.Context, a *app.App, name string, until time.Time, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "open the slot "+name)
	id, err := named(name)
	if err != nil {
		return c, err
	}
	because, err := reason("opening a slot", why)
	if err != nil {
		return c, err
	}
	c, err = change(ctx, a, id, func(_ files.Slots, now domain.Time) (slot.Command, error) {
		return slot.Open{Now: now, Reason: because, Until: domain.At(until)}, nil
	})
	if refused, ok := errors.AsType[*domain.Refused](err); ok && refused.Code == slot.CodeOver {
		err = &app.Error{Kind: app.Refused, Err: err, Hint: "give the window a new end with --to"}
	}
	return c, err
}

// Close ends a slot before its window is over (S3, S4).
func Close(ctx context.Context, a *app.App, name, why string) (c app.Changed, err error) {
	defer app.Explained(&err, "close the slot "+name)
	id, err := named(name)
	if err != nil {
		return c, err
	}
	because, err := reason("closing a slot", why)
	if err != nil {
		return c, err
	}
	c, err = change(ctx, a, id, func(files.Slots, domain.Time) (slot.Command, error) {
		db, err := a.Open.DB(ctx)
		if err != nil {
			return nil, err
		}
		row, err := query.SlotByID(ctx, db, id)
		if errors.Is(err, query.ErrNotFound) { // newer than the tables
			err = nil
		}
		return slot.Close{Reason: *because, Files: int(row.FilesArrived)}, err
	})
	if err == nil {
		c.Effects = append(c.Effects, "its files that are not READY yet are skipped; those that are go on")
	}
	return c, err
}

// change decides and writes an operator's command about a slot.
func change(ctx context.Context, a *app.App, id slot.ID, command func(files.Slots, domain.Time) (slot.Command, error)) (c app.Changed, err error) {
	handler, err := a.Open.FileHandler(ctx)
	if err != nil {
		return c, err
	}
	all := handler.Slots()
	now, err := all.Now(ctx)
	if err != nil {
		return c, err
	}
	states, err := all.States(ctx, []slot.ID{id})
	if err != nil {
		return c, err
	}
	before, known := states[id]
	cmd, err := command(all, now)
	if err != nil {
		return c, err
	}
	if _, first := cmd.(slot.Add); !known && !first {
		return c, &app.Error{Kind: app.NotFound, Err: errors.New("there is no such slot"), Hint: "`accession slot ls` lists them"}
	}
	before.ID = id
	m := a.Meta()
	c = app.Changed{Target: target.Of(id.Aggregate()), From: string(before.State), DryRun: a.DryRun}
	if a.DryRun {
		if err := m.Outdated(before.Version); err != nil {
			return app.Changed{}, err
		}
		dec, err := slot.Decide(before, cmd)
		if err != nil {
			return app.Changed{}, err
		}
		last := dec.Events[len(dec.Events)-1]
		c.Version, c.State, c.Row = last.Version, string(last.Data.(*domain.SlotMove).To), strings.Join(dec.Rows, ", ")
		return c, nil
	}
	res, err := all.Slot(ctx, id, cmd, m)
	if err != nil {
		return app.Changed{}, err
	}
	c.Version, c.State, c.Row = res.Slot.Version, string(res.Slot.State), strings.Join(res.Rows, ", ")
	return c, nil
}
