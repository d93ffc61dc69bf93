package store

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/accession-ingest/accession/domain"
)

// MarkerName is the file that says to which installation a working directory
// belongs.
const MarkerName = ".accession-installation"

// Work is the working directory of an installation, shared by all its workers:
//
//	BID/JID/claim-ID/…   what a claim is downloading
//	BID/JID/begun/…      what there is of files whose transfer was cut off, with notes
//	BID/JID/files/…      what was downloaded for the job, complete
//	BID/JID/members/…    the files of its container, complete
//	files/…              the files without a job, see [Local]
type Work struct {
	root         root
	path         string
	installation string
}

// OpenWork opens the working directory dir, which it creates and marks when it
// is new. The mark of another installation is CodeConflict: its jobs have the
// same ids.
func OpenWork(dir, installation string) (*Work, error) {
	if installation == "" || strings.TrimSpace(installation) != installation || strings.Contains(installation, "\n") {
		return nil, &Error{Code: CodeBadName, Op: openingWork, Key: dir,
			Hint: "the id of an installation is one line without spaces around it"}
	}
	return openWork(dir, installation, openRoot, (*Work).mark)
}

// FindWork opens a working directory that is there and marked, and makes none:
// CodeNotFound when it is not, as when a file system is not mounted.
func FindWork(dir, installation string) (*Work, error) {
	open := func(dir string) (root, error) {
		r, err := os.OpenRoot(dir)
		return root{r}, err
	}
	return openWork(dir, installation, open, func(*Work) error { return nil })
}

const openingWork = "open working directory"

// openWork opens a working directory and marks one without a mark.
func openWork(dir, installation string, open func(string) (root, error), mark func(*Work) error) (*Work, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, wrap(openingWork, dir, err)
	}
	r, err := open(abs)
	if err != nil {
		return nil, wrap(openingWork, abs, err)
	}
	w := &Work{root: r, path: abs, installation: installation}
	if err = w.Check(); CodeOf(err) == CodeNotFound {
		if err = mark(w); err == nil {
			err = w.Check()
		}
	}
	if err != nil {
		_ = r.Close()
		return nil, err
	}
	return w, nil
}

// mark writes the marker unless another process does it first.
func (w *Work) mark() error {
	tmp := MarkerName + "." + rand.Text()
	f, err := w.root.create("marker/create", tmp)
	if err == nil {
		_, err = f.WriteString(w.installation + "\n")
		err = errors.Join(err, syncFile("marker/sync", f))
	}
	if err == nil {
		if err = w.root.link("marker/link", tmp, MarkerName); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if removed := w.root.remove("marker/unlink", tmp); err == nil {
		err = removed
	}
	return wrap("mark working directory", w.path, errors.Join(err, w.root.syncDir(".")))
}

// Check returns an error unless the directory is (still) that of the installation, as
// part of readiness. CodeNotFound: the marker is gone, as when a file system is not
// mounted. CodeConflict: it is another's.
func (w *Work) Check() error {
	have, err := w.root.ReadFile(MarkerName)
	if err == nil {
		// The root is held open; what the path leads to now may be something else.
		have, err = os.ReadFile(filepath.Join(w.path, MarkerName))
	}
	if err != nil {
		return wrap("check working directory", filepath.Join(w.path, MarkerName), err)
	}
	if id := strings.TrimSpace(string(have)); id != w.installation {
		return &Error{Code: CodeConflict, Op: "check working directory", Key: w.path,
			Hint: "it belongs to installation " + id + ", this is " + w.installation + ": choose another working directory"}
	}
	return nil
}

// Installation returns the id of the installation to which a working directory
// belongs, "" when it has no mark.
func Installation(dir string) (string, error) {
	have, err := os.ReadFile(filepath.Join(dir, MarkerName))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(have)), wrap("read whose working directory it is", dir, err)
}

// Close frees the directory's handle.
func (w *Work) Close() error { return wrap("close", w.path, w.root.Close()) }

// Free returns how many bytes can still be written.
func (w *Work) Free() (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(w.path, &st); err != nil {
		return 0, wrap("free space", w.path, err)
	}
	return int64(st.Bavail) * st.Bsize, nil
}

// Room returns an error of CodeDiskFull when less than so many bytes can still be written.
func (w *Work) Room(bytes int64) error {
	free, err := w.Free()
	if err == nil && free < bytes {
		err = &Error{Op: "write to", Key: w.path, Code: CodeDiskFull, Err: fmt.Errorf("%d bytes are free, of which %d stay in reserve", free, bytes)}
	}
	return err
}

// Total returns how many bytes there are in all, free or not.
func (w *Work) Total() (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(w.path, &st); err != nil {
		return 0, wrap("total space", w.path, err)
	}
	return int64(st.Blocks) * st.Bsize, nil
}

// Path returns where a job works, as its configuration shows it.
func (w *Work) Path(batch domain.BatchID, job domain.JobID) string {
	return filepath.Join(w.path, string(batch), string(job))
}

// jobDir returns the job's directory below the root.
func jobDir(batch domain.BatchID, job domain.JobID) (string, error) {
	_, errB := domain.ParseBatchID(string(batch))
	_, errJ := domain.ParseJobID(string(job))
	if err := errors.Join(errB, errJ); err != nil {
		return "", &Error{Code: CodeBadName, Op: "find working directory", Key: string(batch) + "/" + string(job), Err: err}
	}
	return string(batch) + "/" + string(job), nil
}

// Remove removes all that a job has in the working directory, and its batch's
// directory with the last job. What is not there is no error.
func (w *Work) Remove(batch domain.BatchID, job domain.JobID) error {
	dir, err := jobDir(batch, job)
	if err != nil {
		return err
	}
	if err := w.root.removeAll("remove/job", dir); err != nil {
		return wrap("remove", dir, err)
	}
	err = w.root.remove("remove/batch", string(batch))
	if errors.Is(err, syscall.ENOTEMPTY) || errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return wrap("remove", string(batch), err)
}

// JobDir is the directory of a job in the working directory.
type JobDir struct {
	Batch domain.BatchID
	Job   domain.JobID
}

// List returns the directories of all jobs, ordered. The caller compares them with the
// jobs that exist.
func (w *Work) List() (all []JobDir, err error) {
	err = fs.WalkDir(w.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		_, notBatch := domain.ParseBatchID(name)
		batch, badBatch := domain.ParseBatchID(path.Dir(name))
		job, badJob := domain.ParseJobID(path.Base(name))
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".": // removed meanwhile
			return nil
		case err != nil:
			return err
		case d.IsDir() && badBatch == nil && badJob == nil:
			all = append(all, JobDir{batch, job})
			return fs.SkipDir
		case d.IsDir() && name != "." && notBatch != nil:
			return fs.SkipDir
		}
		return nil
	})
	return all, wrap("list", w.path, err)
}
