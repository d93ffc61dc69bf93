package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) reportLs() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the reports there are",
		Long:    "List the reports there are: which tell of one batch, and which can be drawn.",
		Example: "  accession report ls",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			kinds := app.ReportKinds()
			return p.show(kinds, func(w io.Writer) {
				lines := make([][]any, len(kinds))
				for i, k := range kinds {
					lines[i] = []any{k.Name, yes(k.Batch, "--batch"), yes(k.Plot, "svg, png"), k.About}
				}
				rows(w, "", []any{"report", "needs", "drawn", "about"}, lines)
			})
		},
	}
}

// yes gives a word when something is so.
func yes(is bool, word string) string {
	if is {
		return word
	}
	return ""
}
