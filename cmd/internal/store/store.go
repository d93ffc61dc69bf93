package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/s3blob"
	"gocloud.dev/gcerrors"

	"github.com/accession-ingest/accession/internal/crash"
)

// Store is an object store. Its methods may be used by several goroutines, and
// several processes may open the same bucket.
type Store struct {
	bucket *blob.Bucket
	dir    *dir   // nil unless the bucket is a directory
	free   func() // frees what the bucket holds, nil = nothing
	// unproven is set until the service of the bucket has refused what is there already.
	unproven atomic.Bool
	// declared is set once the bucket is known to be a storage root of OCFL.
	declared atomic.Bool
	recent   recent
}

// Info describes an object without reading it.
type Info struct {
	Key      string
	Size     int64 // bytes
	Modified time.Time
}

// Open opens the bucket at location: a directory (a path, or a file:// URL
// without a query), which is created when it is not there, or the URL of a
// bucket whose driver is linked in.
func Open(ctx context.Context, location string) (*Store, error) {
	folder, ok, err := directory(location)
	if err != nil {
		return nil, err
	}
	if !ok {
		b, free, err := openBucket(ctx, location)
		if err != nil {
			// The cause repeats the URL, which may hold secrets.
			return nil, &Error{Code: CodeBroken, Op: "open", Key: redact(location),
				Hint: "check its parameters (s3://BUCKET/PREFIX?endpoint=URL&region=R&profile=NAME), and that its scheme is one of file, " + strings.Join(blob.DefaultURLMux().BucketSchemes(), ", ")}
		}
		s := &Store{bucket: b, free: free}
		s.unproven.Store(strings.HasPrefix(location, s3blob.Scheme+"://"))
		return s, nil
	}
	d, err := openDir(folder)
	if err != nil {
		return nil, wrap("open", folder, err)
	}
	// Temporary files must be on the same file system, and side files would be
	// written without being synced.
	b, err := fileblob.OpenBucket(folder, &fileblob.Options{NoTempDir: true, DirFileMode: privateDir, Metadata: fileblob.MetadataDontWrite})
	if err != nil {
		_ = d.root.Close()
		return nil, wrap("open", folder, err)
	}
	return &Store{bucket: b, dir: d}, nil
}

// directory returns the directory that location names; ok is false for another
// bucket.
func directory(location string) (folder string, ok bool, err error) {
	if strings.Contains(location, "://") {
		u, err := url.Parse(location)
		switch {
		case err != nil:
			return "", false, &Error{Code: CodeBroken, Op: "open", Key: "object store",
				Hint: "its location is not a URL; write a directory or a URL such as file:///srv/accession/store"}
		case u.Scheme != "file":
			return "", false, nil
		case u.Host != "" && u.Host != "localhost", u.RawQuery != "", u.Path == "":
			return "", false, &Error{Code: CodeBroken, Op: "open", Key: redact(location),
				Hint: "write file:// and an absolute path, without host and query"}
		}
		location = u.Path
	}
	if location == "" {
		return "", false, &Error{Code: CodeBroken, Op: "open", Key: location, Hint: "name a directory or a bucket URL"}
	}
	folder, err = filepath.Abs(location)
	return folder, err == nil, wrap("open", location, err)
}

// redact returns a bucket URL without what may be secret.
func redact(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Opaque != "" || strings.Contains(u.Path, "@") {
		return "object store"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// Close frees what the store holds. Operations under way end first.
func (s *Store) Close() error {
	err := s.bucket.Close()
	if s.dir != nil {
		err = errors.Join(err, s.dir.root.Close())
	}
	if s.free != nil {
		s.free()
	}
	return wrap("close", "", err)
}

// Check returns an error unless the bucket can be reached, as part of readiness.
func (s *Store) Check(ctx context.Context) error {
	if s.dir != nil {
		return wrap("check", "", s.dir.check())
	}
	there, err := s.bucket.IsAccessible(ctx)
	if err == nil && !there {
		err = fs.ErrNotExist
	}
	return wrap("check", "", err)
}

// Get reads an object. The caller closes it. CodeNotFound if there is none.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if s.dir != nil {
		f, err := s.dir.open(key)
		if err != nil {
			return nil, wrap("get", key, err)
		}
		return f, nil
	}
	r, err := s.bucket.NewReader(ctx, key, nil)
	if err != nil {
		return nil, wrap("get", key, err)
	}
	return r, nil
}

// Stat describes an object. CodeNotFound if there is none.
func (s *Store) Stat(ctx context.Context, key string) (Info, error) {
	if err := checkKey(key); err != nil {
		return Info{}, err
	}
	if s.dir != nil {
		is, err := s.dir.stat(key)
		if err != nil {
			return Info{}, wrap("stat", key, err)
		}
		return Info{Key: key, Size: is.Size(), Modified: is.ModTime()}, nil
	}
	a, err := s.bucket.Attributes(ctx, key)
	if err != nil {
		return Info{}, wrap("stat", key, err)
	}
	return Info{Key: key, Size: a.Size, Modified: a.ModTime}, nil
}

// Delete removes an object. Removing what is not there is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := crash.Around("store/delete/remove", func() error { return s.bucket.Delete(ctx, key) })
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	if err == nil && s.dir != nil {
		err = s.dir.root.syncDir(path.Dir(key))
	}
	return wrap("delete", key, err)
}

// List returns the objects whose keys start with prefix, "" for all, ordered by
// key. An object that is put or deleted meanwhile may be among them or not. It ends
// after the first error.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if prefix != "" {
			// The last part may be any beginning of one, also the empty one.
			if err := checkKey(prefix + "x"); err != nil {
				yield(Info{}, err)
				return
			}
		}
		last := ""
		it := s.bucket.List(&blob.ListOptions{Prefix: prefix})
		for {
			o, err := it.Next(ctx)
			switch {
			case errors.Is(err, io.EOF):
				return
			case gcerrors.Code(err) == gcerrors.NotFound && ctx.Err() == nil:
				// A directory is listed by name first; one of its files was deleted
				// before it was looked at.
				it = s.bucket.List(&blob.ListOptions{Prefix: prefix})
			case err != nil:
				yield(Info{}, wrap("list", prefix, err))
				return
			case o.Key <= last || strings.HasPrefix(o.Key, tmpPrefix):
			case !yield(Info{Key: o.Key, Size: o.Size, Modified: o.ModTime}, nil):
				return
			default:
				last = o.Key
			}
		}
	}
}
