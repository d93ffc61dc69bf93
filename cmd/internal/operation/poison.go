package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
)

// PoisonList says how many held events are listed.
type PoisonList struct {
	Limit int `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"How many items at most"`
}

// PoisonShow names a held event.
type PoisonShow struct {
	Seq int64 `path:"seq" minimum:"1" example:"4711" doc:"Sequence of the event in the log"`
}

// PoisonRetry says which held events are applied.
type PoisonRetry struct {
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
			held, count, err := tables.Poison(ctx, c.App, in.Limit)
			return app.Page[tables.PoisonEvent]{Items: held, Total: &count.Events}, err
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
