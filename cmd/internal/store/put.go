package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/crash"
)

// tmpPrefix is where a directory keeps writes under way.
const tmpPrefix = "tmp/"

// stagePrefix begins the keys of versions that are written there as a whole.
const stagePrefix = tmpPrefix + "ocfl-"

// contentType is that of every object: without one the first bytes are held back to guess it.
const contentType = "application/octet-stream"

// Blob is what was stored.
type Blob struct {
	Key    string
	Size   int64  // bytes
	SHA256 string // lower-case hex
}

// Put stores r under key, in place of what was there. Readers see the old or the
// new object, never a part; on error the old one stays.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) (Blob, error) {
	return s.put(ctx, key, r, putOptions{})
}

// PutIfAbsent stores r under key unless an object is there. An object with the
// same bytes is as good as stored; another one is CodeConflict.
func (s *Store) PutIfAbsent(ctx context.Context, key string, r io.Reader) (Blob, error) {
	return s.put(ctx, key, r, putOptions{absent: true})
}

type putOptions struct {
	absent bool  // an object that is there stays
	want   *Blob // what r must be, nil = anything
	// in are the directories of a directory; nil = the object is on disk at once, not when
	// they are synced.
	in *folders
}

func (s *Store) put(ctx context.Context, key string, r io.Reader, o putOptions) (Blob, error) {
	if err := checkKey(key); err != nil {
		return Blob{}, err
	}
	if strings.HasPrefix(key, tmpPrefix) && !strings.HasPrefix(key, stagePrefix) {
		return Blob{}, &Error{Code: CodeBadKey, Op: "put", Key: key, Hint: "tmp/ is for writes under way"}
	}
	if o.absent {
		if err := s.provesConditions(ctx); err != nil {
			return Blob{}, wrap("put", key, err)
		}
	}
	var got Blob
	var err error
	if s.dir == nil {
		got, err = s.write(ctx, key, r, o)
	} else {
		got, err = s.dir.put(ctx, r, o, func(Blob) string { return key })
	}
	got.Key = key
	if o.absent && (errors.Is(err, fs.ErrExist) || gcerrors.Code(err) == gcerrors.FailedPrecondition) {
		return s.existing(ctx, got, err)
	}
	if err != nil {
		return Blob{}, wrap("put", key, err)
	}
	return got, nil
}

// existing returns the object that a write found at its key, which must be the same.
func (s *Store) existing(ctx context.Context, want Blob, cause error) (Blob, error) {
	have, err := s.measure(ctx, want.Key)
	if err == nil && have != want {
		err = &Error{Code: CodeConflict, Op: "put", Key: want.Key, Hint: "an object with other content is there; it was left alone", Err: cause}
	}
	return have, err
}

// write streams r to key of a bucket that is no directory and measures it, to the end of r also
// when the bucket refuses early because key is taken.
func (s *Store) write(ctx context.Context, key string, r io.Reader, o putOptions) (Blob, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var w *blob.Writer
	err := crash.Around("store/bucket/put", func() (err error) {
		w, err = s.bucket.NewWriter(ctx, key, &blob.WriterOptions{ContentType: contentType, IfNotExist: o.absent})
		return err
	})
	if err != nil {
		return Blob{}, err
	}
	m := newMeter()
	if err = crash.DiskFull(crash.StoreDisk); err == nil {
		_, err = io.Copy(w, io.TeeReader(r, m))
	}
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		if _, e := io.Copy(m, r); e != nil {
			err = e
		}
	}
	got := m.blob(key)
	if err == nil {
		err = got.check(o.want)
	}
	if err != nil {
		cancel() // before Close, which would otherwise publish what was written
		_ = w.Close()
		return got, err
	}
	return got, w.Close()
}

// check returns CodeMismatch unless b is what was promised; a nil want promises
// nothing.
func (b Blob) check(want *Blob) error {
	switch {
	case want == nil:
		return nil
	case b.Size != want.Size:
		return &Error{Code: CodeMismatch, Op: "check size", Key: want.Key,
			Hint: fmt.Sprintf("expected %d bytes, got %d", want.Size, b.Size)}
	case b.SHA256 != want.SHA256:
		return &Error{Code: CodeMismatch, Op: "check digest", Key: want.Key,
			Hint: fmt.Sprintf("expected SHA-256 %s, got %s", want.SHA256, b.SHA256)}
	}
	return nil
}

