package store

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/accession-ingest/accession/domain"
)

// Version is a version of an object to be stored. A job that is tried again must
// give the same values again, Created included.
type Version struct {
	Object   string // primary identifier
	Number   int    // from 1, reserved for the job beforehand
	Job      domain.JobID
	Batch    domain.BatchID
	Created  domain.Time
	LocalIDs []string
	Files    []File
	Deposit  *Deposit
	Base     int // the version that this one updates, 0 = none
	// Layout is how its files are laid out. It counts when the version does not exist.
	Layout Layout
}

// File is one file of a [Version].
type File struct {
	Kind     FileKind
	Name     string
	Size     int64  // bytes; the file must have as many
	SHA256   string // lower-case hex; the file must have this digest
	MimeType string // "" = application/octet-stream
	Key      string // of the bytes in an earlier version, "" = they are to be stored
	Open     func() (io.ReadCloser, error)
}

// SystemFile returns a file that Accession adds to an object.
func SystemFile(name, mimeType string, data []byte) File {
	return File{Kind: KindSystem, Name: name, MimeType: mimeType,
		Size: int64(len(data)), SHA256: hexSum(data),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}
}

// Stored is a version that exists.
type Stored struct {
	ManifestKey    string
	ManifestSHA256 string
	Files          int
	Bytes          int64
}

// WriteVersion stores a version: its files, then the storage manifest that makes
// it exist. It may be called again after any error or crash, also by several
// workers at once. A version that exists with the same job and content is
// returned as it is; one of another job, or with other content, is CodeConflict
// and stays. A file whose bytes are not as promised is CodeChanged.
func (s *Store) WriteVersion(ctx context.Context, v Version) (Stored, error) {
	m, err := v.manifest()
	if err != nil {
		return Stored{}, err
	}
	if done, err := s.settled(ctx, v.Object, v.Number, m); CodeOf(err) != CodeNotFound {
		return done, err
	}
	if v.Layout == LayoutOCFL {
		return s.writeOCFL(ctx, v, m)
	}
	key := ManifestKey(v.Object, v.Number)
	in := s.folders()
	defer in.close()
	if err := s.writeFiles(ctx, in, v.Files, m.Files); err != nil {
		return Stored{}, err
	}
	data, sha, err := m.Encode()
	if err != nil {
		return Stored{}, wrap("write version", key, err)
	}
	if _, err = s.put(ctx, key, bytes.NewReader(data), putOptions{absent: true, in: in}); err == nil {
		err = wrap("write version", key, in.sync())
	}
	if CodeOf(err) == CodeConflict {
		return s.settled(ctx, v.Object, v.Number, m)
	}
	if err != nil {
		return Stored{}, err
	}
	return Stored{ManifestKey: key, ManifestSHA256: sha, Files: len(m.Files), Bytes: m.Bytes}, nil
}

// manifest checks v and returns its storage manifest, files in the order of v.
func (v Version) manifest() (StorageManifest, error) {
	m := StorageManifest{Object: v.Object, Version: v.Number, Job: v.Job, Batch: v.Batch,
		Created: v.Created, LocalIDs: v.LocalIDs, Deposit: v.Deposit, Base: v.Base}
	bad := func(name, hint string) (StorageManifest, error) {
		return m, &Error{Code: CodeBadName, Op: "write version", Key: name, Hint: hint}
	}
	if v.Object == "" || v.Number < 1 || v.Job == "" {
		return bad(v.Object, "a version needs an identifier, a number from 1 and a job")
	}
	if len(v.Files) == 0 {
		return bad(v.Object, "a version needs at least one file")
	}
	prefix := VersionPrefix(v.Object, v.Number)
	names := make(map[FileKind][]string)
	for _, f := range v.Files {
		if f.Kind != KindProducer && f.Kind != KindSystem {
			return bad(f.Name, fmt.Sprintf("kind %q is neither producer nor system", f.Kind))
		}
		if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != 32 || f.Size < 0 {
			return bad(f.Name, "a file needs its size and its SHA-256 in hex")
		}
		names[f.Kind] = append(names[f.Kind], f.Name)
		if f.MimeType == "" {
			f.MimeType = "application/octet-stream"
		}
		m.Files = append(m.Files, StoredFile{Kind: f.Kind, Name: f.Name, Size: f.Size, SHA256: f.SHA256,
			MimeType: f.MimeType, Key: cmp.Or(f.Key, prefix+"/"+string(f.Kind)+"/"+encodePath(f.Name))})
		m.Bytes += f.Size
	}
	for _, list := range names {
		if err := checkNames(list); err != nil {
			return m, err
		}
	}
	return m, nil
}

