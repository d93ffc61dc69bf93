package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) fileRequeue() *cobra.Command {
	var why string
	var dry bool
	c := &cobra.Command{
		Use:   "requeue HASH",
		Short: "Take a file up again that was given up or left out",
		Long: `Take a file up again. One that is IGNORE becomes DISCOVERED, one that is ABANDONED
becomes READY, one that is SKIPPED becomes DOWNLOADED; its attempts count from 0. Who
did it and why stay in its history.`,
		Example: "  accession file requeue " + sampleHash + " --dry-run\n  accession file requeue " + sampleHash + " --reason outage-over",
		Args:    exactly("one file's hash"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			hash, err := fileHash("accession file requeue", args[0])
			if err != nil {
				return err
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				a.DryRun = dry
				done, err := a.RequeueFile(ctx, hash, why)
				if err != nil {
					return err
				}
				return p.show(done, func(w io.Writer) { showFileChange(w, done) })
			})
		}),
	}
	c.Flags().StringVar(&why, "reason", "", "why, for the `HISTORY` of the file")
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would happen and do nothing")
	return c
}
