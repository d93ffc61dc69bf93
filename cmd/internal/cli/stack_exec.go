package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/stack"
)

func (p *program) stackExec(dir *string) *cobra.Command {
	var production bool
	c := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARGUMENT]…",
		Short: "Run a command with the addresses of private servers",
		Long: `Start the servers, run the command with their addresses in its environment, stop
them, and end with the command's exit code. When a stack runs in the directory
already, it is used and left running.

The variables are ACCESSION_TEST_ZOOKEEPER, ACCESSION_TEST_NATS and
ACCESSION_TEST_POSTGRES: tests delete what they find, so they do not read the names
that the service reads. With --production-names they are ACCESSION_ZOOKEEPER and so
on.`,
		Example: `  accession stack exec -- go test ./...
  accession stack exec --production-names -- accession status`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("say which command to run, after --")
			}
			return nil
		},
		// The command gets the signals; we outlive it.
		RunE: func(c *cobra.Command, args []string) error {
			prefix := stack.TestPrefix
			if production {
				prefix = stack.ServicePrefix
			}
			return p.execStack(c.Context(), *dir, prefix, args)
		},
	}
	c.Flags().BoolVar(&production, "production-names", false, "name the variables as the service reads them")
	c.Flags().SetInterspersed(false)
	return c
}

func (p *program) execStack(ctx context.Context, dir string, prefix stack.Prefix, args []string) error {
	if at, ok, err := stack.Find(dir); err == nil && ok {
		return exitWith(stack.Exec(ctx, at, prefix, args))
	}
	// Until the command runs, a signal stops the start.
	starting, stop := untilSignal(ctx)
	s, err := p.startStack(starting, dir, p.Err)
	stop()
	if err != nil {
		if errors.Is(context.Cause(starting), errInterrupted) {
			return errInterrupted
		}
		return err
	}
	err = exitWith(stack.Exec(ctx, s.Addresses(), prefix, args))
	// What reaches us while the servers stop must not leave them running.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	defer signal.Reset(os.Interrupt, syscall.SIGTERM)
	return stopStack(s, err)
}

func exitWith(code int, err error) error {
	if err == nil && code != 0 {
		return exitError(code)
	}
	return err
}
