package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func (p *program) profile() *cobra.Command {
	return group(&cobra.Command{
		Use:     "profile",
		Short:   "List, show and check profiles",
		Long:    "A profile is a YAML file that describes a collection and what its deposits may do.",
		Example: "  accession profile ls\n  accession profile check",
	}, p.profileCheck(), &cobra.Command{
		Use:     "ls",
		Short:   "List profiles",
		Long:    "List the profiles in profiles_dir.",
		Example: "  accession profile ls\n  accession profile ls -o json | jq -r '.items[].collection'",
		Args:    cobra.NoArgs,
		RunE: whole(p, func([]string) request { return request{"profile.ls", &operation.None{}} }, func(w io.Writer, list []operation.ProfileItem) {
			render.Rows(w, "no profiles", render.Row{"profile", "collection", "owner", "priority"}, list, func(s operation.ProfileItem) render.Row {
				return render.Row{s.Name, s.Collection, export.Line(s.Owner), s.Priority}
			})
		}),
	}, &cobra.Command{
		Use:     "show PROFILE",
		Short:   "Show a profile with its defaults",
		Long:    "Show a profile as YAML, including the defaults of what it leaves out.",
		Example: "  accession profile show maps\n  accession profile show maps -o json",
		Args:    one("profile", anyName),
		RunE: p.using(func(_ context.Context, a *app.App, args []string) error {
			s, err := a.Profile(args[0])
			if err != nil {
				return err
			}
			text, err := s.YAML()
			if err != nil {
				return err
			}
			return show(p, s, func(w io.Writer, s app.Profile) { fmt.Fprintf(w, "# %s\n%s", s.File, text) })
		}),
	})
}

func (p *program) profileCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIRECTORY]",
		Short: "Check profiles and report every fault",
		Long: `Check all profiles in a directory, by default profiles_dir, as the service does when it
starts. Every fault of every file is reported, with file, line and remedy; exit code 2.
No server is contacted.`,
		Example: "  accession profile check\n  accession profile check ./profiles",
		Args:    cobra.MaximumNArgs(1),
		RunE: p.run(func(_ context.Context, args []string) error {
			cfg, err := p.settings()
			if err != nil {
				return err
			}
			names, err := app.CheckProfiles(append(args, cfg.ProfilesDir)[0])
			if err != nil {
				return err
			}
			return show(p, checked{true, names}, func(w io.Writer, c checked) {
				fmt.Fprintf(w, "the profiles are valid: %s\n", strings.Join(c.Profiles, ", "))
			})
		}),
	}
}

// checked is the answer of the commands that check files.
type checked struct {
	OK       bool     `json:"ok"`
	Profiles []string `json:"profiles"`
}
