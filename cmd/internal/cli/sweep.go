package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

func (p *program) sweep() *cobra.Command {
	return &cobra.Command{
		Use:   "sweep",
		Short: "End what is overdue, of files, slots and the compute queue, once",
		Long: `Check once every file whose download or processing has taken longer than the timeout of
the installation (see accession timeouts), by the clock of the log. Where none is set the
configuration of the processes that serve counts, and that of this process only when none
serves; the answer says so then. The attempt ends as failed; after the last one the file
is given up. Slots whose window has begun are opened, and those whose window is over end.
Entries of the compute queue whose workers are gone, or did not renew their leases, are
returned, and those whose attempts are used up end.

Meant for cron: any number of sweeps may run at once, next to the sweeper of
` + "`accession serve`" + ` and to workers that finish late.

Exit code 0 when every file was decided, also when there was none; 1 when some could not
be decided: the next sweep checks them again.`,
		Example: "  accession sweep\n  accession sweep -o json",
		Args:    cobra.NoArgs,
		RunE: p.run(func(ctx context.Context, _ []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			sum, err := run.Sweep(ctx, cfg, p.quiet(cfg.Config))
			if err != nil {
				return err
			}
			if err := show(p, sum, views.Swept); err != nil {
				return err
			}
			return exit.If(sum.Errors > 0, exit.Failed)
		}),
	}
}
