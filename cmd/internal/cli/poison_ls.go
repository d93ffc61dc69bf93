package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) poisonLs() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List held events, in the order of the log",
		Long:    "List the events that could not be applied to the tables, and those that wait\nbehind them, in the order of the log.",
		Example: "  accession poison ls\n  accession poison ls -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				held, n, err := a.Poison(ctx, limit)
				if err != nil {
					return err
				}
				return p.show(held, func(w io.Writer) {
					lines := make([][]any, len(held))
					for i, e := range held {
						why := printable(e.Error)
						if e.WaitsFor != nil {
							why = fmt.Sprintf("waits behind %d", *e.WaitsFor)
						}
						lines[i] = []any{e.Seq, e.ID, e.Type, e.Attempts, at(e.FirstSeen), why}
					}
					rows(w, "nothing is held: the tables have every event", []any{"place", "event", "type", "tries", "since", "why"}, lines)
					if int64(len(held)) < n.Events {
						cut(w, len(held), n.Events, "events", "--limit")
					}
				})
			})
		}),
	}
	limitFlag(c, &limit, 100, "show at most so many events")
	return c
}
