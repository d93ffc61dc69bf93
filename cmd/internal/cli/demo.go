package cli

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/demo"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
)

func (p *program) demo() *cobra.Command {
	var dir string
	var keep bool
	c := &cobra.Command{
		Use:   "demo",
		Short: "Ingest sample deposits on private servers",
		Long: `Start private servers in a new directory, create the tables, run the service, serve
sample deposits over HTTP on this machine, submit them and show the results: jobs, stored
objects, events, and the report in PostgreSQL.

One of the sample objects has a wrong digest in its manifest. It must fail and be
reported; exit code 0 means that everything went as intended, that failure included.

Nothing outside the directory is changed, and a second run starts over.`,
		Example: "  accession demo\n  accession demo --keep-running\n  accession demo --dir /var/tmp/accession-demo",
		Args:    cobra.NoArgs,
		RunE:    p.run(func(ctx context.Context, _ []string) error { return p.runDemo(ctx, demo.Options{Dir: dir, Keep: keep}) }),
	}
	c.Flags().StringVar(&dir, "dir", "", "data `DIRECTORY`; an earlier demo in it is removed (default .accession/demo)")
	c.Flags().BoolVar(&keep, "keep-running", false, "leave servers and service running until Ctrl-C")
	return c
}

func (p *program) runDemo(ctx context.Context, o demo.Options) error {
	o.Out, o.Progress, o.Draw, o.Called, o.Version = p.Out, p.Out, p.draws(), cmp.Or(p.Program, "accession"), Version
	if s, ok := p.Out.(render.Screen); ok {
		o.Progress = s.Writer // bars are drawn on the terminal itself
	}
	return demo.Run(ctx, o)
}
