package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
