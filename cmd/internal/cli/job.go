package cli

import (
	"github.com/spf13/cobra"
)

func (p *program) job() *cobra.Command {
	c := &cobra.Command{
		Use:     "job",
		Short:   "List jobs, show one, move them",
		Long:    "A job makes one object of a deposit.",
		Example: "  accession job ls --batch bid0000000001\n  accession job show jid0000000001",
	}
	c.AddCommand(p.jobLs(), p.jobShow(), p.jobHold(), p.jobRelease(), p.jobRequeue(), p.jobPriority(), p.jobDelete())
	return c
}
