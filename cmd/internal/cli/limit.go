package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// limitFlag adds --limit, and refuses less than one row.
func limitFlag(c *cobra.Command, limit *int, preset int, help string) {
	c.Flags().IntVar(limit, "limit", preset, help)
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		if *limit < 1 {
			return &usageError{fmt.Errorf("--limit %d: give at least 1", *limit), c.CommandPath()}
		}
		if before == nil {
			return nil
		}
		return before(c, args)
	}
}

// cut tells that a list does not show everything, and how to see more.
func cut(w io.Writer, shown int, total int64, what, more string) {
	fmt.Fprintf(w, "\n%d of %d %s; %s for more\n", shown, total, what, more)
}

// cutJobs tells it of the jobs of a batch.
func cutJobs(w io.Writer, id string, shown int, total int64) {
	if int64(shown) < total {
		cut(w, shown, total, "jobs", fmt.Sprintf("--limit or `accession job ls --batch %s`", id))
	}
}
