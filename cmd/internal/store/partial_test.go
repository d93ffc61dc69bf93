package store

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// begun writes text to a new file of a claim, and notes it.
func begun(t *testing.T, p *Partial, err error, text string, n Note) {
	t.Helper()
	if err == nil {
		_, err = io.WriteString(p, text)
	}
	if err == nil {
		err = p.Note(n)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// beginning reads what is there of a file.
func beginning(t *testing.T, p *Partial) (string, Note) {
	t.Helper()
	from, n, ok := p.Beginning()
	if !ok {
		return "", n
	}
	defer func() { _ = from.Close() }()
	data, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), n
}

// TestBeginnings: what was noted of a file outlives its claim, until the file is complete or it is
// forgotten, and goes with the job.
func TestBeginnings(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	note := Note{Bytes: 5, SHA256: "of low a", Source: "a URL", Validator: `"v1"`, Size: 18}
	first := claim(t, w, "first", nil)
	p, err := first.Create("data/x")
	begun(t, p, err, "low a", note)
	if _, err := io.WriteString(p, "nd high"); err != nil { // it is not noted
		t.Fatal(err)
	}
	p.Abort()
	if err := first.Abandon(); err != nil {
		t.Fatal(err)
	}
	second := claim(t, w, "second", map[string]string{"other": "x"})
	q, err := second.Create("data/x")
	if err != nil {
		t.Fatal(err)
	}
	if text, n := beginning(t, q); text != "low and high" || n != note {
		t.Errorf("%q, %+v", text, n)
	}
	// What replaces it is what the later attempt has written.
	note.Bytes = 3
	begun(t, q, nil, "low", note)
	if text, n := beginning(t, q); text != "low" || n != note {
		t.Errorf("%q, %+v", text, n)
	}
	if err := q.Restart(); err != nil {
		t.Fatal(err)
	}
	if text, _ := beginning(t, q); text != "" {
		t.Errorf("%q is there of a file that was begun anew", text)
	}
	begun(t, q, nil, "ebb", note)
	if err := q.Commit(); err != nil {
		t.Fatal(err)
	}
	if files, _, err := w.FilesOf(bid, jid, 9); err != nil || len(files) != 2 {
		t.Errorf("beside the two files: %v, %v", files, err)
	}
	if data, err := os.ReadFile(filepath.Join(w.Path(bid, jid), "claim-second", "files", "data", "x")); err != nil || string(data) != "ebb" {
		t.Errorf("%q, %v", data, err)
	}
	r, err := second.Create("y")
	begun(t, r, err, "y", note)
	r.Abort()
	if err := w.Remove(bid, jid); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(w.Path(bid, jid)); !os.IsNotExist(err) {
		t.Errorf("beginnings stay without their job: %v", err)
	}
}

// TestBeginningsOfFilesWithoutAJob: as those of jobs, by the file and not by the attempt.
func TestBeginningsOfFilesWithoutAJob(t *testing.T) {
	t.Parallel()
	l := testWork(t, t.TempDir()).Local()
	hash := domain.FileHash(strings.Repeat("a", 64))
	note := Note{Bytes: 3, Validator: `"v1"`}
	p, err := l.Create(hash, 1)
	begun(t, p, err, "ebb", note)
	p.Abort()
	q, err := l.Create(hash, 2)
	if err != nil {
		t.Fatal(err)
	}
	if text, n := beginning(t, q); text != "ebb" || n != note {
		t.Errorf("%q, %+v", text, n)
	}
	if err := l.Keep(q, hash, strings.Repeat("b", 64)); err != nil {
		t.Fatal(err)
	}
	if left, err := fsGlob(l.root.Name(), "files/begun/*"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

func fsGlob(dir, pattern string) ([]string, error) { return filepath.Glob(filepath.Join(dir, pattern)) }

// TestBrokenNotes: a note that is none is that of no file.
func TestBrokenNotes(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	c := claim(t, w, "a", nil)
	p, err := c.Create("x")
	begun(t, p, err, "low", Note{Bytes: 3})
	p.Abort()
	notes, err := fsGlob(w.Path(bid, jid), "begun/*.json")
	if err != nil || len(notes) != 1 {
		t.Fatalf("%v, %v", notes, err)
	}
	for _, text := range []string{"", "{", `{"bytes":0}`, `{"bytes":-3}`} {
		if err := os.WriteFile(notes[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if from, n, ok := p.Beginning(); ok {
			_ = from.Close()
			t.Errorf("%q is %+v", text, n)
		}
	}
	if err := p.Forget(); err != nil {
		t.Fatal(err)
	}
	if left, err := fsGlob(w.Path(bid, jid), "begun/*"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}
