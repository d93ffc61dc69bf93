package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobPriority() *cobra.Command {
	var to int
	return p.operating(verb{
		use:     "priority JOB...",
		short:   "Make jobs more or less urgent",
		long:    "Change the priority of jobs that wait in a queue: 0 to 99, and lower runs first. A job\nthat is worked on in this moment is refused.",
		example: "  accession job priority --to 0 jid0000000001 --reason \"needed for the exhibition\"",
		noun:    "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.Reprioritise(ctx, domain.JobID(id), to, why)
		},
		flags: func(c *cobra.Command) {
			c.Flags().IntVar(&to, "to", domain.PriorityDefault, "the new `PRIORITY`, 0 to 99 (required)")
			c.PreRunE = func(c *cobra.Command, _ []string) error {
				if !c.Flags().Changed("to") {
					return &usageError{errors.New("say which priority, with --to"), c.CommandPath()}
				}
				return nil
			}
		},
	})
}
