package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/accession-ingest/accession/internal/crash"
)

// tmpPrefix is where a directory keeps writes under way, and any bucket keeps
// uploads until their digest is known.
const tmpPrefix = "tmp/"

// Blob is what was stored.
type Blob struct {
	Key    string
	Size   int64  // bytes
	SHA256 string // lower-case hex
}

// Put stores r under key, in place of what was there. Readers see the old or the
// new object, never a part; on error the old one stays.
func (s *Store) Put(ctx context.Context, key string, r io.Reader) (Blob, error) {
	return s.put(ctx, key, r, false, nil, nil)
}

// PutIfAbsent stores r under key unless an object is there. An object with the
// same bytes is as good as stored; another one is CodeConflict.
func (s *Store) PutIfAbsent(ctx context.Context, key string, r io.Reader) (Blob, error) {
	return s.put(ctx, key, r, true, nil, nil)
}

// put stores r; want, when given, says what r must be. With unsynced, the object's
// entry in its directory is noted there and not on disk yet.
func (s *Store) put(ctx context.Context, key string, r io.Reader, absent bool, want *Blob, unsynced *entries) (Blob, error) {
	if err := checkKey(key); err != nil {
		return Blob{}, err
	}
	if strings.HasPrefix(key, tmpPrefix) {
		return Blob{}, &Error{Code: CodeBadKey, Op: "put", Key: key, Hint: "tmp/ is for writes under way"}
	}
	var got Blob
	var err error
	if s.dir == nil {
		got, err = s.write(ctx, key, r, absent, want)
	} else {
		tmp := newTmp()
		if got, err = s.write(ctx, tmp, r, false, want); err == nil {
			err = s.place(ctx, tmp, key, absent, unsynced)
		}
	}
	got.Key = key
	if absent && (errors.Is(err, fs.ErrExist) || gcerrors.Code(err) == gcerrors.FailedPrecondition) {
		return s.already(ctx, got, err)
	}
	if err != nil {
		return Blob{}, wrap("put", key, err)
	}
	return got, nil
}

// already settles a write that found an object at its key.
func (s *Store) already(ctx context.Context, want Blob, cause error) (Blob, error) {
	have, err := s.digest(ctx, want.Key)
	if err != nil {
		return Blob{}, err
	}
	if have != want {
		return Blob{}, &Error{Code: CodeConflict, Op: "put", Key: want.Key,
			Hint: "an object with other content is there; it was left alone", Err: cause}
	}
	return have, nil
}

// write streams r to key and counts and digests what it reads, to the end of r
// also when the bucket refuses early because key is taken. For a directory, the
// bytes are on disk before the object gets its name.
func (s *Store) write(ctx context.Context, key string, r io.Reader, absent bool, want *Blob) (Blob, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file *os.File
	crash.Point("store/put/before-write")
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType: "application/octet-stream", // else the first bytes are held back to guess it
		IfNotExist:  absent,
		BeforeWrite: func(as func(any) bool) error { as(&file); return nil },
	})
	if err != nil {
		return Blob{}, err
	}
	crash.Point("store/put/after-create")
	in := &counter{r: r, sum: sha256.New()}
	_, err = io.Copy(w, in)
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		if _, e := io.Copy(io.Discard, in); e != nil {
			err = e
		}
	}
	got := Blob{Key: key, Size: in.n, SHA256: hex.EncodeToString(in.sum.Sum(nil))}
	if err == nil {
		err = got.check(want)
	}
	if err == nil && s.dir != nil {
		if file == nil {
			err = errors.New("the driver of the directory gives no file to sync")
		} else {
			crash.Point("store/put/before-sync")
			err = file.Sync()
			crash.Point("store/put/after-sync")
		}
	}
	if err != nil {
		cancel() // before Close, which would otherwise publish what was written
		_ = w.Close()
		return got, err
	}
	return got, w.Close()
}

// check compares with what was promised; a nil want promises nothing.
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

// place gives a temporary object its key.
func (s *Store) place(ctx context.Context, tmp, key string, absent bool, unsynced *entries) error {
	var err error
	if s.dir != nil {
		err = s.dir.place(tmp, key, absent, unsynced)
	} else {
		err = s.bucket.Copy(ctx, key, tmp, nil)
	}
	if err != nil || s.dir == nil {
		// Left over, it would only take space until the next Sweep.
		_ = s.bucket.Delete(context.WithoutCancel(ctx), tmp)
	}
	return err
}

// digest reads an object and tells its size and SHA-256.
func (s *Store) digest(ctx context.Context, key string) (Blob, error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return Blob{}, err
	}
	defer func() { _ = r.Close() }()
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	if err != nil {
		return Blob{}, wrap("get", key, err)
	}
	return Blob{Key: key, Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// Sweep removes what interrupted writes left behind and that has not changed
// since before, and tells how many. Writes may go on meanwhile if before is
// further back than the longest of them takes.
func (s *Store) Sweep(ctx context.Context, before time.Time) (int, error) {
	n := 0
	for o, err := range s.list(ctx, tmpPrefix) {
		if err != nil {
			return n, err
		}
		if !o.Modified.Before(before) {
			continue
		}
		if err := s.Delete(ctx, o.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func newTmp() string { return tmpPrefix + rand.Text() }

// counter counts and digests what is read through it.
type counter struct {
	r   io.Reader
	sum hash.Hash
	n   int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.sum.Write(p[:n])
	c.n += int64(n)
	return n, err
}
