package computing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/run"
)

// Working is what the command of a worker has of the program.
type Working struct {
	// Run returns the work of a command that is not over HTTP.
	Run func(do func(ctx context.Context, args []string) error) func(c *cobra.Command, args []string) error
	// Settings reads the settings, and Logger makes the logger for them.
	Settings func() (config.Resolved, error)
	Logger   func(cfg config.Config, level *slog.LevelVar) *slog.Logger
	Version  string
}

func (e Env) worker() *cobra.Command {
	o := run.ComputeWorker{Version: e.Working.Version}
	c := &cobra.Command{
		Use:   "worker",
		Short: "Take work, and run a command for each piece of it",
		Long: `Take work from the compute queue until SIGINT or SIGTERM: fetch its inputs, and run a
command of sh, in which {in} stands for the files of the inputs, in their order, and
{out} for the file to which it writes its result: JSON or text of at most 64 KiB. In its
environment are ACCESSION_ENTRY, ACCESSION_DATASET, ACCESSION_GROUP, ACCESSION_KEY and
ACCESSION_ATTEMPT. The last lines that it writes on its outputs are kept with the result.

Exit status 0 is success; 65 says that another attempt does not help, and any other that
it may. After three attempts the work has failed. A command that takes longer than
--timeout is killed, with all that it has started. When the worker dies, another one
takes its work within seconds, and what it does later counts no more.`,
		Example: "  accession compute worker --datasets tides,maps --exec \"spectrum {in} {out}\"\n" +
			"  accession compute worker --exec \"/opt/scan/run {in} {out}\" --timeout 10m --parallel 4",
		Args: cobra.NoArgs,
	}
	c.Flags().StringSliceVar(&o.Datasets, "datasets", nil, "only work on these `DATASETS`, separated by commas (default all)")
	c.Flags().StringVar(&o.Exec, "exec", "", "the `COMMAND`, with {in} and {out}; required")
	_ = c.MarkFlagRequired("exec") // it is there
	c.Flags().DurationVar(&o.Timeout, "timeout", time.Hour, "kill the command after this `TIME`")
	c.Flags().IntVar(&o.Parallel, "parallel", 1, "`NUMBER` of commands that run at once")
	c.Flags().StringVar(&o.Dir, "dir", "", "make working directories in this `DIRECTORY` (default one for temporary files)")
	c.Flags().StringVar(&o.Profile, "profile", "", "fetch inputs by the rules of this `PROFILE`, whose fetch.allow opens addresses of the local network")
	c.RunE = e.Working.Run(func(ctx context.Context, _ []string) error {
		if o.Timeout <= 0 || o.Parallel < 1 || o.Parallel > 1000 {
			return fmt.Errorf("--timeout must be above 0, and --parallel 1 to 1000")
		}
		cfg, err := e.Working.Settings()
		if err != nil {
			return err
		}
		if err := run.Compute(ctx, cfg, e.Working.Logger(cfg.Config, &slog.LevelVar{}), o); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	})
	return c
}
