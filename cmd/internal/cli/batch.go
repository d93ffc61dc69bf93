package cli

import (
	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/domain"
)

// listLimit is how many rows a list shows when it is not told otherwise.
const listLimit = 50

func (p *program) batch() *cobra.Command {
	c := &cobra.Command{
		Use:     "batch",
		Short:   "List batches, show one, report on one, move them",
		Long:    "A deposit is a batch: one job for a file or an object, many for a manifest of objects.",
		Example: "  accession batch ls --status failed\n  accession batch report bid0000000001",
	}
	c.AddCommand(p.batchLs(), p.batchShow(), p.batchReport(), p.batchRelease(), p.batchUpdateReport(), p.batchSendReport(), p.batchDelete(), p.batchCleanup())
	return c
}

// batchID reads the id that a command was given.
func batchID(command, s string) (domain.BatchID, error) {
	id, err := domain.ParseBatchID(s)
	if err != nil {
		return "", &usageError{err, command}
	}
	return id, nil
}

// or gives what to show for a value that may be missing.
func or[T any](v *T, none string) any {
	if v == nil {
		return none
	}
	return *v
}
