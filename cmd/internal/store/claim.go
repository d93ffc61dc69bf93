package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"sync/atomic"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// Claim is the part of the working directory into which one claim of a job
// writes. Its methods may be used by several goroutines.
type Claim struct {
	work *Work
	job  string // the job's directory
	dir  string // the claim's directory
	part atomic.Int64
}

var claimID = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)

// Claim makes the directory of a claim, whose id (letters, digits, dashes) must
// be new; CodeConflict if it is not.
func (w *Work) Claim(batch domain.BatchID, job domain.JobID, id string) (*Claim, error) {
	dir, err := jobDir(batch, job)
	if err != nil {
		return nil, err
	}
	if !claimID.MatchString(id) {
		return nil, &Error{Code: CodeBadName, Op: "claim", Key: id, Hint: "the id of a claim has 1 to 128 letters, digits and dashes"}
	}
	c := &Claim{work: w, job: dir, dir: dir + "/claim-" + id}
	crash.Point("store/claim/before-directories")
	err = w.root.MkdirAll(dir, 0o777)
	for _, d := range []string{c.dir, c.dir + "/part", c.dir + "/files"} {
		crash.Point("store/claim/between-directories")
		if err == nil {
			err = w.root.Mkdir(d, 0o777)
		}
	}
	crash.Point("store/claim/after-directories")
	if err != nil {
		return nil, wrap("claim", c.dir, err)
	}
	return c, nil
}

// Partial is a file being downloaded, under a temporary name.
type Partial struct {
	file      *os.File
	claim     *Claim
	tmp, name string
}

// Create starts the file name. The caller ends with Commit or Abort.
func (c *Claim) Create(name string) (*Partial, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	tmp := fmt.Sprintf("%s/part/%d", c.dir, c.part.Add(1))
	crash.Point("store/part/before-create")
	f, err := c.work.root.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	crash.Point("store/part/after-create")
	if err != nil {
		return nil, wrap("create", name, err)
	}
	return &Partial{file: f, claim: c, tmp: tmp, name: name}, nil
}

// Write implements io.Writer; a full disk is CodeDiskFull.
func (p *Partial) Write(b []byte) (int, error) {
	if err := crash.DiskFull(); err != nil { // what still fits is there
		n, _ := p.file.Write(b[:len(b)/2])
		return n, wrap("write", p.name, err)
	}
	n, err := p.file.Write(b)
	return n, wrap("write", p.name, err)
}

// Commit puts the file on disk and gives it its name, in place of an earlier try
// of the same claim.
func (p *Partial) Commit() error {
	root := p.claim.work.root
	crash.Point("store/part/before-sync")
	err := errors.Join(p.file.Sync(), p.file.Close())
	crash.Point("store/part/after-sync")
	final := p.claim.dir + "/files/" + p.name
	if err == nil {
		err = root.MkdirAll(path.Dir(final), 0o777)
	}
	crash.Point("store/part/before-rename")
	if err == nil {
		err = root.Rename(p.tmp, final)
	}
	crash.Point("store/part/after-rename")
	if err != nil {
		_ = root.Remove(p.tmp)
	}
	return wrap("commit", p.name, err)
}

// Abort throws the file away.
func (p *Partial) Abort() {
	_ = p.file.Close()
	_ = p.claim.work.root.Remove(p.tmp)
}

// Win makes the files of this claim those of the job, durably, and ends the
// claim. CodeConflict: an earlier claim of the job has done so; verify those
// files and go on with them, or Discard them first.
func (c *Claim) Win() error {
	root := c.work.root
	err := fs.WalkDir(root.FS(), c.dir+"/files", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = syncIn(root, name)
		}
		return err
	})
	crash.Point("store/win/before-rename")
	if err == nil {
		err = root.Rename(c.dir+"/files", c.job+"/files")
	}
	crash.Point("store/win/after-rename")
	for _, d := range []string{c.job, path.Dir(c.job), "."} {
		if err == nil {
			err = syncIn(root, d)
		}
	}
	if err != nil {
		return wrap("win", c.dir, err)
	}
	return c.Abandon()
}

// Abandon removes what the claim has written. It may be called after Win.
func (c *Claim) Abandon() error {
	crash.Point("store/claim/before-abandon")
	err := c.work.root.RemoveAll(c.dir)
	crash.Point("store/claim/after-abandon")
	return wrap("abandon", c.dir, err)
}

// Files are the files of a job, complete.
type Files struct{ root *os.Root }

// Files opens what the winning claim has put into place. CodeNotFound if none
// has. The caller closes it.
func (w *Work) Files(batch domain.BatchID, job domain.JobID) (*Files, error) {
	dir, err := jobDir(batch, job)
	if err != nil {
		return nil, err
	}
	root, err := w.root.OpenRoot(dir + "/files")
	if err != nil {
		return nil, wrap("open files", dir, err)
	}
	return &Files{root: root}, nil
}

// Open reads the file name. CodeNotFound if the job has none of that name.
func (f *Files) Open(name string) (*os.File, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	file, err := f.root.Open(name)
	return file, wrap("open", name, err)
}

// FS gives the files for reading, such as for a walk over all of them.
func (f *Files) FS() fs.FS { return f.root.FS() }

// Close frees the handle.
func (f *Files) Close() error { return f.root.Close() }

// Discard removes the files that a winning claim has put into place, so that
// another can win.
func (w *Work) Discard(batch domain.BatchID, job domain.JobID) error {
	dir, err := jobDir(batch, job)
	if err != nil {
		return err
	}
	// Renamed first: a crash half-way must not leave a part that looks complete.
	old := fmt.Sprintf("%s/discarded-%s", dir, newTmp()[len(tmpPrefix):])
	crash.Point("store/discard/before-rename")
	err = w.root.Rename(dir+"/files", old)
	crash.Point("store/discard/after-rename")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(syncIn(w.root, dir), w.root.RemoveAll(old))
	}
	crash.Point("store/discard/after-remove")
	return wrap("discard", dir, err)
}
