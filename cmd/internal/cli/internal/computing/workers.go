package computing

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func (e Env) workers() *cobra.Command {
	return &cobra.Command{
		Use:   "workers",
		Short: "List who has work, and what workers ended in 24 hours",
		Long: `List who has work of the compute queue now: a session is that of a command here, a lease
that of a worker over HTTP, until its deadline unless it is renewed. The last columns say
how many entries a worker of the name completed and failed in the last 24 hours; attempts
after which an entry waits again are not among them.`,
		Example: "  accession compute workers\n  accession compute workers -o json | jq '.items[] | select(.kind == \"lease\")'",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			all, err := door.Carry[entries.Workers](ctx, d, "compute.workers", &operation.None{})
			if err != nil {
				return err
			}
			return e.Show(all, func(w io.Writer) {
				render.Rows(w, "no workers", render.Row{"worker", "has by", "entry", "dataset", "group", "attempt", "since", "deadline", "progress", "completed", "failed"}, all.Items, func(x entries.Worker) render.Row {
					return render.Row{export.Line(x.Name), x.Kind, string(x.Entry), export.Line(x.Dataset), export.Line(x.Group), x.Attempt, x.Since, x.Deadline, export.Line(x.Progress), x.Completed, x.Failed}
				})
				if all.More {
					fmt.Fprintln(w, "\nmore workers have work than are listed")
				}
			})
		}),
	}
}
