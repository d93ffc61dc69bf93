package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/operation/internal/sight"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// PoisonList chooses held events.
type PoisonList struct {
	Page
	Batch string `query:"batch" maxLength:"40" doc:"Only of this batch, its jobs and files"`
	Age          // since when they are held
}

// PoisonShow names a held event.
type PoisonShow struct {
	Seq int64 `path:"seq" minimum:"1" example:"4711" doc:"Sequence of the event in the log"`
}

// PoisonRetry says which held events are applied.
type PoisonRetry struct {
	Trial
	Body struct {
		Aggregate string `json:"aggregate,omitempty" maxLength:"200" example:"job/jid0000000042" doc:"Only those of this batch, job, file or setting; absent = all"`
		Reason    string `json:"reason,omitempty" maxLength:"500" doc:"Why; the audit has it"`
	}
}

// Subject implements about.
func (p *PoisonRetry) Subject() string {
	if p.Body.Aggregate == "" {
		return "tables"
	}
	return p.Body.Aggregate
}

func poison() []*Operation {
	return []*Operation{
		get("poison.ls", "/v1/poison", "List events that could not be applied to the tables, in the order of the log", OnInstallation, false, func(ctx context.Context, c *Call, in *PoisonList) (p app.Page[tables.PoisonEvent], err error) {
			if _, err := (&BatchID{ID: in.Batch}).Thing(); err != nil && in.Batch != "" {
				return p, err
			}
			p, err = tables.Poison(ctx, c.App, tables.PoisonFilter{Batch: domain.BatchID(in.Batch), Since: in.Since, Until: in.OlderThan, Limit: in.Limit}, app.Cursor(in.Cursor))
			return orUnknown(ctx, c, sight.Named{Batch: in.Batch}, p, err)
		}),
		get("poison.show", "/v1/poison/{seq}", "Show an event that could not be applied to the tables", OnInstallation, false, func(ctx context.Context, c *Call, in *PoisonShow) (tables.PoisonEvent, error) {
			return tables.PoisonAt(ctx, c.App, uint64(in.Seq))
		}),
		row(Operation{Name: "poison.retry", Method: http.MethodPost, Path: "/v1/poison/retry", Summary: "Apply held events to the tables, as far as possible",
			Need: access.Act, On: OnInstallation, Write: true}, func(ctx context.Context, c *Call, in *PoisonRetry) (p app.Page[tables.PoisonRetried], err error) {
			var one domain.Aggregate // zero = all
			if text := in.Body.Aggregate; text != "" {
				if one, err = domain.ParseAggregate(text); err != nil {
					return p, invalid("%v", err)
				}
			}
			return Whole(tables.RetryPoison(ctx, c.App, one))
		}),
	}
}
