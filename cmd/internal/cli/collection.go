package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

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

func (p *program) collectionLs() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List collections, their holds and what waits",
		Long: `List the collections that profiles describe: which are on hold, since when, by whom
and why, and how many batches and jobs of each are held. Without PostgreSQL the
counts are unknown.`,
		Example: "  accession collection ls\n  accession collection ls -o json | jq '.[] | select(.hold)'",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				list, err := a.Collections(ctx)
				if err != nil {
					return err
				}
				return p.show(list, func(w io.Writer) {
					lines := make([][]any, len(list))
					for i, c := range list {
						since, by, why := holdCells(c.Hold)
						lines[i] = []any{c.Name, holdWord(c.Hold, "on hold"), or(c.Batches, "?"), or(c.Jobs, "?"), since, by, why}
					}
					rows(w, "no collections", []any{"collection", "status", "batches held", "jobs held", "since", "by", "why"}, lines)
				})
			})
		}),
	}
}

func holdWord(h *domain.Hold, set string) string {
	if h == nil {
		return "open"
	}
	return set
}

// holdCells gives since when, by whom and why a hold stands.
func holdCells(h *domain.Hold) (since, by, why string) {
	if h == nil {
		return "", "", ""
	}
	return at(h.When), printable(h.By), printable(h.Why)
}

func (p *program) collectionHold() *cobra.Command {
	return p.operating(verb{
		use:   "hold COLLECTION...",
		short: "Let nothing new of a collection begin",
		long: `Let nothing new of a collection begin: its new batches and pending jobs wait in held.
From the moment of the answer on no job of it leaves pending for work.`,
		example: "  accession collection hold maps --reason \"new terms\"",
		noun:    "collection", check: anyName,
		do: func(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
			return a.HoldCollection(ctx, name, why)
		},
	})
}

func (p *program) collectionRelease() *cobra.Command {
	return p.operating(verb{
		use:   "release COLLECTION...",
		short: "Lift the hold on a collection",
		long: `Lift the hold on a collection. What waits in held because of it stays there until it
is released itself, with batch release and job release.`,
		example: "  accession collection release maps --reason \"terms signed\"",
		noun:    "collection", check: anyName,
		do: func(ctx context.Context, a *app.App, name, why string) (app.Changed, error) {
			return a.ReleaseCollection(ctx, name, why)
		},
	})
}
