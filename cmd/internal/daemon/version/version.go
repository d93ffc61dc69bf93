// Package version says which files the next version of an object has.
package version

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/cmd/internal/store/description"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// deletionList is the file of an update that names, one in each line, the files that the
// object no longer has. It is kept in its version, and not carried over to later ones.
const deletionList = "mrt-delete.txt"

// Updated returns the files of a version: those of the deposit, and those of the version
// that it updates which the deposit neither replaces nor deletes. Their bytes stay where
// they are.
func Updated(ctx context.Context, objects *store.Store, v store.Version) ([]store.File, error) {
	if v.Base == 0 {
		return v.Files, nil
	}
	base, _, _, err := objects.FindManifest(ctx, v.Object, v.Base)
	if err != nil {
		return nil, fmt.Errorf("version %d, which is updated: %w", v.Base, err)
	}
	gone := map[string]bool{deletionList: true}
	for _, f := range v.Files {
		gone[f.Name] = true
		if f.Name != deletionList {
			continue
		}
		names, err := deletions(f)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			gone[name] = true
		}
	}
	files := v.Files
	for _, f := range base.Files {
		if f.Kind == store.KindProducer && !gone[f.Name] {
			files = append(files, store.File{Kind: f.Kind, Name: f.Name, Size: f.Size, SHA256: f.SHA256, MimeType: f.MimeType, Key: f.Key})
		}
	}
	return files, nil
}

// maxDeletions is how many bytes a deletion list may have.
const maxDeletions = 16 << 20

// deletions reads a deletion list.
func deletions(f store.File) (names []string, err error) {
	if f.Size > maxDeletions {
		return nil, reason.Content(reason.CodeFileTooLarge, "%s has %d bytes, more than %d: divide it over several updates", deletionList, f.Size, maxDeletions)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxDeletions))
	for line := range strings.Lines(string(data)) {
		if name := strings.TrimSpace(line); name != "" {
			names = append(names, manifest.NormalName(name))
		}
	}
	return names, err
}

// Producer returns a downloaded file for storing. The store compares its bytes with the digest
// when it writes them.
func Producer(have *store.Files, f payload.File, sha string) (store.File, error) {
	r, err := have.Open(f.Name)
	if store.CodeOf(err) == store.CodeNotFound {
		return store.File{}, reason.System(reason.CodeFilesMissing, "%s was downloaded and is gone from the working directory; submit the object again", f.Name)
	}
	if err != nil {
		return store.File{}, err
	}
	info, err := r.Stat()
	_ = r.Close()
	if err != nil {
		return store.File{}, fmt.Errorf("%s: %w", f.Name, err)
	}
	return store.File{Kind: store.KindProducer, Name: f.Name, Size: info.Size(), SHA256: sha, MimeType: f.MimeType,
		Open: func() (io.ReadCloser, error) { return have.Open(f.Name) }}, nil
}

// Changed returns the reason of a job whose downloaded files are no longer what they were, if
// that is why its version was not stored, and else the error.
func Changed(err error) error {
	var at *store.Error
	if !errors.As(err, &at) || at.Code != store.CodeChanged {
		return err
	}
	return reason.System(reason.CodeFilesMissing, "%s was changed in the working directory, %s; submit the object again", at.Key, at.Hint)
}

// Descriptions returns the citation and the Dublin Core description.
func Descriptions(j domain.Job, p profile.Profile) ([]store.File, error) {
	m := j.Metadata
	where := append([]string{j.Identifiers.Primary}, j.Identifiers.LocalID...)
	erc := description.ERC{Who: m.ErcWho, What: m.ErcWhat, When: m.ErcWhen, Where: where}
	dc, err := description.DublinCore{Title: []string{m.ErcWhat}, Creator: []string{m.ErcWho}, Date: []string{m.ErcWhen},
		Publisher: []string{p.Owner}, Identifier: where}.Encode()
	if err != nil {
		return nil, err
	}
	return []store.File{
		store.SystemFile(description.ERCName, "text/plain; charset=utf-8", erc.Encode()),
		store.SystemFile(description.DublinCoreName, "application/xml", dc),
	}, nil
}
