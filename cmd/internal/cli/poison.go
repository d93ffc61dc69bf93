package cli

import "github.com/spf13/cobra"

func (p *program) poison() *cobra.Command {
	c := &cobra.Command{
		Use:   "poison",
		Short: "List, show and retry events that the tables lack",
		Long: `An event that cannot be applied to the tables holds its aggregate, and nothing else:
it and the later events of that batch, job, file or setting wait in poison_event, and
the tables show it as it was before. When what was wrong is mended, retry them.`,
		Example: "  accession poison ls\n  accession poison retry --all",
	}
	c.AddCommand(p.poisonLs(), p.poisonShow(), p.poisonRetry())
	return c
}