// settled returns the version if it exists: CodeNotFound if not, and
// CodeConflict if it is not what want says.
func (s *Store) settled(ctx context.Context, object string, version int, want StorageManifest) (Stored, error) {
	have, key, sha, err := s.FindManifest(ctx, object, version)
	if err != nil {
		return Stored{}, err
	}
	if have.Job != want.Job {
		return Stored{}, &Error{Code: CodeConflict, Op: "write version", Key: key,
			Hint: fmt.Sprintf("the version was written by job %s: reserve another number for %s", have.Job, want.Job)}
	}
	if !have.same(want) {
		return Stored{}, &Error{Code: CodeConflict, Op: "write version", Key: key,
			Hint: fmt.Sprintf("job %s has stored the version with other content", have.Job)}
	}
	if strings.HasPrefix(key, OCFLPrefix) {
		err = s.SettleOCFL(ctx, object)
	}
	return Stored{ManifestKey: key, ManifestSHA256: sha, Files: len(have.Files), Bytes: have.Bytes}, err
}

// parallelFiles is how many files of a version are written or read at once: most of
// the time of a small file goes into waiting for the disk.
const parallelFiles = 16

// writeFiles stores all files, durably, and fills in their keys.
func (s *Store) writeFiles(ctx context.Context, in *folders, from []File, to []StoredFile) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelFiles)
	for i, f := range from {
		if f.Key != "" {
			continue
		}
		g.Go(func() (err error) {
			if err = ctx.Err(); err == nil {
				to[i].Key, err = s.writeFile(ctx, to[i], f.Open, in)
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return wrap("write version", "", in.sync())
}

// writeFile stores one file and returns its key. When an interrupted attempt left
// other bytes there, it takes a key with the digest: overwriting could hit
// a version that another worker of the same job has just completed.
func (s *Store) writeFile(ctx context.Context, f StoredFile, open func() (io.ReadCloser, error), in *folders) (string, error) {
	key := f.Key
	err := s.copyIn(ctx, key, f, open, in)
	if CodeOf(err) == CodeConflict {
		key += "~" + f.SHA256[:32]
		err = s.copyIn(ctx, key, f, open, in)
	}
	return key, err
}

func (s *Store) copyIn(ctx context.Context, key string, f StoredFile, open func() (io.ReadCloser, error), in *folders) error {
	r, err := open()
	if err != nil {
		return wrap("open file", f.Name, err)
	}
	defer func() { _ = r.Close() }()
	_, err = s.put(ctx, key, r, putOptions{absent: true, want: &Blob{Key: f.Name, Size: f.Size, SHA256: f.SHA256}, in: in})
	var at *Error
	if errors.As(err, &at) && at.Code == CodeMismatch {
		at.Code = CodeChanged
	}
	return err
}

// VerifyVersion reads a version back, every byte of it, and returns its manifest.
// CodeNotFound: it does not exist; CodeMismatch names the first file
// that is missing or is not what the manifest says. An object of OCFL is settled first.
func (s *Store) VerifyVersion(ctx context.Context, object string, version int) (StorageManifest, error) {
	m, key, _, err := s.FindManifest(ctx, object, version)
	if err != nil {
		return StorageManifest{}, err
	}
	if m.Object != object || m.Version != version {
		return m, &Error{Code: CodeMismatch, Op: "verify version", Key: key,
			Hint: fmt.Sprintf("the manifest is that of %s version %d", m.Object, m.Version)}
	}
	if strings.HasPrefix(key, OCFLPrefix) {
		if err := s.SettleOCFL(ctx, object); err != nil {
			return m, err
		}
	}
	errs := make([]error, len(m.Files))
	g, failed := errgroup.WithContext(ctx)
	g.SetLimit(parallelFiles)
	for i, f := range m.Files {
		if failed.Err() != nil {
			break // those before it are read to their end
		}
		g.Go(func() error { errs[i] = s.verifyFile(ctx, f); return errs[i] })
	}
	_ = g.Wait() // each file has its own error; the first of them counts
	return m, cmp.Or(cmp.Or(errs...), wrap("verify version", key, ctx.Err()))
}

func (s *Store) verifyFile(ctx context.Context, f StoredFile) error {
	have, err := s.measure(ctx, f.Key)
	if CodeOf(err) == CodeNotFound {
		return &Error{Code: CodeMismatch, Op: "verify version", Key: f.Key,
			Hint: "the file " + f.Name + " is missing: restore it from a copy of the store", Err: err}
	}
	if err != nil {
		return err
	}
	return have.check(&Blob{Key: f.Key, Size: f.Size, SHA256: f.SHA256})
}
