package store

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWorkFiles: a job's own files are listed by name, up to a limit.
func TestWorkFiles(t *testing.T) {
	t.Parallel()
	w, err := OpenWork(filepath.Join(t.TempDir(), "work"), "here")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	const batch, job = "bid0000000001", "jid0000000002"
	for name, text := range map[string]string{"files/b.txt": "bb", "files/a.txt": "a", "claim-x/c.txt": "", "../jid0000000003/files/other.txt": "o"} {
		at := filepath.Join(w.Path(batch, job), name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all := []WorkFile{{"claim-x/c.txt", 0}, {"files/a.txt", 1}, {"files/b.txt", 2}}
	for most, want := range map[int][]WorkFile{3: all, 2: all[:2], 100: all} {
		files, more, err := w.FilesOf(batch, job, most)
		if err != nil || !slices.Equal(files, want) || more != (most == 2) {
			t.Errorf("%d: %v %v %v", most, files, more, err)
		}
	}
	if files, more, err := w.FilesOf(batch, "jid0000000009", 9); err != nil || more || len(files) != 0 {
		t.Errorf("%v %v %v", files, more, err)
	}
	if _, _, err := w.FilesOf("..", job, 9); CodeOf(err) != CodeBadName {
		t.Error(err)
	}
}
