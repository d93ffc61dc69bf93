package store

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/accession-ingest/accession/domain"
)

// Claim is the part of the working directory into which one claim of a job
// writes. Its methods may be used by several goroutines, but for those that end it.
type Claim struct {
	work *Work
	job  string // the job's directory
	dir  string // the claim's directory
	into string // where its files go in the job's directory
	part atomic.Int64

	// They are held open, so that what is written walks no path.
	batchDir, jobDir, claimDir, parts folder
	files                             *folders // in which its complete files are until it is committed
}

// Where the complete files of a job are in its directory: those that were downloaded, and
// those of its container.
const (
	filesDir   = "/files"
	membersDir = "/members"
)

// What the directory of a claim has: files that are being written, and those that are complete.
const (
	partsName = "part"
	filesName = "files"
)

var claimID = regexp.MustCompile(`^[A-Za-z0-9-]{1,128}$`)

// Claim makes the directory of a claim, whose id (letters, digits, dashes) must
// be new; CodeConflict if it is not.
func (w *Work) Claim(batch domain.BatchID, job domain.JobID, id string) (*Claim, error) {
	return w.claim(batch, job, id, filesDir)
}

// ClaimMembers is Claim for the files of the job's container: what is committed becomes those
// that [Work.Members] opens.
func (w *Work) ClaimMembers(batch domain.BatchID, job domain.JobID, id string) (*Claim, error) {
	return w.claim(batch, job, id, membersDir)
}

func (w *Work) claim(batch domain.BatchID, job domain.JobID, id, into string) (*Claim, error) {
	dir, err := jobDir(batch, job)
	if err != nil {
		return nil, err
	}
	if !claimID.MatchString(id) {
		return nil, &Error{Code: CodeBadName, Op: "claim", Key: id, Hint: "the id of a claim has 1 to 128 letters, digits and dashes"}
	}
	c := &Claim{work: w, job: dir, dir: dir + "/claim-" + id, into: into}
	if err := c.begin(); err != nil {
		c.Close()
		return nil, wrap("claim", c.dir, err)
	}
	return c, nil
}

// begin makes its directories, and opens them.
func (c *Claim) begin() (err error) {
	if c.batchDir, err = c.work.batchDir(path.Dir(c.job)); err != nil {
		return err
	}
	if err = c.batchDir.mkdir("claim/job-directory", path.Base(c.job)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if c.jobDir, err = c.batchDir.folder(path.Base(c.job)); err != nil {
		return err
	}
	if err := c.jobDir.mkdir("claim/directory", path.Base(c.dir)); err != nil {
		return err
	}
	if c.claimDir, err = c.jobDir.folder(path.Base(c.dir)); err != nil {
		return err
	}
	for _, name := range []string{partsName, filesName} {
		if err := c.claimDir.mkdir("claim/own-directory", name); err != nil {
			return err
		}
	}
	if c.parts, err = c.claimDir.folder(partsName); err != nil {
		return err
	}
	files, err := c.claimDir.folder(filesName)
	if err == nil {
		c.files = foldersIn(files)
	}
	return err
}

// batchDir opens the directory of a batch, which it makes if need be.
func (w *Work) batchDir(batch string) (is folder, err error) {
	if is.File, err = w.root.Open(batch); !errors.Is(err, fs.ErrNotExist) {
		return is, err
	}
	if err = w.root.mkdir("claim/batch-directory", batch); err == nil || errors.Is(err, fs.ErrExist) {
		is.File, err = w.root.Open(batch)
	}
	return is, err
}

// Commit makes the files of this claim those of the job, durably, and ends the
// claim. CodeConflict: another claim of the job has been committed; verify those
// files and use them, or Discard them first.
func (c *Claim) Commit() error {
	err := c.files.sync()
	if err == nil {
		err = c.claimDir.rename("win/rename", filesName, c.jobDir, path.Base(c.into))
	}
	if err == nil {
		err = c.jobDir.sync()
	}
	if err == nil {
		err = c.batchDir.sync()
	}
	if err == nil {
		err = c.work.root.syncDir(".")
	}
	if err != nil {
		return wrap("commit", c.dir, err)
	}
	return c.Abandon()
}

// Abandon removes what the claim has written, and closes it. It may be called after Commit.
func (c *Claim) Abandon() error {
	defer c.Close()
	return wrap("abandon", c.dir, c.work.root.removeAll("claim/abandon", c.dir))
}

// Close frees its handles, and leaves what it has written to a successor.
func (c *Claim) Close() {
	for _, is := range []folder{c.batchDir, c.jobDir, c.claimDir, c.parts} {
		if is.File != nil {
			_ = is.Close()
		}
	}
	c.files.close()
}

// Files are the files of a job, complete.
type Files struct{ root *os.Root }

// Files opens the files of the committed claim. CodeNotFound if there is none. The caller closes it.
func (w *Work) Files(batch domain.BatchID, job domain.JobID) (*Files, error) {
	return w.files(batch, job, filesDir)
}

// Members is Files for the files of the job's container.
func (w *Work) Members(batch domain.BatchID, job domain.JobID) (*Files, error) {
	return w.files(batch, job, membersDir)
}

func (w *Work) files(batch domain.BatchID, job domain.JobID, which string) (*Files, error) {
	dir, err := jobDir(batch, job)
	if err != nil {
		return nil, err
	}
	root, err := w.root.OpenRoot(dir + which)
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

// Close frees the handle.
func (f *Files) Close() error { return f.root.Close() }

// Discard removes the files of the committed claim, so that another can be committed.
func (w *Work) Discard(batch domain.BatchID, job domain.JobID) error {
	return w.discard(batch, job, filesDir)
}

// DiscardMembers is Discard for the files of the job's container.
func (w *Work) DiscardMembers(batch domain.BatchID, job domain.JobID) error {
	return w.discard(batch, job, membersDir)
}

func (w *Work) discard(batch domain.BatchID, job domain.JobID, which string) error {
	dir, err := jobDir(batch, job)
	if err != nil {
		return err
	}
	// Renamed first: a crash half-way must not leave a part that looks complete.
	old := dir + "/discarded-" + rand.Text()
	err = w.root.rename("discard/rename", dir+which, old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = errors.Join(w.root.syncDir(dir), w.root.removeAll("discard/remove", old))
	}
	return wrap("discard", dir, err)
}

// Left is what a claim that has ended, or whose worker is gone, has left behind. A
// successor reads it; the worker may still be writing, so what is read must be
// measured.
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
	return wrap("remove", l.dir, l.work.root.removeAll("left/remove", l.dir))
}
