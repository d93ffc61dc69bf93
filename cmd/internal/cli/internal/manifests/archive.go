package manifests

import (
	"archive/tar"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// Pack replaces a payload that is a directory by an archive of the files below it, which is a
// container of one object, and reports whether it was one. It returns what removes the archive.
func Pack(ctx context.Context, d *app.Deposit, steps func(ctx context.Context, do func(report func(render.Step)) error) error) (packed bool, remove func(), err error) {
	remove = func() {}
	if info, err := os.Stat(d.Payload); err != nil || !info.IsDir() {
		return false, remove, nil //nolint:nilerr // it is a URL, or a file that is opened later
	}
	if d.Type = cmp.Or(d.Type, domain.TypeContainer); d.Type != domain.TypeContainer {
		return false, remove, &app.Error{Kind: app.Invalid, What: "submit", Err: fmt.Errorf("%s is a directory, which is deposited as a container and not as %s", d.Payload, d.Type),
			Hint: "leave --type out, or give one file"}
	}
	err = steps(ctx, func(report func(render.Step)) (err error) {
		d.Payload, remove, err = archive(ctx, d.Payload, report)
		return err
	})
	return true, remove, err
}

// archive writes the files below a directory as one tar archive, in the order of their
// names, so that the same files make the same bytes. It returns the path of the archive,
// which is in a new temporary directory and has the directory's name, and what removes it.
func archive(ctx context.Context, dir string, report func(render.Step)) (path string, remove func(), err error) {
	remove = func() {}
	kind := app.Invalid // what is below the directory cannot be deposited
	defer func() {
		if err != nil {
			remove()
			err = &app.Error{Kind: kind, What: "pack " + dir, Err: err, Hint: "nothing was deposited"}
		}
	}()
	found, err := files(dir)
	if err != nil {
		return "", remove, err
	}
	kind = app.Failed
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", remove, err
	}
	name := filepath.Base(abs)
	if filepath.Dir(abs) == abs {
		name = "root"
	}
	temporary, err := os.MkdirTemp("", "accession-submit-")
	if err != nil {
		return "", remove, err
	}
	remove = func() { _ = os.RemoveAll(temporary) } // the system removes what is left of it
	path = filepath.Join(temporary, name+".tar")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", remove, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return path, remove, pack(ctx, f, dir, found, report)
}

// pack writes files below a directory to a tar archive.
func pack(ctx context.Context, to io.Writer, dir string, found []file, report func(render.Step)) error {
	var total, done int64
	for _, f := range found {
		total += f.size
	}
	at := func(n int64) {
		done += n
		report(render.Step{Doing: "packing", Unit: "MiB ", Total: uint64(total >> 20), Done: uint64(done >> 20)})
	}
	w := tar.NewWriter(to)
	for _, f := range found {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: manifest.NormalName(f.name), Size: f.size, Mode: 0o644, ModTime: f.modified.UTC(), Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("%q: %w", f.name, err)
		}
		if err := f.copy(ctx, w, dir, at); err != nil {
			return err
		}
	}
	return w.Close()
}
