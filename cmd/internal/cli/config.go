package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/profiles"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	profilecli "github.com/accession-ingest/accession/cmd/internal/cli/internal/profiles"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/config"
)

func (p *program) config() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Show and check the settings",
		Long: `Settings come from flags, then ACCESSION_… variables, then the file that --config or
ACCESSION_CONFIG names, then defaults; the first source that has one wins.`,
		Example: "  accession config print\n  accession --config /etc/accession.yaml config check",
	}, &cobra.Command{
		Use:   "print",
		Short: "Show every setting and its origin",
		Long: `Show every setting, its value and its origin, without passwords. When there are
faults, the values that could be read are shown first.`,
		Example: "  accession config print\n  accession --set nats_stream=TEST config print -o json",
		Args:    cobra.NoArgs,
		RunE: p.anywhere(func(context.Context, []string) error {
			cfg, faults := p.settings()
			if err := listed(p, cfg.Rows(), func(w io.Writer, all []config.Row) {
				render.Rows(w, "", render.Row{"setting", "value", "from"}, all, func(r config.Row) render.Row { return render.Row{r.Name, r.Value, r.Origin} })
			}); err != nil {
				return err
			}
			return faults
		}),
	}, &cobra.Command{
		Use:     "sample",
		Short:   "Write a file that explains every setting",
		Long:    "Write a file for --config that explains every setting and has its default in a comment.",
		Example: "  accession config sample > accession.yaml\n  accession --config accession.yaml config check",
		Args:    cobra.NoArgs,
		RunE: p.anywhere(func(context.Context, []string) error {
			_, err := p.Out.Write(config.Sample)
			return err
		}),
	}, &cobra.Command{
		Use:   "check",
		Short: "Check settings and profiles and report every fault",
		Long: `Check the settings, and the profiles in profiles_dir. All faults are reported at once,
each with its key and origin, or its file and line, and the remedy; exit code 2. No
server is contacted.`,
		Example: "  accession --config /etc/accession.yaml config check",
		Args:    cobra.NoArgs,
		RunE: p.anywhere(func(context.Context, []string) error {
			cfg, err := p.settings()
			var names []string
			if cfg.ProfilesDir != "" { // else it is among the faults
				var faults error
				names, faults = profiles.Check(cfg.ProfilesDir)
				if e := exit.Known(faults); e.Kind == app.NotFound { // a fault of the setting
					faults = &app.Error{Kind: app.Invalid, What: e.What, Err: e.Err, Hint: e.Hint}
				}
				err = errors.Join(err, faults)
			}
			if err != nil {
				return err
			}
			checked := profilecli.Checked{OK: true, Profiles: names, Warnings: cfg.Unused(names)}
			return show(p, checked, func(w io.Writer, c profilecli.Checked) { c.Show(w) })
		}),
	})
}
