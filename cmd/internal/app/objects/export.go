package objects

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// Exported is what an export has written.
type Exported struct {
	ID      string `json:"id"` // of the object
	Version int64  `json:"version"`
	Dir     string `json:"dir"`
	Files   int64  `json:"files"`
	Bytes   int64  `json:"bytes"`
	Written int64  `json:"written"` // files that were not there before
}

// manifestName is the storage manifest in an export. It is written last: an export that has
// it is complete.
const manifestName = "manifest.json"

// pageOfFiles is how many files are read from the inventory at once.
const pageOfFiles = 1000

// Source is where an export reads a version of an object.
type Source interface {
	// Version returns the version.
	Version(ctx context.Context) (Version, error)
	// Files returns a page of its files.
	Files(ctx context.Context, v Version, from app.Cursor) (app.Page[File], error)
	// Open opens one of its files, and Manifest its storage manifest.
	Open(ctx context.Context, v Version, f File) (io.ReadCloser, error)
	Manifest(ctx context.Context, v Version) (io.ReadCloser, error)
}

// Export copies the files of a version into a directory: those of the depositor below
// producer, those of the system below system, and then the storage manifest. Each file is
// there when all of it is on disk and has its digest. An export that was interrupted is
// completed by the next one; what is there is never replaced. progress is told of each file.
func Export(ctx context.Context, from Source, object, dir string, progress func(f File, written bool)) (done Exported, err error) {
	defer app.Explained(&err, "export object "+object)
	v, err := from.Version(ctx)
	if err != nil {
		return done, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return done, err
	}
	done = Exported{ID: object, Version: v.Version, Dir: dir}
	to, err := store.OpenExport(dir)
	if err != nil {
		return done, stored(err)
	}
	err = copyAll(ctx, from, to, v, &done, progress)
	return done, stored(errors.Join(err, to.Close()))
}

func copyAll(ctx context.Context, from Source, to *store.Export, v Version, done *Exported, progress func(File, bool)) error {
	for next := app.Cursor(""); ; {
		page, err := from.Files(ctx, v, next)
		if err != nil {
			return err
		}
		for _, f := range page.Items {
			written, err := to.Copy(ctx, f.blob(), f.Kind+"/"+f.Name, func(ctx context.Context) (io.ReadCloser, error) { return from.Open(ctx, v, f) })
			if err != nil {
				return err
			}
			done.Files++
			done.Bytes += f.Size
			if written {
				done.Written++
			}
			progress(f, written)
		}
		if next = page.Next; next == "" {
			break
		}
	}
	_, err := to.Copy(ctx, store.Blob{Key: manifestName, Size: -1, SHA256: v.ManifestSHA256}, manifestName, func(ctx context.Context) (io.ReadCloser, error) { return from.Manifest(ctx, v) })
	return err
}

// Here returns the source of a version that reads from the servers.
func Here(a *app.App, of Of) Source { return &here{app: a, of: of} }

// here reads from the servers.
type here struct {
	app     *app.App
	of      Of
	records *record.Records
	version record.FoundVersion
	objects *store.Store
	gone    error // why its content is not there any more, nil = it is
}

// Version implements Source.
func (h *here) Version(ctx context.Context) (v Version, err error) {
	if h.records, err = h.app.Open.Records(ctx); err != nil {
		return v, err
	}
	if h.version, err = version(ctx, h.records, h.of); err != nil {
		return v, err
	}
	if h.gone = served(ctx, h.records, h.of.Object); h.gone != nil && !withdrawn(h.gone) {
		return v, h.gone
	}
	h.objects, err = h.app.Open.ObjectStore(ctx, h.version.ProfileName)
	return versionOf(h.version), err
}

// Files implements Source.
func (h *here) Files(ctx context.Context, _ Version, from app.Cursor) (app.Page[File], error) {
	return filesOf(ctx, h.records, h.version, pageOfFiles, from)
}

// Open implements Source.
func (h *here) Open(ctx context.Context, _ Version, f File) (io.ReadCloser, error) {
	if h.gone != nil {
		return nil, h.gone
	}
	return h.objects.GetChecked(ctx, f.blob())
}

// Manifest implements Source.
func (h *here) Manifest(ctx context.Context, _ Version) (io.ReadCloser, error) {
	return h.objects.Get(ctx, h.version.ManifestKey)
}
