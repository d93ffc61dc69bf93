package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) profileShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show PROFILE",
		Short:   "Show a profile with its defaults",
		Long:    "Show all that a profile says, and the defaults of what it leaves out, as a file would\nsay it.",
		Example: "  accession profile show maps\n  accession profile show maps -o json",
		Args:    exactly("the name of a profile"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			return p.using(ctx, func(_ context.Context, a *app.App) error {
				s, err := a.Profile(args[0])
				if err != nil {
					return err
				}
				text, err := s.YAML()
				if err != nil {
					return err
				}
				return p.show(s, func(w io.Writer) { fmt.Fprintf(w, "# %s\n%s", s.File, text) })
			})
		}),
	}
}
