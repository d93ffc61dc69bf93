package store

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestLocalFiles: a file without a job is there as a whole or not at all, an attempt that was
// given up replaces nothing, and what it left half done goes with the next attempt.
// Shows: P5
func TestLocalFiles(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	l, hash := w.Local(), domain.HashFile("https://data.example.org/night/", "a.fits")
	write := func(fence int64, text string) *Partial {
		t.Helper()
		p, err := l.Create(hash, fence)
		if err == nil {
			_, err = io.WriteString(p, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if _, err := l.Open(hash, digestOf("two")); CodeOf(err) != CodeNotFound {
		t.Errorf("what is not there: %v", err)
	}
	slow := write(2, "one")
	next := write(4, "two")
	if err := l.Keep(next, hash, digestOf("two")); err != nil {
		t.Fatal(err)
	}
	if err := l.Keep(slow, hash, digestOf("one")); err == nil {
		t.Error("an attempt whose part was removed keeps a file")
	}
	f, err := l.Open(hash, digestOf("two"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	where, err := l.Path(hash, digestOf("two"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f)
	also, failed := os.ReadFile(where)
	if string(got) != "two" || string(also) != "two" || err != nil || failed != nil {
		t.Errorf("%q %q: %v, %v", got, also, err, failed)
	}
	if all, err := l.Contents(hash); err != nil || !slices.Equal(all, []string{digestOf("two")}) {
		t.Errorf("%v, %v", all, err)
	}
	put, err := l.Quarantine(hash, digestOf("two"), 5)
	if data, failed := os.ReadFile(put); err != nil || failed != nil || string(data) != "two" || !strings.HasSuffix(put, string(hash)+".5") {
		t.Errorf("%q in %s: %v, %v", data, put, err, failed)
	}
	if put, err := l.Quarantine(hash, digestOf("two"), 5); put != "" || err != nil {
		t.Errorf("again: %q, %v", put, err)
	}
	if all, err := l.Contents(hash); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
	if left, err := os.ReadDir(filepath.Join(filepath.Dir(filepath.Dir(put)), "part")); len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if all, err := w.List(); err != nil || len(all) > 0 {
		t.Errorf("jobs %v, %v", all, err)
	}
	for _, bad := range []domain.FileHash{"", "..", "../../../etc/passwd", domain.FileHash(strings.Repeat("A", 64))} {
		if _, err := l.Create(bad, 1); CodeOf(err) != CodeBadName {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := l.Open(hash, "../x"); CodeOf(err) != CodeBadName {
		t.Errorf("%v", err)
	}
}
