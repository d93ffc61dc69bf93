package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) events() *cobra.Command {
	c := &cobra.Command{
		Use:     "events",
		Short:   "Read the history",
		Long:    "Everything that ever happened is an event in the log.",
		Example: "  accession events tail --follow",
	}
	c.AddCommand(p.eventsTail())
	return c
}
