// Package objects has the commands about stored objects.
package objects

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// Env is what the commands have of the program.
type Env struct {
	Out io.Writer
	// Screen says that Out is a terminal.
	Screen bool
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
	// Note writes a line about progress, for people.
	Note func(format string, args ...any)
}

const sample = "ark:/99999/fk4x1"

// Command returns the command object; withdrawing are those of its commands that withdraw.
func Command(e Env, withdrawing ...*cobra.Command) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "object",
		Short: "Find and withdraw stored objects, and get their content out",
		Long: `An object is what a job has stored: versions, each with files of the depositor (producer)
and files that Accession has added (system). Whatever leaves the store is compared with
its digest on the way.`,
		Example: "  accession object ls --title \"harbour 1923\"\n  accession object export " + sample + " --dir harbour",
	}, append(withdrawing, e.ls(), e.show(), e.files(), e.get(), e.export(), e.withdrawals())...)
}

func (e Env) ls() *cobra.Command {
	var f objects.Filter
	var from app.Cursor
	c := &cobra.Command{
		Use:   "ls",
		Short: "Find objects",
		Long: `List objects in the order of their identifiers. What is given must all hold. --title and
--creator are words, in any order; --file is the name of a file, or the end of its path.
One version meets what is said of a version.`,
		Example: "  accession object ls --collection maps\n  accession object ls --local-id harbour-7 -o json\n  accession object ls --file north.tif",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			page, err := door.Carry[app.Page[objects.Object]](ctx, d, "object.ls", &operation.ObjectList{Page: operation.Page{Limit: f.Limit, Cursor: string(from)},
				Identifier: f.Identifier, LocalID: f.LocalID, Title: f.Title, Creator: f.Creator, File: f.File, Collection: f.Collection, Submitter: f.Submitter,
				Batch: f.Batch, Profile: f.Profile, Age: operation.Age{Since: f.Since, OlderThan: f.Until}})
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) { list(w, page.Items); more(w, page.Next) })
		}),
	}
	c.Flags().StringVar(&f.Identifier, "identifier", "", "only the object with this `ID`")
	c.Flags().StringVar(&f.LocalID, "local-id", "", "only objects with this local `ID`")
	c.Flags().StringVar(&f.Title, "title", "", "only objects with these `WORDS` in their title")
	c.Flags().StringVar(&f.Creator, "creator", "", "only objects with these `WORDS` in their creator")
	c.Flags().StringVar(&f.File, "file", "", "only objects with a file of this `NAME`")
	c.Flags().StringVar(&f.Collection, "collection", "", "only objects of this `COLLECTION`")
	c.Flags().StringVar(&f.Submitter, "submitter", "", "only objects of which this `NAME` deposited a version")
	flags.Parsed(c, (*domain.BatchID)(&f.Batch), "batch", "", "only objects of which this `BID` stored a version", flags.Optional(domain.ParseBatchID))
	c.Flags().StringVar(&f.Profile, "profile", "", "only objects of which a version was deposited with this `PROFILE`")
	flags.Age(c, &f.Since, &f.Until, "objects with a version", "stored")
	flags.Cursor(c, &from)
	flags.Limit(c, &f.Limit, flags.ListLimit, "objects")
	return c
}

func list(w io.Writer, all []objects.Object) {
	render.Rows(w, "no objects", render.Row{"object", "collection", "version", "modified", "local ids", "creator", "what"}, all, func(o objects.Object) render.Row {
		return render.Row{o.ID, export.Line(o.Collection), o.Version, render.Time(o.ModifiedAt), export.Line(strings.Join(o.LocalIDs, "; ")), export.Line(o.Creator), export.Line(o.Title)}
	})
}

func more(w io.Writer, next app.Cursor) {
	if next != "" {
		fmt.Fprintf(w, "\n--limit or --cursor %s for more\n", next)
	}
}

func (e Env) show() *cobra.Command {
	return &cobra.Command{
		Use:     "show OBJECT",
		Short:   "Show an object and its versions",
		Long:    "Show an object as the inventory has it, and its versions, newest first.",
		Example: "  accession object show " + sample,
		Args:    flags.Exactly(1),
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			v, err := door.Carry[objects.View](ctx, d, "object.show", &operation.ObjectID{ID: args[0]})
			if err != nil {
				return err
			}
			return e.Show(v, func(w io.Writer) { view(w, v) })
		}),
	}
}

func view(w io.Writer, v objects.View) {
	render.Pairs(w, [][2]any{
		{"object", v.ID}, {"collection", export.Line(v.Collection)}, {"owner", export.Line(v.Owner)}, {"title", export.Line(v.Title)}, {"creator", export.Line(v.Creator)},
		{"date", export.Line(v.Date)}, {"local ids", export.Line(strings.Join(v.LocalIDs, "; "))}, {"created", render.Time(v.CreatedAt)}, {"modified", render.Time(v.ModifiedAt)},
	}...)
	gone(w, v.Tombstone)
	fmt.Fprintln(w)
	render.Rows(w, "no versions", render.Row{"version", "job", "batch", "submitter", "files", "bytes", "stored"}, v.Versions, func(v objects.Version) render.Row {
		return render.Row{v.Version, v.JobID, v.BatchID, export.Line(v.Submitter), v.Files, v.Bytes, render.Time(v.StoredAt)}
	})
	if len(v.Replicas) == 0 {
		return
	}
	fmt.Fprintln(w)
	render.Rows(w, "", render.Row{"version", "replica", "state", "since", "attempts", "error"}, v.Replicas, func(r objects.Replica) render.Row {
		return render.Row{r.Version, export.Line(r.Location), r.State, render.Time(r.Since), r.Attempts, export.Line(r.Error)}
	})
}