// measure reads an object and returns its size and SHA-256.
func (s *Store) measure(ctx context.Context, key string) (Blob, error) {
	return s.Measure(ctx, key, func(r io.Reader) io.Reader { return r })
}

// Measure reads an object through a reader of the caller's, such as one that limits the
// bandwidth, and returns its size and SHA-256.
func (s *Store) Measure(ctx context.Context, key string, through func(io.Reader) io.Reader) (Blob, error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return Blob{}, err
	}
	defer func() { _ = r.Close() }()
	got, err := measured(through(r), nil)
	got.Key = key
	return got, wrap("get", key, err)
}

// buffers are for copying: one of its own for each small file would take much longer than the file.
var buffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// measured reads r to its end, copies it, nil = nowhere, and measures it.
func measured(r io.Reader, to io.Writer) (Blob, error) {
	m := newMeter()
	var w io.Writer = m
	if to != nil {
		w = io.MultiWriter(to, m)
	}
	b, _ := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	_, err := io.CopyBuffer(w, struct{ io.Reader }{r}, *b) // no WriterTo, which would make a buffer
	return m.blob(""), err
}

func newTmp() string { return tmpPrefix + rand.Text() }

// meter counts and digests what is written to it.
type meter struct {
	sum hash.Hash
	n   int64
}

func newMeter() *meter { return &meter{sum: sha256.New()} }

func (m *meter) Write(p []byte) (int, error) {
	m.n += int64(len(p))
	return m.sum.Write(p)
}

func (m *meter) blob(key string) Blob {
	return Blob{Key: key, Size: m.n, SHA256: hex.EncodeToString(m.sum.Sum(nil))}
}

// KeepUpload stores an uploaded payload and returns the URL under which it can be
// deposited. The same bytes under the same name give the same URL. The name is
// one part, without slashes. A bucket that is no directory has r read twice: its key has the digest.
func (s *Store) KeepUpload(ctx context.Context, name string, r io.ReadSeeker) (string, Blob, error) {
	if err := CheckName(name); err != nil {
		return "", Blob{}, err
	}
	if strings.Contains(name, "/") {
		return "", Blob{}, &Error{Code: CodeBadName, Op: "keep upload", Key: name, Hint: "send the name of the file without its directory"}
	}
	keyOf := func(sha256 string) string {
		return "uploads/" + sha256[:2] + "/" + sha256 + "/" + encodeSegment(name)
	}
	// What is there already has the same bytes: the key has their digest.
	got, err := s.keep(ctx, keyOf, r)
	if err != nil {
		return "", Blob{}, wrap("keep upload", name, err)
	}
	return URL(got.Key), got, nil
}

// keep stores r under a key that has its digest.
func (s *Store) keep(ctx context.Context, keyOf func(sha256 string) string, r io.ReadSeeker) (got Blob, err error) {
	if s.dir != nil {
		return s.dir.put(ctx, r, putOptions{}, func(b Blob) string { return keyOf(b.SHA256) })
	}
	m := newMeter()
	if _, err = io.Copy(m, r); err == nil {
		_, err = r.Seek(0, io.SeekStart)
	}
	if err != nil {
		return got, err
	}
	want := m.blob("")
	want.Key = keyOf(want.SHA256)
	return s.put(ctx, want.Key, r, putOptions{want: &want})
}

// KeepManifest stores the copy of a manifest from which a batch is listed, under a name
// with this extension.
func (s *Store) KeepManifest(ctx context.Context, batch domain.BatchID, extension string, data []byte) (Blob, error) {
	if _, err := domain.ParseBatchID(string(batch)); err != nil {
		return Blob{}, &Error{Code: CodeBadKey, Op: "keep manifest", Key: string(batch), Err: err}
	}
	key := "manifests/" + string(batch) + "/" + hexSum(data) + extension
	return s.PutIfAbsent(ctx, key, bytes.NewReader(data))
}
