package cli

import (
	"io"

	"github.com/spf13/cobra"
)

func (p *program) configPrint() *cobra.Command {
	return &cobra.Command{
		Use:   "print",
		Short: "Show every setting, and where it comes from",
		Long: `Show every setting, its value and where that comes from. Passwords are not shown.
With faults, the values that could be read are shown first.`,
		Example: "  accession config print\n  accession --set nats_stream=TEST config print -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, faults := p.settings()
			all := cfg.Rows()
			if err := p.show(all, func(w io.Writer) {
				lines := make([][]any, len(all))
				for i, r := range all {
					lines[i] = []any{r.Key, r.Value, r.Origin}
				}
				rows(w, "", []any{"setting", "value", "from"}, lines)
			}); err != nil {
				return err
			}
			return faults
		},
	}
}
