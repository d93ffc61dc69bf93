package objects

import (
	"context"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
)

// Content is a file of a version, open for reading.
type Content struct {
	File
	Version int64
	// Reader reads the file. At its end, the error is io.EOF only if every byte was as it
	// was stored; otherwise it is an *app.Error of kind Lost, and what was read before is not
	// to be used.
	io.Reader

	from *store.Checked
	name string
}

// Close frees what reading takes.
func (c *Content) Close() error { return c.from.Close() }

// Open opens a file of a version. Without a kind, one of the depositor comes before one of
// the system. It is an error of kind Lost if it is missing in the store, or of another size.
func Open(ctx context.Context, a *app.App, of Of, fileKind, name string) (c *Content, err error) {
	defer app.Explained(&err, "get "+name+" of object "+of.Object)
	records, err := a.Open.Records(ctx)
	if err != nil {
		return nil, err
	}
	v, err := version(ctx, records, of)
	if err != nil {
		return nil, err
	}
	if err := served(ctx, records, of.Object); err != nil {
		return nil, err
	}
	row, found, err := records.ObjectFile(ctx, of.Object, int(v.Version), fileKind, name)
	if err == nil && !found {
		err = noSuch("file %q in version %d of object %s", name, v.Version, of.Object)
	}
	if err != nil {
		return nil, err
	}
	objects, err := a.Open.ObjectStore(ctx, v.ProfileName)
	if err != nil {
		return nil, err
	}
	return open(ctx, objects, fileOf(row), v.Version)
}

// Manifest opens the storage manifest of a version, which lists its files.
func Manifest(ctx context.Context, a *app.App, of Of) (c *Content, err error) {
	defer app.Explained(&err, "get the storage manifest of object "+of.Object)
	h := &here{app: a, of: of}
	v, err := h.Version(ctx)
	if err != nil {
		return nil, err
	}
	info, err := h.objects.Stat(ctx, h.version.ManifestKey)
	if err != nil {
		return nil, stored(err)
	}
	f := File{Kind: "system", ID: manifestName, Name: manifestName, Size: info.Size, SHA256: v.ManifestSHA256, MimeType: "application/json", key: h.version.ManifestKey}
	return open(ctx, h.objects, f, v.Version)
}

// open opens a file in the store.
func open(ctx context.Context, objects *store.Store, f File, version int64) (*Content, error) {
	from, err := objects.GetChecked(ctx, f.blob())
	if err != nil {
		return nil, stored(err)
	}
	return &Content{File: f, Version: version, Reader: reading{from}, from: from, name: f.Name}, nil
}

// blob is what the store must have.
func (f File) blob() store.Blob { return store.Blob{Key: f.key, Size: f.Size, SHA256: f.SHA256} }

// reading explains what ends the reading of a file.
type reading struct{ from io.Reader }

// Read implements io.Reader.
func (r reading) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	return n, stored(err)
}

// stored explains an error of the store.
func stored(err error) error {
	e := &app.Error{Err: err}
	switch store.CodeOf(err) {
	case store.CodeMismatch, store.CodeNotFound:
		e.Kind, e.Hint = app.Lost, "the file is not what was stored: restore it from a copy of the store; `accession verify --deep` shows what else is not"
	case store.CodeConflict:
		e.Kind, e.Hint = app.Refused, "an export replaces nothing: name another directory, or remove what is there"
	case store.CodeCancelled:
		e.Kind = app.Interrupted
	default:
		return err
	}
	return e
}
