package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batchLs() *cobra.Command {
	var f app.BatchFilter
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List batches, newest first",
		Long:    "List batches, newest first. For the next page, give the last id with --before.",
		Example: "  accession batch ls\n  accession batch ls --status failed --submitter maria -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				page, err := a.Batches(ctx, f)
				if err != nil {
					return err
				}
				return p.show(page, func(w io.Writer) {
					list := page.Batches
					lines := make([][]any, len(list))
					for i, b := range list {
						name := b.FileName
						if b.ErcWhat != "" {
							name = b.ErcWhat
						}
						lines[i] = []any{b.BatchID, b.Status, printable(b.Submitter), b.ProfileName, or(b.RowsListed, "?"), b.JobsCompleted, b.JobsFailed,
							b.JobsHeld, b.JobsDeleted, b.JobsInProgress, atPtr(b.SubmittedAt), printable(name)}
					}
					rows(w, "no batches", []any{"batch", "status", "submitter", "profile", "jobs", "completed", "failed", "held", "deleted", "in progress", "submitted", "what"}, lines)
					if page.Truncated {
						cut(w, len(list), page.Total, "batches", "--limit or --before "+page.Next)
					}
				})
			})
		}),
	}
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only those in this `STATE`")
	c.Flags().StringVar(&f.Submitter, "submitter", "", "only those of this `NAME`")
	c.Flags().StringVar((*string)(&f.Before), "before", "", "only those older than this `BATCH`")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		return oneOf(c.CommandPath(), "--status", f.Status, domain.BatchStates)
	}
	limitFlag(c, &f.Limit, listLimit, "at most so many")
	return c
}
