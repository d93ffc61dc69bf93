package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) fileLs() *cobra.Command {
	var f app.FileFilter
	c := &cobra.Command{
		Use:   "ls",
		Short: "List files",
		Long: `List files in the order of their discovery: those of a job as its manifest has them.
For the next page, give the last hash with --after.`,
		Example: "  accession file ls --job jid0000000001\n  accession file ls --status IGNORE -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				page, err := a.Files(ctx, f)
				if err != nil {
					return err
				}
				return p.show(page, func(w io.Writer) {
					showFiles(w, page.Files)
					if page.Truncated {
						fmt.Fprintf(w, "\nthere are more than these %d files; --limit or --after %s for more\n", len(page.Files), page.Next)
					}
				})
			})
		}),
	}
	c.Flags().StringVar((*string)(&f.Batch), "batch", "", "only those of this `BATCH`")
	c.Flags().StringVar((*string)(&f.Job), "job", "", "only those of this `JOB`")
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only those in this `STATE`")
	c.Flags().StringVar(&f.Name, "name", "", "only those with this `TEXT` in their path")
	c.Flags().StringVar((*string)(&f.After), "after", "", "only those after this `HASH`")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if f.After != "" {
			if _, err := fileHash(c.CommandPath(), string(f.After)); err != nil {
				return err
			}
		}
		return oneOf(c.CommandPath(), "--status", f.Status, domain.FileStates)
	}
	limitFlag(c, &f.Limit, listLimit, "at most so many")
	return c
}
