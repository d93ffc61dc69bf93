package store

import (
	"context"
	"path"
	"strings"
)

// Content returns the keys of what is stored of an object but for what describes it: storage
// manifests, and inventories of OCFL. What jobs have left that did not store their version is
// content too.
func (s *Store) Content(ctx context.Context, object string) (keys []string, err error) {
	for _, at := range []struct {
		root  string // of the object
		parts int    // that the name of content has at least, below the root: version, kind, name, or with content between them
	}{{path.Dir(VersionPrefix(object, 1)), 3}, {OCFLRoot(object), 4}} {
		for o, err := range s.List(ctx, at.root+"/") {
			if err != nil {
				return nil, err
			}
			if name := strings.TrimPrefix(o.Key, at.root+"/"); strings.Count(name, "/")+1 >= at.parts {
				keys = append(keys, o.Key)
			}
		}
	}
	return keys, nil
}

// RemoveContent removes the content of an object, for ever, and returns how many files that
// were. It may be called again after any error or crash.
func (s *Store) RemoveContent(ctx context.Context, object string) (files int, err error) {
	keys, err := s.Content(ctx, object)
	for _, key := range keys {
		if err := s.Delete(ctx, key); err != nil {
			return files, err
		}
		files++
	}
	return files, err
}
