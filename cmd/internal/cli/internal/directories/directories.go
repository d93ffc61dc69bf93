// Package directories has the commands about open directories.
package directories

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/config"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// Env is what the commands have of the program.
type Env struct {
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
}

// Command returns the command discover.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "discover",
		Short: "Look at open directories, and have them polled for files",
		Long: `An open directory is one that a web server lists: Apache, nginx, lighttpd or Caddy in
HTML, nginx and Caddy also in JSON; or what a bucket has below a prefix, as in
s3://BUCKET/PREFIX/. A process with the role discover polls it, and makes each file of it
known that the rules leave. The files belong to a dataset.`,
		Example: "  accession discover look https://data.example.org/night/ --profile maps\n" +
			"  accession discover add https://data.example.org/night/ --dataset nights --reason \"the survey begins\"",
	}, e.look(), e.add(), e.ls(), e.show(), e.run(), e.pause(), e.resume(), e.rm())
}

func (e Env) look() *cobra.Command {
	var in operation.DirectoryLook
	c := &cobra.Command{
		Use:   "look URL",
		Short: "Look at what an open directory lists",
		Long: `Look at what an open directory lists: its files that the rules leave, how many each rule
leaves out, and which links are no files of it. Nothing is fetched but listings, and
nothing changes. A listing that stops in the middle, or a page that is none, is an
error: no directory is empty because its server failed.

It is asked for under a profile, whose fetch.allow opens addresses of the local network.`,
		Example: "  accession discover look https://data.example.org/night/ --profile maps --pattern '*.fits'\n" +
			"  accession discover look https://data.example.org/ --profile maps --recursive --newer-than 7d -o json | jq -r '.files[].url'",
		Args: flags.Exactly(1),
	}
	c.Flags().StringVar(&in.Profile, "profile", "", "the `PROFILE` under which the directory is asked for; required")
	_ = c.MarkFlagRequired("profile") // it is there
	most := rules(c, &in.Pattern, &in.Recursive, &in.NewerThan)
	flags.Limit(c, &in.Limit, 100, "files")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		in.URL, in.MaxSize = args[0], int64(*most)
		seen, err := door.Carry[directories.Seen](ctx, d, "discover.look", &in)
		if err != nil {
			return err
		}
		return e.Show(seen, func(w io.Writer) { write(w, seen) })
	})
	return c
}

// rules adds the flags that say which files of a directory count, and returns the largest size.
func rules(c *cobra.Command, pattern *string, recursive *bool, newerThan *time.Time) *config.Bytes {
	var most config.Bytes
	c.Flags().StringVar(pattern, "pattern", "", "only files with a name as this `GLOB`, or where it has a slash, a path below the directory")
	c.Flags().BoolVar(recursive, "recursive", false, "also the directories below")
	flags.Parsed(c, newerThan, "newer-than", "", "only files modified after this `TIME`, or this age: 7d; those without a date count", flags.ParseTime)
	c.Flags().Var(&most, "max-size", "only files of at most this `SIZE`, such as 2 GiB; those without a size count; 0 = any")
	return &most
}

func write(w io.Writer, seen directories.Seen) {
	render.Rows(w, "no files", render.Row{"file", "size", "modified"}, seen.Files, func(f directories.File) render.Row {
		size := any("-")
		if f.Size != nil {
			size = render.Size(*f.Size)
		}
		return render.Row{export.Line(f.Path), size, render.Or(f.Modified, "-")}
	})
	render.Truncated(w, len(seen.Files), int64(seen.Count), "files", "see more with --limit")
	files, in := "files", "directories"
	if seen.Count == 1 {
		files = "file"
	}
	if seen.Directories == 1 {
		in = "directory"
	}
	fmt.Fprintf(w, "\n%d %s, %s, in %d %s\n", seen.Count, files, render.Size(seen.Bytes), seen.Directories, in)
	for _, by := range []struct {
		rule string
		n    int
	}{{"name", seen.LeftOut.Pattern}, {"age", seen.LeftOut.Age}, {"size", seen.LeftOut.Size}} {
		if by.n > 0 {
			fmt.Fprintf(w, "%d left out by their %s\n", by.n, by.rule)
		}
	}
	for _, l := range seen.Links {
		fmt.Fprintf(w, "no file: %s %s\n", export.Line(l.Link), l.Why)
	}
	if more := seen.LeftOut.Links - len(seen.Links); more > 0 {
		fmt.Fprintf(w, "and %d more links that are no files\n", more)
	}
}

// The help of `accession file redownload`.
const (
	Redownload     = "Fetch files of datasets anew"
	RedownloadLong = `Fetch files of datasets anew, such as those that were changed at their source: files
that are DOWNLOADED, were given up or were skipped. The copy that is there is put into
files/quarantine of the working directory. --reason is required; the history records it.
What was processed is not fetched again: a dataset that was made with --by-version has a
file of its own for each version.`
)

// The help of `accession file abandon`.
const (
	Abandon     = "Give up ready files of datasets"
	AbandonLong = `Give up files of datasets that are READY and are not to be processed, such as those that
came after their group was deposited: they become ABANDONED. --reason is required; the
history records it. ` + "`accession file requeue`" + ` undoes it. A file that is still to be
processed with the deposit of its group is refused. ` + "`accession report reconciliation`" + `
says which files are late.`
)

// The help of `accession file reprocess`.
const (
	Reprocess     = "Process files of datasets again"
	ReprocessLong = `Process files of datasets again: those that are PROCESSED, or were given up, become
READY, and their attempts are counted from 0. --reason is required; the history records
it.`
)
