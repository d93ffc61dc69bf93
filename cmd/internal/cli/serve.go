package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/run"
)

func (p *program) serve() *cobra.Command {
	var roles string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the service: daemons, relay, projector and sweeper",
		Long: `Run the service until SIGINT or SIGTERM. Any number of processes may serve one
installation; each runs the roles that it is told:

  daemons    work on batches and jobs
  relay      carries events from ZooKeeper to the log
  projector  applies the log to the tables in PostgreSQL
  sweeper    ends attempts at files that are overdue

On the first signal nothing new is claimed, running steps get stop_grace to end,
what is not done is handed back, and the last events are carried on. A second
signal stops at once; nothing is lost by it either.

The tables must be there: ` + "`accession migrate`" + ` makes them.`,
		Example: `  accession serve
  accession serve --roles daemons --set workers=job-downloading=16
  accession serve --roles relay,projector`,
		Args: cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			list, err := run.ParseRoles(roles)
			if err != nil {
				return &usageError{err, "accession serve"}
			}
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			var level slog.LevelVar
			s := &run.Service{Config: cfg, Roles: list, Log: p.levelled(cfg.Config, &level), Level: &level, Getenv: p.getenv, Version: Version}
			if err := s.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
				return err
			}
			return nil
		}),
	}
	c.Flags().StringVar(&roles, "roles", "all", "all, or a `LIST` of daemons, relay, projector, sweeper")
	return c
}
