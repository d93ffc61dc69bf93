package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"

	"github.com/accession-ingest/accession/internal/crash"
)

// Partial is a file being downloaded, under a temporary name.
type Partial struct {
	file       *os.File
	root       root
	claim      *Claim // nil = it is of a file without a job
	tmp, final string // paths below the root
	name       string // for errors; below the files of the claim
	begun      string // path of what stays of it when its transfer is cut off
	linked     bool   // that is a name of this file
	had        bool   // there is something at that path
}

// Note says what is there of a file whose transfer was cut off, and of which content it is.
type Note struct {
	Bytes     int64  `json:"bytes"`     // from the start of the file
	SHA256    string `json:"sha256"`    // of them
	Source    string `json:"source"`    // of which the file is, as the caller names it
	Validator string `json:"validator"` // of the content, as its server names it
	Size      int64  `json:"size"`      // of the whole, -1 = unknown
}

// begunDir has the beginnings of the files of a job, by the digests of their names, each with its
// note.
const (
	begunDir = "/begun"
	noteFile = ".json"
	newNote  = ".new"
)

// Create starts the file name. The caller ends with Commit or Abort.
func (c *Claim) Create(name string) (*Partial, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	part := strconv.FormatInt(c.part.Add(1), 10)
	f, err := c.parts.create("part/create", part)
	if err != nil {
		return nil, wrap("create", name, err)
	}
	sum := sha256.Sum256([]byte(name))
	return &Partial{file: f, root: c.work.root, claim: c, tmp: c.dir + "/" + partsName + "/" + part, name: name,
		begun: c.job + begunDir + "/" + hex.EncodeToString(sum[:])}, nil
}

// Write implements io.Writer; a full disk is CodeDiskFull.
func (p *Partial) Write(b []byte) (int, error) {
	if err := crash.DiskFull(crash.WorkDisk); err != nil { // what still fits is there
		n, _ := p.file.Write(b[:len(b)/2])
		return n, wrap("write", p.name, err)
	}
	n, err := p.file.Write(b)
	return n, wrap("write", p.name, err)
}

// Commit puts the file on disk and gives it its name, in place of an earlier try
// of the same claim.
func (p *Partial) Commit() error {
	err := syncFile("part/sync", p.file)
	if err == nil {
		err = p.complete()
	}
	if err != nil {
		_ = p.root.Remove(p.tmp)
	} else {
		_ = p.Forget() // it is removed with the job in any case
	}
	return wrap("commit", p.name, err)
}

// complete puts a file that is on disk under its name.
func (p *Partial) complete() error {
	if p.claim == nil {
		if err := p.root.mkdirAll("local/content-directory", path.Dir(p.final)); err != nil {
			return err
		}
		return p.root.rename("local/rename", p.tmp, p.final)
	}
	in, files := path.Dir(p.name), p.claim.files
	return files.in(in, func(to folder) error {
		err := p.claim.parts.rename("part/rename", path.Base(p.tmp), to, path.Base(p.name))
		if err == nil {
			files.enters(in)
		}
		return err
	})
}

// Abort removes the file. What was noted of it stays.
func (p *Partial) Abort() {
	_ = p.file.Close()
	_ = p.root.Remove(p.tmp)
}

// Note keeps what was written, so that another attempt can go on from there, also after the death
// of this process. Nothing of it is put on disk: the reader compares its digest.
func (p *Partial) Note(n Note) error {
	data, err := json.Marshal(n)
	if err == nil && !p.linked {
		err = p.link()
	}
	if err == nil {
		err = crash.Around("store/begun/write", func() error { return p.root.WriteFile(p.begun+newNote, data, privateFile) })
	}
	if err == nil {
		err = p.root.rename("begun/note", p.begun+newNote, p.begun+noteFile)
	}
	return wrap("note", p.name, err)
}

// link adds the name under which the file stays, in place of an earlier beginning.
func (p *Partial) link() error {
	err := p.root.mkdirAll("begun/directory", path.Dir(p.begun))
	if err == nil {
		err = p.Forget()
	}
	if err == nil {
		err = p.root.link("begun/link", p.tmp, p.begun)
	}
	p.linked, p.had = err == nil, true
	return err
}

// Beginning opens what an earlier attempt has noted of the file, false = nothing. A worker that
// has lost its claim may still be writing, so what is read must be measured.
func (p *Partial) Beginning() (from io.ReadCloser, n Note, ok bool) {
	if p.claim != nil && p.claim.jobDir.lacks(path.Base(begunDir)) {
		return nil, n, false // nothing was begun for its job
	}
	data, err := p.root.ReadFile(p.begun + noteFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, n, false
	}
	p.had = true
	if err != nil || json.Unmarshal(data, &n) != nil || n.Bytes <= 0 {
		return nil, n, false
	}
	f, err := p.root.Open(p.begun)
	if err != nil {
		return nil, n, false
	}
	return f, n, true
}

// Forget removes what was noted of the file.
func (p *Partial) Forget() error {
	if !p.linked && !p.had {
		return nil
	}
	for _, name := range []string{p.begun + noteFile, p.begun} {
		if err := p.root.remove("begun/forget", name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return wrap("forget", p.name, err)
		}
	}
	p.linked, p.had = false, false
	return nil
}

// Restart makes the file empty, and forgets what was noted of it.
func (p *Partial) Restart() error {
	_, err := p.file.Seek(0, io.SeekStart)
	return wrap("start again", p.name, errors.Join(p.Forget(), err, p.file.Truncate(0)))
}
