package operation

import (
	"context"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TimeoutsSet sets the timeouts of the installation.
type TimeoutsSet struct {
	Setting
	Body struct {
		Download   int64  `json:"download_seconds,omitempty" minimum:"1" maximum:"604800" doc:"How long a download may take, in seconds; absent = as it is"`
		Processing int64  `json:"processing_seconds,omitempty" minimum:"1" maximum:"604800" doc:"How long the processing of a file may take, in seconds; absent = as it is"`
		Reason     string `json:"reason" maxLength:"500" doc:"Why; it stays in the history"`
	}
}

func timeouts() []*Operation {
	return []*Operation{
		get("timeouts.show", "/v1/timeouts", "Show how long attempts at files may take, and what says so", OnInstallation, false, func(ctx context.Context, c *Call, _ *None) (app.Timeouts, error) {
			return c.App.Timeouts(ctx)
		}),
		act("timeouts.set", "/v1/timeouts/set", "Set how long attempts at files may take", func(ctx context.Context, c *Call, in *TimeoutsSet) (app.Changed, error) {
			return c.App.SetTimeouts(ctx, domain.Timeouts{DownloadSeconds: in.Body.Download, ProcessingSeconds: in.Body.Processing}, in.Body.Reason)
		}),
	}
}
