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
	memory, size := config.Bytes(0), config.Bytes(10<<30)
	c := &cobra.Command{
		Use:   "worker",
		Short: "Take work, and run a command for each piece of it",
		Long: `Take work from the compute queue until SIGINT or SIGTERM: fetch its inputs, and run a
command of sh, in which {in} stands for the files of the inputs, in their order, and
{out} for the file to which it writes its result: JSON or text of at most 64 KiB. Files
that it leaves in the directory {outputs}, at most 100, become outputs of the entry. In
its environment are ACCESSION_ENTRY, ACCESSION_DATASET, ACCESSION_GROUP, ACCESSION_KEY,
ACCESSION_ATTEMPT and ACCESSION_OUTPUTS, which is that directory. With --cache,
ACCESSION_CACHE is a directory that the command finds again in later work on the same
dataset and group; the worker prefers such work. The last lines that the command writes
on its standard output and error are kept with the result.

Exit status 0 is success; 65 says that another attempt does not help, and any other that
it may. After three attempts the work has failed. A command that takes longer than
--timeout is killed, with all that it has started. When the worker dies, its commands are
killed, another worker takes their work within seconds, and what comes later counts no
more.`,
		Example: "  accession compute worker --datasets tides,maps --exec \"spectrum {in} {out}\"\n" +
			"  accession compute worker --exec \"/opt/scan/run {in} {out} {outputs}\" --timeout 10m --parallel 4\n" +
			"  accession compute worker --exec \"spectrum {in} {out}\" --cache /var/cache/spectra --memory 4GiB",
		Args: cobra.NoArgs,
	}
	c.Flags().StringSliceVar(&o.Datasets, "datasets", nil, "only work on these `DATASETS`, separated by commas (default all)")
	c.Flags().StringVar(&o.Exec, "exec", "", "the `COMMAND`, with {in}, {out} and {outputs}; required")
	_ = c.MarkFlagRequired("exec") // it is there
	c.Flags().DurationVar(&o.Timeout, "timeout", time.Hour, "kill the command after this `TIME`")
	c.Flags().Var(&memory, "memory", "`SIZE` of the memory that each process of the command may ask for (default any)")
	c.Flags().StringVar(&o.Cache, "cache", "", "keep a directory for each group in this `DIRECTORY`, which no other worker uses")
	c.Flags().Var(&size, "cache-size", "remove the groups used longest ago when the cache has more than this `SIZE`")
	c.Flags().IntVar(&o.Parallel, "parallel", 1, "`NUMBER` of commands that run at once")
	c.Flags().StringVar(&o.Dir, "dir", "", "make working directories in this `DIRECTORY` (default one for temporary files)")
	c.Flags().StringVar(&o.Profile, "profile", "", "fetch inputs by the rules of this `PROFILE`, whose fetch.allow opens addresses of the local network")
	c.RunE = e.Working.Run(func(ctx context.Context, _ []string) error {
		if o.Timeout <= 0 || o.Parallel < 1 || o.Parallel > 1000 {
			return fmt.Errorf("--timeout must be above 0, and --parallel 1 to 1000")
		}
		o.Memory, o.CacheMax = int64(memory), int64(size)
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
