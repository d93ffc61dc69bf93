package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) profileLs() *cobra.Command {
	return &cobra.Command{
		Use:     "ls",
		Short:   "List the profiles",
		Long:    "List the profiles in profiles_dir.",
		Example: "  accession profile ls\n  accession profile ls -o json | jq '.[].fetch.allow'",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(_ context.Context, a *app.App) error {
				list, err := a.Profiles()
				if err != nil {
					return err
				}
				return p.show(list, func(w io.Writer) {
					lines := make([][]any, len(list))
					for i, s := range list {
						lines[i] = []any{s.Name, s.Collection, printable(s.Owner), s.Storage, s.Priority.Default, s.File}
					}
					rows(w, "no profiles", []any{"profile", "collection", "owner", "storage", "priority", "file"}, lines)
				})
			})
		}),
	}
}
