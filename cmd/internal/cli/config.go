package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) config() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show and check the settings",
		Long: `Settings come from flags, over ACCESSION_… variables, over the file that
--config or ACCESSION_CONFIG names, over defaults.`,
		Example: "  accession config print\n  accession --config /etc/accession.yaml config check",
	}
	c.AddCommand(p.configPrint(), p.configCheck())
	return c
}
