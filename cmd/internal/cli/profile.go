package cli

import "github.com/spf13/cobra"

func (p *program) profile() *cobra.Command {
	c := &cobra.Command{
		Use:     "profile",
		Short:   "List, show and check profiles",
		Long:    "A profile is a YAML file that describes a collection and what its deposits may do.",
		Example: "  accession profile ls\n  accession profile check",
	}
	c.AddCommand(p.profileCheck(), p.profileLs(), p.profileShow())
	return c
}
