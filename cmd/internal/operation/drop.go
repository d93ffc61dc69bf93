package operation

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/drops"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/domain/fair"
)

// DropList chooses deposits in the drop folder.
type DropList struct {
	Submitter string `query:"submitter" maxLength:"256" doc:"Only those of this user; without the right to see all: you"`
	Removed   bool   `query:"removed" doc:"Those that operators have removed"`
}

// DropChange is a command about a deposit in the drop folder.
type DropChange struct {
	UploadID
	Change
}

func dropFolder() []*Operation {
	change := func(v verb[string]) *Operation {
		return act("drop."+v.name, "/v1/uploads/{id}/"+v.name, v.summary, func(ctx context.Context, c *Call, in *DropChange) (app.Changed, error) {
			return v.do(ctx, c.App, in.ID, in.Why())
		})
	}
	transfer := func(v verb[string]) *Operation {
		return act("drop."+v.name, "/v1/uploads/"+v.name, v.summary, func(ctx context.Context, c *Call, in *Change) (app.Changed, error) {
			return v.do(ctx, c.App, fair.QueueMetadata, in.Why())
		})
	}
	return []*Operation{
		get("drop.ls", "/v1/uploads", "List the deposits in the drop folder: the own, or all with the right in all collections", OnSelf, false,
			func(ctx context.Context, c *Call, in *DropList) (app.Page[drops.Shown], error) {
				of := in.Submitter
				if !c.Caller.May(access.See, "") {
					of = c.Caller.Name
				}
				p, err := Whole(drops.List(ctx, c.App, of, in.Removed))
				return orUnknown(ctx, c, named{submitter: of}, p, err)
			}),
		change(verb[string]{"retry", "Let a refused deposit be transferred again", drops.Retry}),
		change(verb[string]{"rm", "Remove a deposit from the drop folder, for ever", drops.Remove}),
		transfer(verb[string]{"start", "Let deposits from the drop folder become batches again", queues.StartTransfer}),
		transfer(verb[string]{"stop", "Keep deposits in the drop folder; it goes on to take files", queues.StopTransfer}),
	}
}
