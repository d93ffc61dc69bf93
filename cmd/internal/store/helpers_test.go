package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"syscall"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"

	"github.com/accession-ingest/accession/cmd/internal/store/description"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/internal/testkit/bucket"
)

// kinds of bucket that every test of the object store runs against.
var buckets = map[string]func(t *testing.T) *Store{
	"directory": func(t *testing.T) *Store { return open(t, t.TempDir()+"/a/b/store") },
	"memory":    func(t *testing.T) *Store { return open(t, "mem://") },
	"S3": func(t *testing.T) *Store {
		return open(t, bucket.Rclone(t, "archive").Location("archive", "kept/here"))
	},
}

func eachBucket(t *testing.T, test func(t *testing.T, s *Store)) {
	t.Helper()
	for name, make := range buckets {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, make(t))
		})
	}
}

func open(t *testing.T, location string) *Store {
	t.Helper()
	s, err := Open(t.Context(), location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustCode(t *testing.T, err error, want Code) {
	t.Helper()
	if got := CodeOf(err); got != want {
		t.Fatalf("code %q (%v), want %q", got, err, want)
	}
}

func read(t *testing.T, s *Store, key string) string {
	t.Helper()
	r, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// keys lists the bucket, also what is under way in tmp/.
func keys(t *testing.T, s *Store, prefix string) []string {
	t.Helper()
	var all []string
	for it := s.bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := it.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.Key)
	}
}

func producer(name, content string) File {
	f := SystemFile(name, "text/plain", []byte(content))
	f.Kind = KindProducer
	return f
}

var testCreated = func() domain.Time {
	var t domain.Time
	if err := t.UnmarshalJSON([]byte(`"2024-05-06T07:08:09.123Z"`)); err != nil {
		panic(err)
	}
	return t
}()

func sample() Version {
	return Version{Object: "ark:/99999/fk4abc", Number: 1, Job: domain.NewJobID(7), Batch: domain.NewBatchID(3),
		Created: testCreated, LocalIDs: []string{"tide:1"},
		Files: []File{
			producer("data/tide.csv", "a;b\n"), producer("zz <&>.txt", "z"),
			SystemFile(description.ERCName, "text/plain", description.ERC{Who: "w"}.Encode()),
		}}
}

// faulty is a bucket in memory whose writes to keys with a suffix fail at the
// last moment, like those of a full disk.
type faulty struct {
	driver.Bucket
	suffix string
	err    error
}

func newFaulty(t *testing.T, suffix string, err error) (*Store, *faulty) {
	t.Helper()
	f := &faulty{Bucket: memDriver{memblob.OpenBucket(nil)}, suffix: suffix, err: err}
	s := &Store{bucket: blob.NewBucket(f)}
	t.Cleanup(func() { _ = s.Close() })
	return s, f
}

func (f *faulty) NewTypedWriter(ctx context.Context, key, ct string, o *driver.WriterOptions) (driver.Writer, error) {
	w, err := f.Bucket.NewTypedWriter(ctx, key, ct, o)
	if err == nil && f.err != nil && strings.HasSuffix(key, f.suffix) {
		return failing{w, f.err}, nil
	}
	return w, err
}

type failing struct {
	driver.Writer
	err error
}

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// memDriver turns a bucket back into a driver; only what the tests need.
type memDriver struct{ b *blob.Bucket }

var errNotNeeded = errors.New("not needed in these tests")

func (m memDriver) ErrorCode(err error) gcerrors.ErrorCode { return gcerrors.Code(err) }
func (m memDriver) As(any) bool                            { return false }
func (m memDriver) ErrorAs(error, any) bool                { return false }
func (m memDriver) Close() error                           { return m.b.Close() }

func (m memDriver) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	a, err := m.b.Attributes(ctx, key)
	if err != nil {
		return nil, err
	}
	return &driver.Attributes{Size: a.Size, ModTime: a.ModTime}, nil
}

func (m memDriver) ListPaged(ctx context.Context, o *driver.ListOptions) (*driver.ListPage, error) {
	var page driver.ListPage
	it := m.b.List(&blob.ListOptions{Prefix: o.Prefix})
	for {
		obj, err := it.Next(ctx)
		if errors.Is(err, io.EOF) {
			return &page, nil
		}
		if err != nil {
			return nil, err
		}
		page.Objects = append(page.Objects, &driver.ListObject{Key: obj.Key, Size: obj.Size, ModTime: obj.ModTime})
	}
}

type memReader struct{ *bytes.Reader }

func (memReader) Close() error { return nil }
func (r memReader) Attributes() *driver.ReaderAttributes {
	return &driver.ReaderAttributes{Size: r.Size()}
}
func (memReader) As(any) bool { return false }

func (m memDriver) NewRangeReader(ctx context.Context, key string, _, _ int64, _ *driver.ReaderOptions) (driver.Reader, error) {
	data, err := m.b.ReadAll(ctx, key)
	return memReader{bytes.NewReader(data)}, err
}

func (m memDriver) NewTypedWriter(ctx context.Context, key, ct string, o *driver.WriterOptions) (driver.Writer, error) {
	return m.b.NewWriter(ctx, key, &blob.WriterOptions{ContentType: ct, IfNotExist: o.IfNotExist})
}

func (m memDriver) Copy(ctx context.Context, dst, src string, _ *driver.CopyOptions) error {
	return m.b.Copy(ctx, dst, src, nil)
}

func (m memDriver) Delete(ctx context.Context, key string, _ *driver.DeleteOptions) error {
	return m.b.Delete(ctx, key)
}

func (m memDriver) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errNotNeeded
}

var errDiskFull = &driverError{syscall.ENOSPC}

type driverError struct{ err error }

func (e *driverError) Error() string { return "driver: " + e.err.Error() }
func (e *driverError) Unwrap() error { return e.err }
