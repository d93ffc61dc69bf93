package cli

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) jobLs() *cobra.Command {
	var f app.JobFilter
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List jobs",
		Long:    "List jobs in the order of their ids. For the next page, give the last id with --after.",
		Example: "  accession job ls --status failed\n  accession job ls --batch bid0000000001 -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				page, err := a.Jobs(ctx, f)
				if err != nil {
					return err
				}
				return p.show(page, func(w io.Writer) {
					showJobs(w, page.Jobs)
					if page.Truncated {
						cut(w, len(page.Jobs), page.Total, "jobs", "--limit or --after "+page.Next)
					}
				})
			})
		}),
	}
	c.Flags().StringVar((*string)(&f.Batch), "batch", "", "only those of this `BATCH`")
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only those in this `STATE`")
	c.Flags().StringVar((*string)(&f.After), "after", "", "only those after this `JOB`")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		return oneOf(c.CommandPath(), "--status", f.Status, append(slices.Clone(domain.JobStates), domain.JobDeleted))
	}
	limitFlag(c, &f.Limit, listLimit, "at most so many")
	return c
}
