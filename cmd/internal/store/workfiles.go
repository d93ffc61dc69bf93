package store

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// WorkFile is a file that a job has in the working directory.
type WorkFile struct {
	Name string `json:"name"` // below the directory of the job
	Size int64  `json:"size"` // in bytes
}

// FilesOf returns the files of a job in the working directory by their names, at most
// limit, and reports whether there are more. Without a directory the job has none.
func (w *Work) FilesOf(batch domain.BatchID, job domain.JobID, limit int) (files []WorkFile, more bool, err error) {
	dir, err := jobDir(batch, job)
	if err != nil {
		return nil, false, err
	}
	err = fs.WalkDir(w.root.FS(), dir, func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile, or never there
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		if len(files) == limit {
			more = true
			return fs.SkipAll
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			files = append(files, WorkFile{strings.TrimPrefix(name, dir+"/"), info.Size()})
		}
		return err
	})
	return files, more, wrap("list working files", dir, err)
}
