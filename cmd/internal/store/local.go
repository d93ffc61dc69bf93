package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/accession-ingest/accession/domain"
)

// Local is what a working directory has of files without a job:
//
//	files/HH/HASH/SHA256      complete; HH are the first digits of HASH
//	files/part/HASH.FENCE     what an attempt downloads
//	files/begun/HASH          what stays when its transfer is cut off, with a note
//	files/quarantine/HASH.VERSION
//
// A complete file has the digest of its content as its name, so that no attempt that was given
// up replaces what a later one has brought.
type Local struct{ root root }

// Local returns what the working directory has of files without a job.
func (w *Work) Local() Local { return Local{w.root} }

const (
	localDir      = "files"
	localPart     = localDir + "/part"
	localDamaged  = localDir + "/quarantine"
	localCrowding = 2 // digits of a hash that have a directory of their own
)

// localOf returns the directory of a file below the root.
func localOf(hash domain.FileHash) (string, error) {
	if _, err := domain.ParseFileHash(string(hash)); err != nil {
		return "", &Error{Code: CodeBadName, Op: "find the file", Key: string(hash), Err: err}
	}
	return localDir + "/" + string(hash[:localCrowding]) + "/" + string(hash), nil
}

// localFile returns the path of the content of a file below the root.
func localFile(hash domain.FileHash, sha256 string) (string, error) {
	dir, err := localOf(hash)
	if _, bad := domain.ParseFileHash(sha256); err == nil && bad != nil {
		err = &Error{Code: CodeBadName, Op: "find the file", Key: string(hash), Err: errors.New("its SHA-256 is not known")}
	}
	return dir + "/" + sha256, err
}

// Create starts the download of a file by the attempt with a fence, and removes what earlier
// attempts left half done. The caller ends with Keep or Abort.
func (l Local) Create(hash domain.FileHash, fence int64) (*Partial, error) {
	if _, err := localOf(hash); err != nil {
		return nil, err
	}
	err := l.root.mkdirAll("local/directory", localPart)
	if err == nil {
		err = l.removeParts(hash)
	}
	tmp := fmt.Sprintf("%s/%s.%d", localPart, hash, fence)
	var f *os.File
	if err == nil {
		f, err = l.root.create("local/create", tmp)
	}
	if err != nil {
		return nil, wrap("create", string(hash), err)
	}
	return &Partial{file: f, root: l.root, tmp: tmp, name: string(hash), begun: localDir + begunDir + "/" + string(hash)}, nil
}

// removeParts removes what attempts at a file left half done.
func (l Local) removeParts(hash domain.FileHash) error {
	entries, err := fs.ReadDir(l.root.FS(), localPart)
	for _, e := range entries {
		if err == nil && strings.HasPrefix(e.Name(), string(hash)+".") {
			if err = l.root.remove("local/left", localPart+"/"+e.Name()); errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
		}
	}
	return err
}

// Keep puts a file on disk that was written, by the SHA-256 of its content.
func (l Local) Keep(p *Partial, hash domain.FileHash, sha256 string) error {
	final, err := localFile(hash, sha256)
	if err != nil {
		p.Abort()
		return err
	}
	p.final = final
	if err := p.Commit(); err != nil {
		return err
	}
	for dir := path.Dir(final); err == nil && dir != "."; dir = path.Dir(dir) {
		err = l.root.syncDir(dir)
	}
	return wrap("keep", string(hash), errors.Join(err, l.root.syncDir(".")))
}

// Open reads the content of a file. CodeNotFound if it is not there.
func (l Local) Open(hash domain.FileHash, sha256 string) (*os.File, error) {
	name, err := localFile(hash, sha256)
	if err != nil {
		return nil, err
	}
	f, err := l.root.Open(name)
	return f, wrap("open", string(hash), err)
}

// Contents returns the SHA-256 of each content that is there of a file, as their names say:
// the caller compares the one that it takes.
func (l Local) Contents(hash domain.FileHash) (digests []string, err error) {
	dir, err := localOf(hash)
	if err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(l.root.FS(), dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if _, bad := domain.ParseFileHash(e.Name()); bad == nil {
			digests = append(digests, e.Name())
		}
	}
	return digests, wrap("list", string(hash), err)
}

// Path returns where the content of a file is, for those who give it to a command.
func (l Local) Path(hash domain.FileHash, sha256 string) (string, error) {
	name, err := localFile(hash, sha256)
	return filepath.Join(l.root.Name(), filepath.FromSlash(name)), err
}

// Quarantine puts a damaged content away for a person to look at, and returns where, "" = it is
// not there. version is that of the file's last event.
func (l Local) Quarantine(hash domain.FileHash, sha256 string, version int64) (where string, err error) {
	name, err := localFile(hash, sha256)
	if err != nil {
		return "", err
	}
	to := fmt.Sprintf("%s/%s.%d", localDamaged, hash, version)
	if err = l.root.mkdirAll("local/quarantine-directory", localDamaged); err == nil {
		err = l.root.rename("local/quarantine", name, to)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return filepath.Join(l.root.Name(), filepath.FromSlash(to)), wrap("put away", string(hash), err)
}
