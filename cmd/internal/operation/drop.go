package operation

import (
	"cmp"
	"context"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain/fair"
)

// DropList chooses deposits in the drop folder.
type DropList struct {
	Page
	Submitter  string `query:"submitter" maxLength:"256" doc:"Only those of this user; without the right to see all: you"`
	Profile    string `query:"profile" maxLength:"200" doc:"Only for this profile"`
	Collection string `query:"collection" maxLength:"200" doc:"Only for a profile of this collection"`
	State      string `query:"state" maxLength:"20" enum:"waiting,refused" doc:"Only in this state; of those that are not removed"`
	Age
	Removed bool `query:"removed" doc:"Those that operators have removed"`
}

// has reports whether a deposit is chosen.
func (l *DropList) has(c *Call, s drops.Shown) bool {
	if l.Collection != "" {
		if of, err := c.sight().CollectionOf(s.Profile); err != nil || of != l.Collection { // its profile may have gone
			return false
		}
	}
	return (l.Profile == "" || s.Profile == l.Profile) && (l.State == "" || s.State == l.State) && l.Age.has(s.Received)
}

// DropChange is a command about a deposit in the drop folder.
type DropChange struct {
	UploadID
	Match
}

func dropFolder() []*Operation {
	change := func(v verb[string]) *Operation {
		return act("drop."+v.name, "/v1/uploads/{id}/"+v.name, v.summary, func(ctx context.Context, c *Call, in *DropChange) (app.Changed, error) {
			return v.do(ctx, c.App, in.ID, in.Why())
		})
	}
	transfer := func(v verb[string]) *Operation {
		return act("drop."+v.name, "/v1/uploads/"+v.name, v.summary, func(ctx context.Context, c *Call, in *Match) (app.Changed, error) {
			return v.do(ctx, c.App, fair.QueueMetadata, in.Why())
		})
	}
	return []*Operation{
		get("drop.ls", "/v1/uploads", "List the deposits in the drop folder: the own, or all with the right in all collections", OnSelf, false,
			func(ctx context.Context, c *Call, in *DropList) (app.Page[drops.Shown], error) {
				of := cmp.Or(c.Caller.SeesUser(), in.Submitter)
				all, err := drops.List(ctx, c.App, of, in.Removed)
				after, wrong := app.After(app.Cursor(in.Cursor), "deposit", drops.ParseID)
				if wrong != nil {
					return app.Page[drops.Shown]{}, wrong
				}
				all = slices.DeleteFunc(all, func(s drops.Shown) bool { return !in.has(c, s) })
				from := slices.DeleteFunc(slices.Clone(all), func(s drops.Shown) bool { return s.ID <= after })
				p := app.PageOf(cmp.Or(in.Limit, len(all)), from, "deposit", func(s drops.Shown) string { return s.ID })
				p.Total = new(int64(len(all)))
				return orUnknown(ctx, c, sight.Named{Submitter: of, Profile: in.Profile, Collection: in.Collection}, p, err)
			}),
		change(verb[string]{"retry", "Let a refused deposit be transferred again", drops.Retry}),
		change(verb[string]{"rm", "Remove a deposit from the drop folder, for ever", drops.Remove}),
		transfer(verb[string]{"start", "Let deposits from the drop folder become batches again", queues.StartTransfer}),
		transfer(verb[string]{"stop", "Keep deposits in the drop folder; it goes on to take files", queues.StopTransfer}),
	}
}
