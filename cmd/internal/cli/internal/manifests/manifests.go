// Package manifests has the commands that make and check manifests. They need no service.
package manifests

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
)

// Env is what the commands have of the program.
type Env struct {
	In  io.Reader
	Out io.Writer
	// Anywhere returns the work of a command that needs no server.
	Anywhere func(do func(ctx context.Context, args []string) error) func(c *cobra.Command, args []string) error
	// Steps runs do, and draws the steps that it reports.
	Steps func(ctx context.Context, do func(report func(render.Step)) error) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
}

// Command returns the command manifest.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "manifest",
		Short: "Make and check manifests, without a service",
		Long: `A manifest (checkm 0.7) lists the files of an object, or the objects of a batch, by URL,
with their digests and sizes. The commands need no service.`,
		Example: "  accession manifest make maps --base https://example.org/maps --out maps.checkm\n  accession manifest check maps.checkm",
	}, e.make(), e.check())
}
