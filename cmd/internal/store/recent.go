package store

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"golang.org/x/sync/singleflight"
)

// maxRecent is how many files the storage manifests that are remembered have at most; the newest
// one is remembered however many it has.
const maxRecent = 100_000

// recent has the storage manifests that were read last: who gets one file of a version after the
// other does not have the manifest read for each. A manifest is never changed.
type recent struct {
	reads singleflight.Group // of manifests, by SHA-256
	mu    sync.Mutex
	all   []versionFiles // the newest first
}

// versionFiles are the files of a version, by the SHA-256 of its storage manifest.
type versionFiles struct {
	sha   string
	files []StoredFile // ordered by kind, then name
}

func (r *recent) find(sha string) (files []StoredFile, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.all, func(v versionFiles) bool { return v.sha == sha })
	if i < 0 {
		return nil, false
	}
	v := r.all[i]
	r.all = slices.Insert(slices.Delete(r.all, i, i+1), 0, v)
	return v.files, true
}

func (r *recent) keep(v versionFiles) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = slices.Insert(r.all, 0, v)
	n := 0
	for i, v := range r.all {
		if n += len(v.files); i > 0 && n > maxRecent {
			clear(r.all[i:])
			r.all = r.all[:i]
			return
		}
	}
}

// FileOf returns a file of the version whose storage manifest has this key and SHA-256. Of two
// files with the name, the depositor's is meant if kind is "". found = false: the version has no
// such file. CodeMismatch: the manifest is not the one that was stored.
func (s *Store) FileOf(ctx context.Context, key, sha string, kind FileKind, name string) (f StoredFile, found bool, err error) {
	files, found := s.recent.find(sha)
	if !found {
		if files, err = s.readFiles(ctx, key, sha); err != nil {
			return f, false, err
		}
	}
	for _, kind := range []FileKind{cmp.Or(kind, KindProducer), cmp.Or(kind, KindSystem)} {
		i, found := slices.BinarySearchFunc(files, StoredFile{Kind: kind, Name: name}, func(a, b StoredFile) int {
			return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
		})
		if found {
			return files[i], true, nil
		}
	}
	return f, false, nil
}

// readFiles reads the files of a version, once for all who want them at that moment.
func (s *Store) readFiles(ctx context.Context, key, sha string) ([]StoredFile, error) {
	files, err, _ := s.recent.reads.Do(sha, func() (any, error) {
		if files, found := s.recent.find(sha); found {
			return files, nil
		}
		data, err := s.ManifestBytes(context.WithoutCancel(ctx), key, sha)
		if err != nil {
			return nil, err
		}
		var m StorageManifest
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, wrap("read manifest", key, err)
		}
		s.recent.keep(versionFiles{sha, m.Files})
		return m.Files, nil
	})
	if err != nil {
		return nil, err
	}
	return files.([]StoredFile), nil //nolint:forcetypeassert // as above
}
