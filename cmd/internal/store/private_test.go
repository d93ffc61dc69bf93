package store

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestWhatIsStoredIsPrivate: manifests and uploads hold signed URLs; only the user of the
// service reads them, whatever the umask allows.
// Shows: P14
func TestWhatIsStoredIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "store")
	s, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.KeepManifest(t.Context(), domain.NewBatchID(1), ".checkm", []byte("http://h/a?token=s3cret")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.KeepUpload(t.Context(), "a.txt", strings.NewReader("a")); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	work, err := OpenWork(filepath.Join(t.TempDir(), "b", "work"), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer work.Close()
	for _, top := range []string{filepath.Dir(dir), filepath.Join(work.Path(domain.NewBatchID(1), domain.NewJobID(1)), "..", "..", "..")} {
		n := 0
		err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := os.Lstat(path)
			if n++; err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has the mode %s", path, info.Mode())
			}
			return err
		})
		if err != nil || n < 2 {
			t.Errorf("%s: %d entries, %v", top, n, err)
		}
	}
}
