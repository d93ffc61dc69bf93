package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/cmd/internal/stack"
)

// stackDir is where the private servers of `accession stack` keep their data.
const stackDir = ".accession/stack"

func (p *program) stack() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "stack",
		Short: "Run private ZooKeeper, NATS and PostgreSQL in a directory",
		Long: `Start the three servers that Accession needs, on free loopback ports, with their
data in one directory, and show their addresses. They run until Ctrl-C (SIGINT or
SIGTERM) and keep their data for the next time.

For laptops and tests: every local user can reach them.`,
		Example: `  accession stack
  accession stack --dir /var/tmp/mine
  accession stack exec -- accession submit --profile demo file.txt`,
		Args: cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error { return p.runStack(ctx, dir) }),
	}
	c.PersistentFlags().StringVar(&dir, "dir", stackDir, "data `DIRECTORY`")
	c.AddCommand(p.stackExec(&dir))
	return c
}

func (p *program) runStack(ctx context.Context, dir string) error {
	s, err := p.startStack(ctx, dir, p.Err)
	if err != nil {
		return err
	}
	at := s.Addresses()
	variables, err := stackEnviron(s)
	if err != nil {
		return stopStack(s, err)
	}
	if err := p.show(at, func(w io.Writer) {
		fmt.Fprintf(w, "\nThe servers run. Use them in another terminal:\n\n")
		for _, v := range variables {
			fmt.Fprintf(w, "  export %s\n", v)
		}
		fmt.Fprintf(w, "\nLook into the database:  psql '%s'\nLogs and data:           %s\nStop:                    Ctrl-C\n", at.Postgres, s.Dir())
	}); err != nil {
		return stopStack(s, err)
	}
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.Err, "stopping the servers; their data is kept")
	case <-s.Done():
	}
	return stopStack(s, s.Err())
}

// stackEnviron gives the variables with which the other commands use the stack. The
// data of a demonstration, or of whoever named it, belong to that installation.
func stackEnviron(s *stack.Stack) ([]string, error) {
	data := filepath.Join(s.Dir(), "accession")
	variables := append(s.Addresses().Environ(stack.ServicePrefix), "ACCESSION_DATA_DIR="+data)
	id, err := run.InstallationOf(filepath.Join(data, "work"))
	if id != "" {
		variables = append(variables, "ACCESSION_INSTANCE="+id)
	}
	return variables, err
}

// startStack starts the servers and tells of each phase on w.
func (p *program) startStack(ctx context.Context, dir string, w io.Writer) (*stack.Stack, error) {
	begun := time.Now()
	return stack.Start(ctx, stack.Options{Dir: dir, Progress: func(server stack.Server, phase stack.Phase) {
		if phase == stack.Healthy {
			fmt.Fprintf(w, "  %-10s answers after %s\n", server, lasting(time.Since(begun)))
		}
	}})
}

// stopStack stops the servers; err is what happened before.
func stopStack(s *stack.Stack, err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if stopErr := s.Stop(ctx); err == nil {
		err = stopErr
	}
	return err
}
