package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) poisonShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show PLACE",
		Short:   "Show a held event and its data",
		Long:    "Show one held event, by its place in the log: why it could not be applied, and\nits data as far as they could be read.",
		Example: "  accession poison show 4711",
		Args:    cobra.ExactArgs(1),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			seq, err := strconv.ParseUint(args[0], 10, 63)
			if err != nil {
				return &usageError{fmt.Errorf("%q is no place in the log, such as 4711", args[0]), "poison show"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				e, err := a.PoisonAt(ctx, seq)
				if err != nil {
					return err
				}
				return p.show(e, func(w io.Writer) {
					waits := ""
					if e.WaitsFor != nil {
						waits = strconv.FormatInt(*e.WaitsFor, 10)
					}
					pairs(w, [2]any{"place", e.Seq}, [2]any{"event", e.ID}, [2]any{"type", e.Type}, [2]any{"batch", e.BatchID},
						[2]any{"waits behind", waits}, [2]any{"why", printable(e.Error)}, [2]any{"tries", e.Attempts},
						[2]any{"held since", at(e.FirstSeen)}, [2]any{"last tried", at(e.LastSeen)}, [2]any{"data", printable(e.Data)})
				})
			})
		}),
	}
}
