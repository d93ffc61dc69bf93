package store

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/memblob"
)

// TestCopyVersion: a copy has the same bytes under the same keys, in both layouts; what differs is
// written again, and what is wrong in the store that it comes from is not copied.
func TestCopyVersion(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, from *Store) {
		for _, layout := range []Layout{LayoutOwn, LayoutOCFL} {
			to := open(t, t.TempDir())
			v := inOCFL(1)
			v.Object, v.Layout = v.Object+string(layout), layout
			first := write(t, from, v)
			of := func(s *Store) map[string]string {
				all := map[string]string{}
				for _, prefix := range []string{VersionPrefix(v.Object, 1), OCFLRoot(v.Object)} {
					for _, key := range keys(t, s, prefix+"/") {
						all[key] = read(t, s, key)
					}
				}
				return all
			}
			whole := of(from)
			copied := func() error {
				return to.CopyVersion(t.Context(), from, v.Object, first.ManifestKey, first.ManifestSHA256)
			}
			for range 2 {
				if err := copied(); err != nil || !maps.Equal(of(to), whole) || len(whole) < 3 {
					t.Fatalf("%q: the copy has %v: %v", layout, of(to), err)
				}
			}
			for _, key := range slices.Sorted(maps.Keys(whole)) {
				if _, err := to.Put(t.Context(), key, strings.NewReader("something else")); err != nil {
					t.Fatal(err)
				}
				if err := copied(); err != nil || !maps.Equal(of(to), whole) {
					t.Errorf("%q: after %s was changed in the copy: %v", layout, key, err)
				}
			}
			if err := to.Copy(t.Context(), from, Blob{Key: "objects/nothing", Size: -1, SHA256: first.ManifestSHA256}); CodeOf(err) != CodeMismatch {
				t.Errorf("%q: of what is not there: %v", layout, err)
			}
			for _, key := range []string{whatOf(whole), first.ManifestKey} { // of the store that it comes from
				if _, err := from.Put(t.Context(), key, strings.NewReader("something else")); err != nil {
					t.Fatal(err)
				}
				if err := to.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
				if err := copied(); CodeOf(err) != CodeMismatch || of(to)[key] != "" {
					t.Errorf("%q: %s is damaged: %v", layout, key, err)
				}
			}
		}
	})
}

// whatOf returns the key of a depositor's file.
func whatOf(all map[string]string) string {
	for key := range all {
		if strings.Contains(key, "/producer/") {
			return key
		}
	}
	return ""
}

// altering is a bucket that keeps other bytes than it was sent, of the same length.
type altering struct{ driver.Bucket }

func (b altering) NewTypedWriter(ctx context.Context, key, ct string, o *driver.WriterOptions) (driver.Writer, error) {
	w, err := b.Bucket.NewTypedWriter(ctx, key, ct, o)
	return alteringWriter{w}, err
}

type alteringWriter struct{ driver.Writer }

func (w alteringWriter) Write(p []byte) (int, error) {
	return w.Writer.Write([]byte(strings.Repeat("x", len(p))))
}

// TestCopyThatIsKeptWrongly: a copy counts only once it was read back.
func TestCopyThatIsKeptWrongly(t *testing.T) {
	t.Parallel()
	from := open(t, "mem://")
	to := &Store{bucket: blob.NewBucket(altering{memDriver{memblob.OpenBucket(nil)}})}
	stored := write(t, from, sample())
	mustCode(t, to.CopyVersion(t.Context(), from, sample().Object, stored.ManifestKey, stored.ManifestSHA256), CodeMismatch)
}
