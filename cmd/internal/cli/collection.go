package cli

import "github.com/spf13/cobra"

func (p *program) collection() *cobra.Command {
	c := &cobra.Command{
		Use:   "collection",
		Short: "Put collections on hold, release them",
		Long: `A profile describes a collection. While it is on hold, its new batches and its jobs
that are still pending wait in held; what is past that goes on.`,
		Example: "  accession collection ls\n  accession collection hold maps --reason \"new terms\"",
	}
	c.AddCommand(p.collectionHold(), p.collectionLs(), p.collectionRelease())
	return c
}
