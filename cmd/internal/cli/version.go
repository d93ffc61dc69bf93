package cli

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
)

func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Show the program's version",
		Long:    "Show the program's version, and the Go toolchain that built it.",
		Example: "  accession version\n  accession version -o json",
		Args:    cobra.NoArgs,
		RunE: p.anywhere(func(context.Context, []string) error {
			v := map[string]string{"version": Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
			return show(p, v, func(w io.Writer, v map[string]string) {
				fmt.Fprint(w, versionLine(v["version"]))
			})
		}),
	}
}

// versionLine is the version as a line of text.
func versionLine(version string) string {
	return fmt.Sprintf("accession %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
