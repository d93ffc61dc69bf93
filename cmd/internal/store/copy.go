package store

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/cmd/internal/store/ocfl"
)

// CopyVersion copies a version of another store, whose storage manifest has this key and
// SHA-256, under the same keys. What is here is read, and written only where it differs; what
// was written is read back. The storage manifest comes last. With OCFL the object is a valid
// one here too, with all that its versions up to this one have. CodeMismatch: the other store
// does not have the version as it was stored.
func (s *Store) CopyVersion(ctx context.Context, from *Store, object, manifestKey, manifestSHA256 string) error {
	m, sha, err := from.ReadManifest(ctx, manifestKey)
	if CodeOf(err) == CodeNotFound || err == nil && sha != manifestSHA256 {
		err = &Error{Code: CodeMismatch, Op: "copy version", Key: manifestKey, Hint: "its storage manifest is not the one that was written: restore it from a copy of the store", Err: err}
	}
	if err != nil {
		return err
	}
	g, copying := errgroup.WithContext(ctx)
	g.SetLimit(parallelFiles)
	for _, f := range m.Files {
		g.Go(func() error { return s.Copy(copying, from, Blob{Key: f.Key, Size: f.Size, SHA256: f.SHA256}) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	manifest := Blob{Key: manifestKey, Size: -1, SHA256: manifestSHA256}
	if !strings.HasPrefix(manifestKey, OCFLPrefix) {
		return s.Copy(ctx, from, manifest)
	}
	if err := s.copyContent(ctx, from, object, manifestKey); err != nil {
		return err
	}
	if err := s.Copy(ctx, from, manifest); err != nil {
		return err
	}
	if err := s.declareOCFL(ctx); err != nil {
		return err
	}
	return s.CopyInventories(ctx, from, object, manifestKey)
}

// Copy copies one object under its key from another store, unless it is here as it should be,
// and reads it back. Size -1 is that in the other store. CodeMismatch: the other store does not have it.
func (s *Store) Copy(ctx context.Context, from *Store, want Blob) error {
	if want.Size < 0 {
		info, err := from.Stat(ctx, want.Key)
		if err != nil && CodeOf(err) != CodeNotFound {
			return err
		}
		want.Size = info.Size
	}
	have, err := s.measure(ctx, want.Key)
	if err == nil && have == want {
		return nil
	}
	if err != nil && CodeOf(err) != CodeNotFound {
		return err
	}
	r, err := from.GetChecked(ctx, want)
	if err != nil {
		return err
	}
	_, err = s.put(ctx, want.Key, r, putOptions{want: &want})
	if err := errors.Join(err, r.Close()); err != nil {
		return err
	}
	if have, err = s.measure(ctx, want.Key); err == nil {
		err = have.check(&want)
	}
	return err
}

// copyContent copies what earlier versions of an object have and is not here.
func (s *Store) copyContent(ctx context.Context, from *Store, object, manifestKey string) error {
	number, root := ocflNumber(object, manifestKey)
	o, _, err := from.ocflVersion(ctx, root, object, number)
	if err != nil {
		return err
	}
	for sha, paths := range o.Manifest {
		for _, p := range paths {
			key := root + "/" + p
			if key == manifestKey {
				continue
			}
			_, err := s.Stat(ctx, key)
			if CodeOf(err) == CodeNotFound {
				err = s.Copy(ctx, from, Blob{Key: key, Size: -1, SHA256: sha})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// CopyInventories copies the inventories of an object's versions up to the one with this
// storage manifest from another store where they differ, and settles what describes it.
func (s *Store) CopyInventories(ctx context.Context, from *Store, object, manifestKey string) error {
	number, root := ocflNumber(object, manifestKey)
	for n := range number {
		_, data, err := from.ocflVersion(ctx, root, object, n+1)
		if err == nil && data == nil {
			err = &Error{Code: CodeMismatch, Op: "copy inventory", Key: root + "/" + ocfl.VersionName(n+1), Hint: "the version has no inventory: restore it from a copy of the store"}
		}
		if err != nil {
			return err
		}
		for _, f := range []ocfl.File{{Name: ocfl.Sidecar, Data: ocfl.SidecarOf(data)}, {Name: ocfl.Inventory, Data: data}} {
			key := root + "/" + ocfl.VersionName(n+1) + "/" + f.Name
			have, err := s.optional(ctx, key)
			if err == nil && !bytes.Equal(have, f.Data) {
				_, err = s.Put(ctx, key, bytes.NewReader(f.Data))
			}
			if err != nil {
				return err
			}
		}
	}
	return s.SettleOCFL(ctx, object)
}

// ocflNumber returns which version of its object has the storage manifest with this key, and
// the root of the object.
func ocflNumber(object, manifestKey string) (number int, root string) {
	version := path.Base(path.Dir(path.Dir(manifestKey))) // above content
	number, _ = strconv.Atoi(strings.TrimPrefix(version, "v"))
	return number, OCFLRoot(object)
}
