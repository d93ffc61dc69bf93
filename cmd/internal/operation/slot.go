package operation

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/slot"
)

// SlotID names a slot.
type SlotID struct {
	ID string `path:"id" maxLength:"1000" example:"nights:20261127" doc:"Slot id: DATASET:GROUP, other bytes than letters, digits and . _ - percent-encoded"`
}

// Subject implements about.
func (s *SlotID) Subject() string { return string(domain.KindSlot) + "/" + s.ID }

// Collection implements collected: it is that of the dataset.
func (s *SlotID) Collection(ctx context.Context, c *Call) (string, error) {
	_, dataset, _, err := slot.ParseID(s.ID)
	if err != nil {
		return "", invalid("%v", err)
	}
	return (&DatasetName{Name: dataset}).Collection(ctx, c)
}

// SlotList chooses slots.
type SlotList struct {
	Page
	Dataset string `query:"dataset" maxLength:"128" doc:"Only of this dataset"`
	State   string `query:"state" enum:"PENDING,ACTIVE,DONE,MISSED" doc:"Only in this state"`
	Code    string `query:"code" maxLength:"100" doc:"Only those whose last change has a reason with this code"`
	InCollection
	Age // of its window
}

// SlotAdd makes a slot.
type SlotAdd struct {
	Setting
	Body struct {
		Dataset string    `json:"dataset" minLength:"1" maxLength:"128" example:"nights" doc:"The dataset"`
		Group   string    `json:"group" minLength:"1" maxLength:"128" example:"20261127" doc:"The group of its files"`
		From    time.Time `json:"from" doc:"Begin of its window"`
		To      time.Time `json:"to" doc:"End of its window"`
	}
}

// Subject implements about.
func (s *SlotAdd) Subject() string {
	return slot.NewID(s.Body.Dataset, s.Body.Group).Aggregate().String()
}

// Collection implements collected.
func (s *SlotAdd) Collection(ctx context.Context, c *Call) (string, error) {
	return (&DatasetName{Name: s.Body.Dataset}).Collection(ctx, c)
}

// SlotOpen opens a slot by hand.
type SlotOpen struct {
	SlotID
	MatchSetting
	Body struct {
		To     time.Time `json:"to,omitzero" doc:"New end of its window; absent = it stays"`
		Reason string    `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// SlotChange is a command about a slot.
type SlotChange struct {
	SlotID
	Match
}

func slotOperations() []*Operation {
	write := func(name, path, summary string) Operation {
		return Operation{Name: name, Method: http.MethodPost, Path: path, Summary: summary, Need: access.Act, On: OnCollection, Write: true}
	}
	return []*Operation{
		get("slot.ls", "/v1/slots", "List the slots of the collections that you may see, with how many of their files stand where", OnSeen, false, func(ctx context.Context, c *Call, in *SlotList) (p app.Page[slots.Slot], err error) {
			f := slots.Filter{Dataset: in.Dataset, Code: in.Code, Since: in.Since, Until: in.OlderThan, Limit: in.Limit}
			if f.Status, err = among(in.State, slot.States); err != nil {
				return p, err
			}
			if f.Datasets, err = c.datasetsOf(ctx, in.InCollection); err != nil {
				return p, err
			}
			p, err = slots.Ls(ctx, c.App, f, app.Cursor(in.Cursor))
			return orUnknown(ctx, c, in.named(in.Dataset), p, err)
		}),
		get("slot.show", "/v1/slots/{id}", "Show a slot and its history", OnCollection, false, func(ctx context.Context, c *Call, in *SlotID) (slots.View, error) {
			return slots.Show(ctx, c.App, in.ID)
		}),
		row(write("slot.add", "/v1/slots", "Give a group of a dataset its time window"), func(ctx context.Context, c *Call, in *SlotAdd) (app.Changed, error) {
			b := in.Body
			return slots.Add(ctx, c.App, b.Dataset, b.Group, slots.Window{From: b.From, To: b.To})
		}),
		row(write("slot.open", "/v1/slots/{id}/open", "Open a slot: its files may become ready"), func(ctx context.Context, c *Call, in *SlotOpen) (app.Changed, error) {
			return slots.Open(ctx, c.App, in.ID, in.Body.To, in.Body.Reason)
		}),
		row(write("slot.close", "/v1/slots/{id}/close", "End a slot: its files that are not ready are skipped"), func(ctx context.Context, c *Call, in *SlotChange) (app.Changed, error) {
			return slots.Close(ctx, c.App, in.ID, in.Why())
		}),
	}
}

// InCollection chooses what belongs to a dataset by what that belongs to.
type InCollection struct {
	Profile    string `query:"profile" maxLength:"200" doc:"Only of datasets of this profile"`
	Collection string `query:"collection" maxLength:"200" doc:"Only of datasets of this collection"`
}

func (f *InCollection) named(dataset string) sight.Named {
	return sight.Named{Profile: f.Profile, Collection: f.Collection, Dataset: dataset}
}

// datasetsOf returns the names of the datasets that are chosen and that the caller may see,
// nil = all.
func (c *Call) datasetsOf(ctx context.Context, f InCollection) ([]string, error) {
	if f == (InCollection{}) && c.Caller.May(access.See, "") {
		return nil, nil
	}
	all, err := c.datasets(ctx, f)
	names := []string{}
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names, err
}

// datasets returns the datasets that are chosen and that the caller may see.
func (c *Call) datasets(ctx context.Context, f InCollection) ([]directories.Dataset, error) {
	all, err := directories.Datasets(ctx, c.App)
	return slices.DeleteFunc(all, func(d directories.Dataset) bool {
		return !c.Caller.May(access.See, d.Collection) || f.Profile != "" && d.Profile != f.Profile || f.Collection != "" && d.Collection != f.Collection
	}), err
}
