package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/setting"
)

func (p *program) timeouts() *cobra.Command {
	return group(&cobra.Command{
		Use:   "timeouts",
		Short: "Show and set how long attempts at files may take",
		Long: `A sweep ends attempts at files that take longer than a timeout. The timeouts belong to
the installation: every sweep uses them, whatever its own configuration says. Until they
are set every sweep uses download_timeout and processing_timeout of the processes that
serve, the longest if they differ, and those of its own configuration if none serves.`,
		Example: "  accession timeouts show\n  accession timeouts set download=6h --reason \"large films\"",
	}, p.timeoutsShow(), p.timeoutsSet())
}

func (p *program) timeoutsShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show",
		Short: "Show the timeouts and what says so",
		Long: `Show how long a download and the processing of a file may take. The source is the
installation, or the service where the installation has none: the configuration of those
processes that have the role daemons or sweeper, of which the longest counts. Where none
serves it is the configuration of this process. A download of a job may take
fetch.timeout of its profile, if that is longer.`,
		Example: "  accession timeouts show\n  accession timeouts show -o json",
		Args:    cobra.NoArgs,
		RunE:    served(p, func([]string) request { return request{"timeouts.show", &operation.None{}} }, views.Timeouts),
	}
}

func (p *program) timeoutsSet() *cobra.Command {
	var why string
	dryRun := false
	c := &cobra.Command{
		Use:   "set download=DURATION processing=DURATION",
		Short: "Set the timeouts of the installation",
		Long: `Set how long attempts at files may take, for every process of the installation: whole
seconds, from 1s to 168h. What is not named stays as it is. Every sweep uses the new
timeouts from its next pass on, also for attempts that are under way.`,
		Example: "  accession timeouts set download=6h processing=24h --reason \"large films\" --dry-run\n" +
			"  accession timeouts set processing=24h --reason \"slow store\"",
		Args: func(_ *cobra.Command, args []string) error {
			_, err := parseTimeouts(args)
			return err
		},
		RunE: served(p, func(args []string) request {
			t, _ := parseTimeouts(args) // checked before
			in := &operation.TimeoutsSet{MatchSetting: operation.MatchSetting{Setting: operation.Setting{DryRun: dryRun}}}
			in.Body.Download, in.Body.Processing, in.Body.Reason = t.DownloadSeconds, t.ProcessingSeconds, why
			return request{"timeouts.set", in}
		}, func(w io.Writer, c app.Changed) {
			views.Changed(w, "timeouts", c, true)
		}),
	}
	c.Flags().StringVar(&why, "reason", "", "record this `TEXT` as the reason (required)")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would happen, and change nothing")
	return c
}

// parseTimeouts returns the timeouts that the arguments name.
func parseTimeouts(args []string) (t domain.Timeouts, err error) {
	const remedy = "write download=DURATION, processing=DURATION or both, such as download=6h"
	if len(args) == 0 {
		return t, fmt.Errorf("no timeout is named; %s", remedy)
	}
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		into := map[string]*int64{"download": &t.DownloadSeconds, "processing": &t.ProcessingSeconds}[name]
		if into == nil {
			return t, fmt.Errorf("%q is no timeout; %s", arg, remedy)
		}
		if *into != 0 {
			return t, fmt.Errorf("%q: %s is named twice; %s", arg, name, remedy)
		}
		d, err := time.ParseDuration(value)
		if err != nil || d%time.Second != 0 || d < time.Second || d > setting.MaxTimeout {
			return t, fmt.Errorf("%q is no timeout; write whole seconds with a unit, from 1s to 168h, such as %s=6h", arg, name)
		}
		*into = int64(d / time.Second)
	}
	return t, nil
}
