package manifests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Made is a manifest that was made.
type Made struct {
	File  string `json:"file"`
	Type  string `json:"type"` // of the submission, as submit --type has it
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"` // of the files
	Known int    `json:"known"` // files whose digests an earlier run had
}

func (e Env) make() *cobra.Command {
	var base, out string
	var each bool
	c := &cobra.Command{
		Use:   "make DIRECTORY|URL…",
		Short: "Make a manifest of the files below a directory, or at URLs",
		Long: `Make a manifest of all files below a directory, with SHA-256, size and time of each: of
one object, or with --each of a batch in which each file is an object. --base is the URL
under which the depositor serves the directory; nothing is sent there. A symbolic link or
a device is an error.

Of URLs the files are read from there, and are named by what their addresses do not have
in common.

With --out an interrupted run is continued by the same command: digests that FILE.digests
has are not computed again while size and time of their files are the same. The standard
output gets the manifest without --out.`,
		Example: `  accession manifest make maps --base https://example.org/maps --out maps.checkm
  accession manifest make maps --base https://example.org/maps --each > maps.checkm
  accession manifest make https://example.org/maps/{north,south}.tif --out maps.checkm`,
		Args: flags.AtLeast(1),
	}
	c.Flags().StringVar(&base, "base", "", "`URL` under which the files are served (required)")
	c.Flags().StringVar(&out, "out", "", "write the manifest to `FILE`, and keep digests in FILE.digests meanwhile")
	c.Flags().BoolVar(&each, "each", false, "each file is an object of its own")
	c.RunE = e.Anywhere(func(ctx context.Context, args []string) error {
		found, read, err := sources(args, base, written(out))
		if err != nil {
			return err
		}
		made := Made{File: out, Type: profileOf(each).SubmissionType(), Files: len(found)}
		if err := e.Steps(ctx, func(report func(render.Step)) error { return digest(ctx, found, read, out, &made, report) }); err != nil {
			return &app.Error{Kind: app.Failed, What: "make the manifest", Err: err, Hint: again(out)}
		}
		text, err := manifestOf(found, each).Format()
		if err != nil {
			return &app.Error{Kind: app.Invalid, What: "make the manifest", Err: err, Hint: "rename the file, and make the manifest again"}
		}
		if out == "" {
			_, err := e.Out.Write(text)
			return err
		}
		if err := put(out, text); err != nil {
			return &app.Error{Kind: app.Failed, What: "make the manifest", Err: err}
		}
		return e.Show(made, made.write)
	})
	return c
}

// sources returns the files of a manifest, and what reads them.
func sources(args []string, base string, without []string) ([]file, reader, error) {
	if slices.ContainsFunc(args, isURL) {
		if base != "" {
			return nil, nil, fmt.Errorf("--base goes with a directory: files at URLs have theirs")
		}
		found, err := filesAt(args)
		return found, overHTTP(), err
	}
	if len(args) > 1 {
		return nil, nil, fmt.Errorf("give one directory, not %d", len(args))
	}
	under, err := parseBase(base)
	if err != nil {
		return nil, nil, err
	}
	found, err := files(args[0], without...)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, &app.Error{Kind: app.NotFound, What: "make the manifest", Err: err, Hint: "give the directory that has the files, or their URLs"}
	}
	if err != nil {
		return nil, nil, &app.Error{Kind: app.Failed, What: "make the manifest", Err: err}
	}
	read := below(args[0])
	return found, func(ctx context.Context, f *file, k kept, at func(n int64)) (known bool, err error) {
		known, err = read(ctx, f, k, at)
		f.url = under + escaped(f.name)
		return known, err
	}, nil
}

// written returns the files that a run with this --out writes; none without it.
func written(out string) []string {
	if out == "" {
		return nil
	}
	return []string{out, out + digestsSuffix, out + partSuffix}
}

// again is what to do when digests were not all computed.
func again(out string) string {
	if out == "" {
		return "run the command again; with --out it continues where it ended"
	}
	return "run the command again: it continues where it ended"
}

// parseBase returns the URL of a directory, with a slash at its end.
func parseBase(base string) (string, error) {
	if base == "" {
		return "", fmt.Errorf("--base is missing: give the URL under which the files are served")
	}
	if err := manifest.CheckURL(base, false); err != nil {
		return "", fmt.Errorf("--base: %w", err)
	}
	if u, err := url.Parse(base); err != nil || u.RawQuery != "" || u.ForceQuery {
		return "", fmt.Errorf("--base has a query, behind which no path can stand; give the URL of the directory")
	}
	return strings.TrimRight(base, "/") + "/", nil
}

func profileOf(each bool) manifest.Profile {
	if each {
		return manifest.MrtSingleFileBatch
	}
	return manifest.MrtIngest
}

// manifestOf returns the manifest of files that were read.
func manifestOf(found []file, each bool) *manifest.Manifest {
	p := profileOf(each)
	m := &manifest.Manifest{Version: "0.7", Profile: p, Fields: p.Fields(), Prefixes: []manifest.Prefix{
		{Name: "mrt:", URI: "http://merritt.cdlib.org/terms#"}, {Name: "nfo:", URI: "http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#"}}}
	for _, f := range found {
		row := manifest.Row{FileURL: f.url, HashAlgorithm: manifest.SHA256, HashValue: f.sha256, Size: f.size, FileName: manifest.NormalName(f.name)}
		if !f.modified.IsZero() {
			row.FileLastModified = f.modified.UTC().Format(time.RFC3339)
		}
		m.Rows = append(m.Rows, row)
	}
	return m
}

// escaped returns the path of a URL that a name stands for.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return strings.Join(parts, "/")
}

// put writes the manifest as a whole, and removes the digests that were kept for it.
func put(name string, text []byte) error {
	part, err := os.OpenFile(name+partSuffix, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // it has its name already
	_, err = part.Write(text)
	if err == nil {
		err = part.Sync()
	}
	if bad := part.Close(); err == nil {
		err = bad
	}
	if err == nil {
		err = os.Chmod(part.Name(), 0o644) //nolint:gosec // it is for others to read
	}
	if err == nil {
		err = os.Rename(part.Name(), name)
	}
	if err == nil {
		err = os.Remove(name + digestsSuffix)
	}
	return err
}

func (m Made) write(w io.Writer) {
	fmt.Fprintf(w, "%s: %d files, %s", m.File, m.Files, render.Size(m.Bytes))
	if m.Known > 0 {
		fmt.Fprintf(w, "; digests of %d were known", m.Known)
	}
	fmt.Fprintf(w, "\ndeposit it with: accession submit --profile PROFILE --type %s %s\n", m.Type, m.File)
}
