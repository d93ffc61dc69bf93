package store

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Left is what a claim that has ended, or whose worker is gone, has left behind.
// Whoever takes it over reads it; the worker may still be writing, so what is read
// must be measured.
type Left struct {
	Files
	work *Work
	dir  string
}

// Left opens what the claims of a job have left behind, ordered by their ids, but
// not the part of the claim mine. The caller closes each.
func (w *Work) Left(batch domain.BatchID, job domain.JobID, mine string) ([]*Left, error) {
	dir, err := jobDir(batch, job)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(w.root.FS(), dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrap("list claims", dir, err)
	}
	var all []*Left
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "claim-") || e.Name() == "claim-"+mine {
			continue
		}
		l := &Left{work: w, dir: dir + "/" + e.Name()}
		if l.root, err = w.root.OpenRoot(l.dir + "/files"); errors.Is(err, fs.ErrNotExist) {
			continue // its worker ended it meanwhile
		}
		if err != nil {
			for _, l := range all {
				_ = l.Close()
			}
			return nil, wrap("open claim", l.dir, err)
		}
		all = append(all, l)
	}
	return all, nil
}

// Remove removes all that the claim has left.
func (l *Left) Remove() error {
	crash.Point("store/left/before-remove")
	err := l.work.root.RemoveAll(l.dir)
	crash.Point("store/left/after-remove")
	return wrap("remove", l.dir, err)
}
