package queries

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestListIsTheOneThatWasChecked: what is written to a list after it was checked is no part
// of it. A query with other lines than its event says could never end.
func TestListIsTheOneThatWasChecked(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "list.txt")
	if err := os.WriteFile(name, []byte("bid0000000001\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Read(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("bid0000000001\nbid0000000002\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range l.lines() {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != l.Lines {
		t.Errorf("%d lines, %d were checked", n, l.Lines)
	}
}
