// Package look has the command that looks into a job.
package look

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/look"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// Command returns the command; run is its work.
func Command(args cobra.PositionalArgs, run func(c *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "look JOB",
		Short: "Look into a job: its manifest, metadata, working files and nodes",
		Long: `Look into a job, as the servers have it now: the manifest that it was made from, as it is
kept, its metadata, its working files with their sizes, and its nodes in ZooKeeper with
their data. URLs are shown without what may be secret in them, and the working directory
without its place. What cannot be looked at is named.`,
		Example: "  accession job look jid0000000001\n  accession job look jid0000000001 -o json | jq -r .manifest.text",
		Args:    args,
		RunE:    run,
	}
}

// Write writes what there is of a job.
func Write(w io.Writer, in look.Inside) {
	m := in.Metadata
	render.Pairs(w, [][2]any{
		{"job", in.ID}, {"batch", in.Batch}, {"status", in.Status}, {"version", in.Version}, {"identifier", m.Identifier}, {"local ids", export.Line(strings.Join(m.LocalIDs, "; "))},
		{"title", export.Line(m.Title)}, {"creator", export.Line(m.Creator)}, {"date", export.Line(m.Date)}, {"where", export.Line(m.Where)},
	}...)
	if in.Claims > 0 {
		fmt.Fprintf(w, "claims since its last event: %d\n", in.Claims)
	}
	if l := in.Lock; l != nil {
		fmt.Fprintf(w, "locked by %s since %s, registered: %v\n", export.Line(l.Holder), l.Since.Format(time.RFC3339), l.Alive)
	}
	fmt.Fprintln(w)
	render.Rows(w, "no nodes in ZooKeeper", render.Row{"node", "data"}, in.Nodes, func(n look.Node) render.Row { return render.Row{n.Name, export.Line(n.Data)} })
	fmt.Fprintln(w)
	render.Rows(w, "no working files", render.Row{"working file", "bytes"}, in.Files, func(f look.File) render.Row { return render.Row{export.Line(f.Name), f.Size} })
	if in.More {
		fmt.Fprintln(w, "and more")
	}
	writeManifest(w, in.Manifest)
	for _, line := range in.Unknown {
		fmt.Fprintln(w, export.Line(line))
	}
}

func writeManifest(w io.Writer, m *look.Manifest) {
	if m == nil {
		fmt.Fprintln(w, "\nno manifest is kept of it")
		return
	}
	row := ""
	if m.Row != nil {
		row = fmt.Sprintf(", in which it is row %d", *m.Row)
	}
	fmt.Fprintf(w, "\nthe manifest of its %s%s, %d bytes:\n", m.Of, row, m.Size)
	for line := range strings.Lines(m.Text) {
		fmt.Fprintln(w, "  "+export.Line(strings.TrimRight(line, "\r\n")))
	}
	if m.Cut {
		fmt.Fprintln(w, "  …")
	}
}
