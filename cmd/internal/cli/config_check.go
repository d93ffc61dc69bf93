package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
