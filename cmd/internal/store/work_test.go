package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

const (
	bid = domain.BatchID("bid0000000001")
	jid = domain.JobID("jid0000000002")
)

func testWork(t *testing.T, path string) *Work {
	t.Helper()
	w, err := OpenWork(path, "here")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func claim(t *testing.T, w *Work, id string, files map[string]string) *Claim {
	t.Helper()
	c, err := w.Claim(bid, jid, id)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		p, err := c.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(p, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func content(t *testing.T, w *Work) map[string]string {
	t.Helper()
	files, err := w.Files(bid, jid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	all := map[string]string{}
	err = fs.WalkDir(files.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(f)
		all[name] = string(data)
		return errors.Join(err, f.Close())
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWinningClaim(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	first := claim(t, w, "a1", map[string]string{"data/x": "1", "é y": "2", strings.Repeat("a", 255): "3"})
	second := claim(t, w, "b2", map[string]string{"data/x": "other"})
	_, err := w.Files(bid, jid)
	mustCode(t, err, CodeNotFound)
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	mustCode(t, second.Commit(), CodeConflict)
	got := content(t, w)
	if len(got) != 3 || got["data/x"] != "1" || got["é y"] != "2" {
		t.Fatalf("got %v", got)
	}
	if err := w.Discard(bid, jid); err != nil {
		t.Fatal(err)
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, w); len(got) != 1 || got["data/x"] != "other" {
		t.Fatalf("got %v", got)
	}
	left, err := os.ReadDir(w.Path(bid, jid))
	if err != nil || len(left) != 1 || left[0].Name() != "files" {
		t.Fatalf("left %v, %v", left, err)
	}
	for range 2 {
		if err := w.Remove(bid, jid); err != nil {
			t.Fatal(err)
		}
		if err := w.Discard(bid, jid); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Dir(w.Path(bid, jid))); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the batch's directory stays: %v", err)
	}
}

// Shows: P5
func TestOneClaimWins(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	wins := make(chan string, 8)
	for _, id := range strings.Split("abcdefgh", "") {
		c := claim(t, testWork(t, dir), id, map[string]string{"who": id, "and/who": id})
		wg.Go(func() {
			switch err := c.Commit(); CodeOf(err) {
			case "":
				wins <- id
			case CodeConflict:
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	won := <-wins
	if got := content(t, testWork(t, dir)); len(wins) != 0 || got["who"] != won || got["and/who"] != won {
		t.Fatalf("%s won, so did %d others, and the files are %v", won, len(wins), got)
	}
}

func TestPartialFiles(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	c := claim(t, w, "a", map[string]string{"x": "first try"})
	p, err := c.Create("x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("second")); err != nil {
		t.Fatal(err)
	}
	q, err := c.Create("never")
	if err != nil {
		t.Fatal(err)
	}
	q.Abort()
	open, err := c.Create("still open")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Abort()
	if err := p.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := c.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, w); len(got) != 1 || got["x"] != "second" {
		t.Fatalf("got %v", got)
	}
	files, err := w.Files(bid, jid)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	_, err = files.Open("never")
	mustCode(t, err, CodeNotFound)
	_, err = files.Open("../../../.accession-installation")
	mustCode(t, err, CodeBadName)
}

func TestHostileNamesStayInside(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	w := testWork(t, filepath.Join(dir, "work"))
	c := claim(t, w, "a", nil)
	for _, name := range []string{
		"../x", "a/../../../x", "/x", `..\x`, "x\x00", "x\ny", "", ".", "..", "e\u0301", strings.Repeat("a", 256),
	} {
		_, err := c.Create(name)
		mustCode(t, err, CodeBadName)
	}
	outside := filepath.Join(dir, "outside")
	if err := os.Mkdir(outside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.Path(bid, jid), "claim-a", "files", "link")); err != nil {
		t.Fatal(err)
	}
	p, err := c.Create("link/x")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Commit(); err == nil {
		t.Error("written through a link")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Fatalf("outside: %v, %v", left, err)
	}
	for _, id := range []string{"", "../x", "a/b", "a b", strings.Repeat("a", 129)} {
		_, err := w.Claim(bid, jid, id)
		mustCode(t, err, CodeBadName)
	}
	_, err = w.Claim(bid, jid, "a")
	mustCode(t, err, CodeConflict)
	_, err = w.Claim("..", jid, "b")
	mustCode(t, err, CodeBadName)
	mustCode(t, w.Remove(bid, "../.."), CodeBadName)
	mustCode(t, w.Remove("", ""), CodeBadName)
}

// Who only looks marks nothing: a file system that is not mounted is not a new one.
func TestFindWorkMakesNothing(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "work")
	_, err := FindWork(dir, "here")
	mustCode(t, err, CodeNotFound)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = FindWork(dir, "here")
	mustCode(t, err, CodeNotFound)
	testWork(t, dir)
	w, err := FindWork(dir, "here")
	if err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	_, err = FindWork(dir, "elsewhere")
	mustCode(t, err, CodeConflict)
}

func TestMarker(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "deep", "work")
	w := testWork(t, dir)
	testWork(t, dir)
	_, err := OpenWork(dir, "elsewhere")
	mustCode(t, err, CodeConflict)
	for _, id := range []string{"", " x", "a\nb"} {
		_, err := OpenWork(dir, id)
		mustCode(t, err, CodeBadName)
	}
	if err := w.Check(); err != nil {
		t.Fatal(err)
	}
	// The file system behind the path is gone or is another one.
	if err := os.Rename(dir, dir+"-unmounted"); err != nil {
		t.Fatal(err)
	}
	mustCode(t, w.Check(), CodeNotFound)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	mustCode(t, w.Check(), CodeNotFound)
	if err := os.WriteFile(filepath.Join(dir, MarkerName), []byte("elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustCode(t, w.Check(), CodeConflict)
	if free, err := w.Free(); err != nil || free <= 0 {
		t.Fatalf("free %d, %v", free, err)
	}
}

func TestMarkerOfTwoAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	opened := make(chan string, 8)
	for i := range cap(opened) {
		wg.Go(func() {
			id := string(rune('a' + i))
			w, err := OpenWork(dir, id)
			if err == nil {
				opened <- id
				_ = w.Close()
			} else if CodeOf(err) != CodeConflict {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(opened) != 1 {
		t.Fatalf("%d installations share the directory", len(opened))
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	w := testWork(t, t.TempDir())
	claim(t, w, "a", nil)
	if _, err := w.Claim("bid0000000009", "jid0000000004", "x"); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"lost+found", "bid0000000001/junk"} {
		if err := os.MkdirAll(filepath.Join(w.path, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.List()
	if err != nil {
		t.Fatal(err)
	}
	want := []JobDir{{bid, jid}, {"bid0000000009", "jid0000000004"}}
	if !slices.Equal(got, want) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
}
