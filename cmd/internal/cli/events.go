package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) events() *cobra.Command {
	c := &cobra.Command{
		Use:     "events",
		Short:   "Read the history",
		Long:    "Everything that ever happened is an event in the log.",
		Example: "  accession events ls --type job.failed --since 24h\n  accession events tail --follow",
	}
	c.AddCommand(p.eventsLs(), p.eventsTail())
	return c
}
