package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) sweep() *cobra.Command {
	return &cobra.Command{
		Use:   "sweep",
		Short: "End attempts at files that are overdue, once",
		Long: `Look once at every file whose download or processing has taken longer than
download_timeout or processing_timeout, by the clock of the log. The attempt is ended
as failed; after the last one the file is given up. Meant for cron: any number may run
at once, beside the sweeper of ` + "`accession serve`" + ` and workers that finish late.

The exit code is 0 when all of them were decided, also when there were none, and 1
when some could not be; the next pass looks again.`,
		Example: "  accession sweep\n  accession sweep -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			sum, err := run.Sweep(ctx, cfg, p.quiet(cfg.Config))
			if err != nil {
				return err
			}
			if err := p.show(sum, func(w io.Writer) { showSweep(w, sum) }); err != nil || sum.Errors == 0 {
				return err
			}
			return exitError(exitFailed)
		}),
	}
}

func showSweep(w io.Writer, sum run.Swept) {
	lines := [][2]any{{"at", at(sum.Now)}, {"looked at", sum.Looked}}
	for _, state := range domain.FileStates {
		if n := sum.Recovered[state]; n > 0 {
			lines = append(lines, [2]any{"now " + string(state), n})
		}
	}
	lines = append(lines, [2]any{"had moved on", sum.Moved}, [2]any{"errors", sum.Errors})
	for _, why := range sum.Faults {
		lines = append(lines, [2]any{"", printable(why)})
	}
	pairs(w, lines...)
}
