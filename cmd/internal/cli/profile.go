package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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

func (p *program) profileShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show PROFILE",
		Short:   "Show a profile with its defaults",
		Long:    "Show all that a profile says, and the defaults of what it leaves out, as a file would\nsay it.",
		Example: "  accession profile show maps\n  accession profile show maps -o json",
		Args:    exactly("the name of a profile"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			return p.using(ctx, func(_ context.Context, a *app.App) error {
				s, err := a.Profile(args[0])
				if err != nil {
					return err
				}
				text, err := s.YAML()
				if err != nil {
					return err
				}
				return p.show(s, func(w io.Writer) { fmt.Fprintf(w, "# %s\n%s", s.File, text) })
			})
		}),
	}
}

func (p *program) profileCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIRECTORY]",
		Short: "Check profiles and name every fault",
		Long: `Check all profiles in a directory, else in profiles_dir, as the service does at its
start. Every fault of every file is named at once, with file, line and the remedy;
exit code 2. No server is asked.`,
		Example: "  accession profile check\n  accession profile check ./profiles",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			dir := cfg.ProfilesDir
			if len(args) == 1 {
				dir = args[0]
			}
			names, err := app.CheckProfiles(dir)
			if err != nil {
				return err
			}
			return p.show(map[string]any{"ok": true, "profiles": names}, func(w io.Writer) {
				fmt.Fprintf(w, "the profiles are sound: %s\n", strings.Join(names, ", "))
			})
		},
	}
}
