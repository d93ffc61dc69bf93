package cli

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) fileSkip() *cobra.Command {
	var why string
	var dry bool
	c := &cobra.Command{
		Use:   "skip HASH",
		Short: "Leave a downloaded file out",
		Long: `Leave a file out that is DOWNLOADED: it will not be processed, and the report of its
batch names it. A reason is required; who did it and why stay in the file's history.
` + "`accession file requeue`" + ` takes it up again.`,
		Example: "  accession file skip " + sampleHash + " --reason thumbnail --dry-run\n  accession file skip " + sampleHash + " --reason thumbnail",
		Args:    exactly("one file's hash"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			hash, err := fileHash("accession file skip", args[0])
			if err != nil {
				return err
			}
			if strings.TrimSpace(why) == "" {
				return &usageError{errors.New("say why with --reason: it stays in the file's history"), "accession file skip"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				a.DryRun = dry
				done, err := a.SkipFile(ctx, hash, why)
				if err != nil {
					return err
				}
				return p.show(done, func(w io.Writer) { showFileChange(w, done) })
			})
		}),
	}
	c.Flags().StringVar(&why, "reason", "", "why, for the `HISTORY` of the file; required")
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would happen and do nothing")
	return c
}
