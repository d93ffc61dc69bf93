package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/servers"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/stack"
)

func (p *program) stack() *cobra.Command {
	o := stackFlags{heap: stack.DefaultHeap}
	c := &cobra.Command{
		Use:   "stack",
		Short: "Run private ZooKeeper, NATS and PostgreSQL in a directory",
		Long: `Start the three servers that Accession needs, on free loopback ports, with their data in
one directory, and show their addresses. They run until Ctrl-C (SIGINT or SIGTERM) and
keep their data. Commands that are started beside .accession find them by themselves,
and those of accession demo, unless flags or variables name servers or settings.

PostgreSQL and NATS ask for a password, made at the first start and kept in files of this
user alone; ZooKeeper asks for none, so every local user can connect to it. The
directory must belong to this user, and no other one may be able to write to it.`,
		Example: `  accession stack
  accession stack --dir /var/tmp/mine
  accession stack exec --production-names -- accession submit --profile demo file.txt`,
		Args: cobra.NoArgs,
		RunE: p.run(func(ctx context.Context, _ []string) error { return p.runStack(ctx, o) }),
	}
	c.PersistentFlags().StringVar(&o.dir, "dir", servers.StackDir, "data `DIRECTORY`")
	c.PersistentFlags().Var(&o.heap, "zookeeper-heap", "how large the heap of ZooKeeper may become")
	c.AddCommand(p.stackExec(&o))
	return c
}

// stackFlags are the flags of stack and stack exec.
type stackFlags struct {
	dir  string
	heap config.Bytes
}

func (f stackFlags) options() stack.Options {
	return stack.Options{Dir: f.dir, ZooKeeperHeap: int64(f.heap)}
}

func (p *program) runStack(ctx context.Context, o stackFlags) error {
	s, err := servers.Start(ctx, o.options(), p.Err)
	if err != nil {
		return err
	}
	variables, files, err := servers.Offer(s)
	if err == nil {
		err = show(p, shownStack{s.Addresses().Redacted(), files}, func(w io.Writer, _ shownStack) {
			fmt.Fprintf(w, "\nThe servers are running. To use them in another terminal:\n\n")
			for _, v := range variables {
				fmt.Fprintf(w, "  export %s\n", v)
			}
			fmt.Fprintf(w, "\nDatabase:       psql \"$(cat '%s')\"\nLogs and data:  %s\nStop:           Ctrl-C\n", files.Postgres, s.Dir())
		})
	}
	if err != nil {
		return servers.Stop(s, err)
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.Err, "stopping the servers; their data is kept")
	case <-s.Done():
	}
	return servers.Stop(s, s.Err())
}

// shownStack is where the servers are, without passwords, and the files that have them.
type shownStack struct {
	stack.Addresses
	stack.Files
}

func (p *program) stackExec(o *stackFlags) *cobra.Command {
	var production bool
	c := &cobra.Command{
		Use:   "exec [flags] -- COMMAND [ARGUMENT]…",
		Short: "Run a command with the addresses of private servers",
		Long: `Start the servers, run the command with their addresses in its environment, stop them,
and exit with the command's exit code. A stack that already runs in the directory is
used and left running.

The variables are ACCESSION_TEST_ZOOKEEPER, ACCESSION_TEST_NATS and
ACCESSION_TEST_POSTGRES: tests delete what they find, so they do not read the variables
of the service. With --production-names they are ACCESSION_ZOOKEEPER and so on.`,
		Example: `  accession stack exec -- go test ./...
  accession stack exec --production-names -- accession status`,
		Args: some("command after --", anyName),
		// The command gets the signals, and this process outlives it.
		RunE: func(c *cobra.Command, args []string) error {
			p.running = true
			prefix := stack.TestPrefix
			if production {
				prefix = stack.ServicePrefix
			}
			return p.execStack(c.Context(), *o, prefix, args)
		},
	}
	c.Flags().BoolVar(&production, "production-names", false, "name the variables as the service reads them")
	c.Flags().SetInterspersed(false)
	return c
}

func (p *program) execStack(ctx context.Context, o stackFlags, prefix stack.Prefix, args []string) error {
	exec := func(at stack.Addresses) error {
		code, err := stack.Exec(ctx, at, prefix, args)
		if err != nil {
			return err
		}
		return exit.If(code != 0, code)
	}
	if at, ok, err := stack.Find(o.dir); err == nil && ok {
		return exec(at)
	}
	// Until the command runs, a signal stops the start.
	starting, stop := untilSignal(ctx)
	s, err := servers.Start(starting, o.options(), p.Err)
	stop()
	if err != nil {
		if errors.Is(context.Cause(starting), exit.ErrInterrupted) {
			return exit.ErrInterrupted
		}
		return err
	}
	err = exec(s.Addresses())
	// Signals must not keep the servers from being stopped.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	defer signal.Reset(os.Interrupt, syscall.SIGTERM)
	return servers.Stop(s, err)
}
