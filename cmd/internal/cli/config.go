package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) config() *cobra.Command {
	c := &cobra.Command{
		Use:   "config",
		Short: "Show and check the settings",
		Long: `Settings come from flags, over ACCESSION_… variables, over the file that
--config or ACCESSION_CONFIG names, over defaults.`,
		Example: "  accession config print\n  accession --config /etc/accession.yaml config check",
	}
	c.AddCommand(p.configPrint(), p.configCheck())
	return c
}

func (p *program) configPrint() *cobra.Command {
	return &cobra.Command{
		Use:   "print",
		Short: "Show every setting, and where it comes from",
		Long: `Show every setting, its value and where that comes from. Passwords are not shown.
With faults, the values that could be read are shown first.`,
		Example: "  accession config print\n  accession --set nats_stream=TEST config print -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, faults := p.settings()
			all := cfg.Rows()
			if err := p.show(all, func(w io.Writer) {
				lines := make([][]any, len(all))
				for i, r := range all {
					lines[i] = []any{r.Key, r.Value, r.Origin}
				}
				rows(w, "", []any{"setting", "value", "from"}, lines)
			}); err != nil {
				return err
			}
			return faults
		},
	}
}

// asSetting makes a directory that is not there a fault of the setting that names it.
func asSetting(err error) error {
	var e *app.Error
	if errors.As(err, &e) && e.Kind == app.NotFound {
		return &app.Error{Kind: app.Invalid, What: e.What, Err: e.Err, Hint: e.Hint}
	}
	return err
}

func (p *program) configCheck() *cobra.Command {
	return &cobra.Command{
		Use:     "check",
		Short:   "Check settings and profiles and name every fault",
		Long:    "Check the settings, and the profiles in profiles_dir. All faults are named at once,\neach with its key and origin, or its file and line, and the remedy; exit code 2. No\nserver is asked.",
		Example: "  accession --config /etc/accession.yaml config check",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := p.settings()
			var names []string
			if cfg.ProfilesDir != "" { // else it is among the faults
				var faults error
				names, faults = app.CheckProfiles(cfg.ProfilesDir)
				err = errors.Join(err, asSetting(faults))
			}
			if err != nil {
				return err
			}
			return p.show(map[string]any{"ok": true, "profiles": names}, func(w io.Writer) {
				fmt.Fprintf(w, "the settings are sound, and so are the profiles: %s\n", strings.Join(names, ", "))
			})
		},
	}
}