// of adds the flag that chooses a version.
func of(c *cobra.Command) func(args []string) operation.ObjectVersion {
	version := c.Flags().Int("version", 0, "this `VERSION` (default the newest)")
	return func(args []string) operation.ObjectVersion {
		return operation.ObjectVersion{ObjectID: operation.ObjectID{ID: args[0]}, Version: *version}
	}
}

// here returns the version for the use cases of this process.
func here(v operation.ObjectVersion) objects.Of { return objects.Of{Object: v.ID, Version: v.Version} }

func (e Env) files() *cobra.Command {
	var from app.Cursor
	var limit int
	c := &cobra.Command{
		Use:     "files OBJECT",
		Short:   "List the files of a version of an object",
		Long:    "List the files of a version: those of the depositor, then those of the system.",
		Example: "  accession object files " + sample + " --version 1",
		Args:    flags.Exactly(1),
	}
	v := of(c)
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		page, err := door.Carry[app.Page[objects.File]](ctx, d, "object.files", &operation.ObjectFiles{ObjectVersion: v(args), Page: operation.Page{Limit: limit, Cursor: string(from)}})
		if err != nil {
			return err
		}
		return e.Show(page, func(w io.Writer) {
			render.Rows(w, "no files", render.Row{"kind", "bytes", "type", "sha256", "file"}, page.Items, func(f objects.File) render.Row {
				return render.Row{f.Kind, f.Size, export.Line(f.MimeType), f.SHA256, export.Line(f.Name)}
			})
			more(w, page.Next)
		})
	})
	flags.Cursor(c, &from)
	flags.Limit(c, &limit, flags.ListLimit, "files")
	return c
}

func (e Env) get() *cobra.Command {
	var out, kind string
	c := &cobra.Command{
		Use:   "get OBJECT FILE",
		Short: "Write a file of an object to the output, or to a file",
		Long: `Write a file of a version of an object to the standard output or, with --out, to a file
that is there when all of it was compared with its digest. Exit code 8: the file is not
what was stored; what was written to the standard output is then not to be used.`,
		Example: "  accession object get " + sample + " north.tif --out north.tif\n  accession object get " + sample + " accession-erc.txt --kind system",
		Args:    flags.Exactly(2),
	}
	v := of(c)
	c.Flags().StringVar(&out, "out", "", "write to this `FILE`, which must not exist; - is the standard output")
	flags.Parsed(c, &kind, "kind", "", "producer or system: whose file, if both have the name (`KIND`)", flags.Optional(flags.Among("producer", "system")))
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		if out == "" && e.Screen {
			return &app.Error{Kind: app.Invalid, What: "get " + args[1], Err: fmt.Errorf("refusing to write a file to a terminal"), Hint: "use --out FILE, or redirect the output"}
		}
		in := &operation.ObjectFile{ObjectVersion: v(args), FileName: operation.FileName{Name: args[1], Kind: kind}}
		to := func(w io.Writer) error {
			return door.Fetch(ctx, d, "object.get", in, nil, w, func(a *app.App) error {
				f, err := objects.Open(ctx, a, here(in.ObjectVersion), kind, args[1])
				if err != nil {
					return err
				}
				defer func() { _ = f.Close() }()
				_, err = io.Copy(w, f)
				return err
			})
		}
		if out == "" || out == "-" {
			return to(e.Out)
		}
		return export.File(out, to)
	})
	return c
}

func (e Env) export() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "export OBJECT",
		Short: "Write the files of a version of an object to a directory",
		Long: `Write all files of a version to a directory: those of the depositor below producer, those
of the system below system, and at the end manifest.json, which lists them with sizes and
digests. A file is there under its name when all of it is on disk and was compared with
its digest. After an interruption the same command continues. Another file that is there
is never replaced.`,
		Example: "  accession object export " + sample + " --dir harbour\n  accession object export " + sample + " --version 1 --dir harbour-1 -o json",
		Args:    flags.Exactly(1),
	}
	v := of(c)
	c.Flags().StringVar(&dir, "dir", "", "`DIRECTORY`, which is created if need be")
	_ = c.MarkFlagRequired("dir") // it is there
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		of := v(args)
		from := objects.Source(&there{d, of})
		if d.Here != nil {
			from = objects.Here(d.Here, here(of))
		}
		done, err := objects.Export(ctx, from, of.ID, dir, func(f objects.File, written bool) {
			if written {
				e.Note("%s/%s", f.Kind, export.Line(f.Name))
			}
		})
		if err != nil {
			return err
		}
		return e.Show(done, func(w io.Writer) {
			fmt.Fprintf(w, "%s version %d: %d files, %d bytes in %s; %d files were there already\n", done.ID, done.Version, done.Files, done.Bytes, export.Line(done.Dir), done.Files-done.Written)
		})
	})
	return c
}
