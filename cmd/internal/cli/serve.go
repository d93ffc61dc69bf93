package cli

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

func (p *program) serve() *cobra.Command {
	var roles []run.Role
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the service: daemons, relay, projector, sweeper and auditor",
		Long: `Run the service until SIGINT or SIGTERM. Any number of processes may serve one
installation, each in the given roles:
  daemons    work on batches and jobs
  relay      moves events from ZooKeeper to the log
  projector  applies the log to the tables in PostgreSQL
  sweeper    ends overdue attempts at files
  auditor    reads all stored objects from time to time, at a bounded rate, and
             compares them with the log and the inventory
  transfer   makes batches of the deposits in the drop folder
  discover   polls open directories for files
  download   fetches the files of open directories
  ready      lets downloaded files become READY, or skips them
  types      copies events to a stream by type (not part of all)
  http       answers people and programs at listen_http (not part of all)

On the first signal nothing new is claimed, running steps get stop_grace to finish,
unfinished jobs are released, and the last events are relayed. A second signal stops at
once; no data is lost.

The tables must exist: create them with ` + "`accession migrate`" + `.`,
		Example: `  accession serve
  accession serve --roles daemons --set workers=job-downloading=16
  accession serve --roles relay,projector
  accession serve --roles all,http --set listen_http=127.0.0.1:8080`,
		Args: cobra.NoArgs,
		RunE: p.run(func(ctx context.Context, _ []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			var level slog.LevelVar
			s := &run.Service{Config: cfg, Roles: roles, Log: p.logger(cfg.Config, &level), Level: &level, Version: Version,
				Getenv: func(name string) string { return config.Lookup(p.Environ, name) }}
			return s.Run(ctx)
		}),
	}
	flags.Parsed(c, &roles, "roles", "all", "a `LIST` of all, "+strings.Join(slices.Concat(run.AllRoles, run.OptionalRoles), ", "), run.ParseRoles)
	return c
}
