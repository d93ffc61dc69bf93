package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func (p *program) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:     "check",
		Short:   "Check the settings and name every fault",
		Long:    "Check the settings. All faults are named at once, each with its key, its origin and\nthe remedy.",
		Example: "  accession --config /etc/accession.yaml config check",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := p.settings(); err != nil {
				return err
			}
			return p.show(map[string]bool{"ok": true}, func(w io.Writer) { fmt.Fprintln(w, "the settings are sound") })
		},
	}
}
