package operation

import (
	"context"
	"net/http"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/domain/access"
)

// IntakeClose closes the intake of a deposit queue.
type IntakeClose struct {
	Settings
	Body struct {
		User    string `json:"user,omitempty" maxLength:"256" doc:"Refuse only deposits of this user; absent = of all users"`
		Message string `json:"message" minLength:"1" maxLength:"500" doc:"What depositors are told, such as until when; one line"`
		Reason  string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

// IntakeOpen opens the intake of a deposit queue again.
type IntakeOpen struct {
	Settings
	Body struct {
		User   string `json:"user,omitempty" maxLength:"256" doc:"Accept deposits of this user again; absent = what was closed for all users"`
		Reason string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

func intakes() []*Operation {
	administer := func(verb, summary string) Operation {
		return Operation{Name: "intake." + verb, Method: http.MethodPost, Path: "/v1/intake/{name}/" + verb, Summary: summary,
			Need: access.Administer, On: OnInstallation, Write: true}
	}
	return []*Operation{
		get("intake.show", "/v1/intake", "Show which intakes are closed, with their messages", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Page[queues.Closed], error) {
			return Whole(queues.Intake(ctx, c.App))
		}),
		row(administer("close", "Accept no more deposits, with a message to depositors"), func(ctx context.Context, c *Call, in *IntakeClose) (app.Changed, error) {
			return queues.CloseIntake(ctx, c.App, in.Name, in.Body.User, in.Body.Message, in.Body.Reason)
		}),
		row(administer("open", "Accept deposits again"), func(ctx context.Context, c *Call, in *IntakeOpen) (app.Changed, error) {
			return queues.OpenIntake(ctx, c.App, in.Name, in.Body.User, in.Body.Reason)
		}),
	}
}
