package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestRemovedDirectoryIsMadeAgain: a directory that is removed while the store is open is
// made again when something is stored below it.
func TestRemovedDirectoryIsMadeAgain(t *testing.T) {
	t.Parallel()
	at := t.TempDir()
	s := open(t, at)
	for range 2 {
		for _, key := range []string{"a/b/put", "a/b/again"} {
			if _, err := s.Put(t.Context(), key, strings.NewReader("one")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.PutIfAbsent(t.Context(), "c/d/absent", strings.NewReader("two")); err != nil {
			t.Fatal(err)
		}
		if got, want := keys(t, s, ""), []string{"a/b/again", "a/b/put", "c/d/absent"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		for _, dir := range []string{"a", "c"} {
			if err := os.RemoveAll(filepath.Join(at, dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestPutGetStatDeleteList(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		ctx := t.Context()
		b, err := s.Put(ctx, "a/b.txt", strings.NewReader("one"))
		if err != nil {
			t.Fatal(err)
		}
		if want := (Blob{Key: "a/b.txt", Size: 3, SHA256: hexSum("one")}); b != want {
			t.Fatalf("got %+v, want %+v", b, want)
		}
		if _, err := s.Put(ctx, "a/b.txt", strings.NewReader("two!")); err != nil {
			t.Fatal(err)
		}
		if got := read(t, s, "a/b.txt"); got != "two!" {
			t.Fatalf("got %q", got)
		}
		info, err := s.Stat(ctx, "a/b.txt")
		if err != nil || info.Size != 4 || info.Key != "a/b.txt" || info.Modified.IsZero() {
			t.Fatalf("%+v, %v", info, err)
		}
		for _, k := range []string{"a-b", "b/c", "a/a/empty"} {
			if _, err := s.Put(ctx, k, strings.NewReader("")); err != nil {
				t.Fatal(err)
			}
		}
		if got, want := keys(t, s, "a/"), []string{"a/a/empty", "a/b.txt"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		if got := keys(t, s, ""); len(got) != 4 {
			t.Fatalf("got %v", got)
		}
		for range 2 {
			if err := s.Delete(ctx, "a/b.txt"); err != nil {
				t.Fatal(err)
			}
		}
		_, err = s.Get(ctx, "a/b.txt")
		mustCode(t, err, CodeNotFound)
		_, err = s.Stat(ctx, "a")
		mustCode(t, err, CodeNotFound)
		_, err = s.Put(ctx, "tmp/x", strings.NewReader(""))
		mustCode(t, err, CodeBadKey)
		for o, err := range s.List(ctx, "../") {
			mustCode(t, err, CodeBadKey)
			_ = o
		}
	})
}

func TestPutIfAbsent(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		for range 2 {
			b, err := s.PutIfAbsent(t.Context(), "k", strings.NewReader("one"))
			if err != nil || b.SHA256 != hexSum("one") || b.Key != "k" {
				t.Fatalf("%+v, %v", b, err)
			}
		}
		_, err := s.PutIfAbsent(t.Context(), "k", strings.NewReader("two"))
		mustCode(t, err, CodeConflict)
		if got := read(t, s, "k"); got != "one" {
			t.Fatalf("the first was replaced by %q", got)
		}
		if got := keys(t, s, "tmp/"); len(got) != 0 {
			t.Fatalf("left behind: %v", got)
		}
	})
}

// Of many writers with different bytes, also through stores of their own, exactly
// one wins, and its bytes stay.
func TestPutIfAbsentHasOneWinner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 20 {
		var wg sync.WaitGroup
		wins := make(chan string, 8)
		for i := range cap(wins) {
			s := open(t, dir)
			wg.Go(func() {
				body := fmt.Sprint("writer ", i)
				switch _, err := s.PutIfAbsent(t.Context(), fmt.Sprint("k/", round), strings.NewReader(body)); CodeOf(err) {
				case "":
					wins <- body
				case CodeConflict:
				default:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		close(wins)
		if won := <-wins; len(wins) != 0 || read(t, open(t, dir), fmt.Sprint("k/", round)) != won {
			t.Fatalf("%q won, and %d others", won, len(wins))
		}
	}
}

type brokenReader struct{ err error }

func (b brokenReader) Read([]byte) (int, error) { return 0, b.err }

// A write that fails in the middle leaves the old object, or none, and no litter.
func TestFailedWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		half := func() io.Reader {
			return io.MultiReader(strings.NewReader("half"), brokenReader{syscall.ECONNRESET})
		}
		_, err := s.Put(t.Context(), "k", half())
		mustCode(t, err, CodeBroken)
		if !errors.Is(err, syscall.ECONNRESET) {
			t.Fatalf("the cause is lost: %v", err)
		}
		if _, err := s.Put(t.Context(), "k", strings.NewReader("old")); err != nil {
			t.Fatal(err)
		}
		_, err = s.Put(t.Context(), "k", half())
		mustCode(t, err, CodeBroken)
		_, _, err = s.KeepUpload(t.Context(), "f", struct {
			io.Reader
			io.Seeker
		}{half(), strings.NewReader("")})
		mustCode(t, err, CodeBroken)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Put(ctx, "k", strings.NewReader("new"))
		mustCode(t, err, CodeCancelled)
		if got := read(t, s, "k"); got != "old" {
			t.Fatalf("got %q", got)
		}
		if got := keys(t, s, ""); !slices.Equal(got, []string{"k"}) {
			t.Fatalf("left behind: %v", got)
		}
	})
}

func TestDiskFull(t *testing.T) {
	t.Parallel()
	s, disk := newFaulty(t, "", errDiskFull)
	_, err := s.Put(t.Context(), "k", strings.NewReader("x"))
	mustCode(t, err, CodeDiskFull)
	if !strings.Contains(err.Error(), "free space") {
		t.Errorf("no remedy in %v", err)
	}
	disk.err = nil
	if _, err := s.Put(t.Context(), "k", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
}

func TestWritesUnderWayAreNotListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	if _, err := s.Put(t.Context(), "k", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tmp", "YOUNG"), []byte("left"), 0o600); err != nil {
		t.Fatal(err)
	}
	for o := range s.List(t.Context(), "") {
		if o.Key != "k" {
			t.Errorf("%s is listed", o.Key)
		}
	}
}

func TestKeepUpload(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		var first string
		for range 2 {
			u, b, err := s.KeepUpload(t.Context(), "tide gauge.csv", strings.NewReader("1;2"))
			if err != nil {
				t.Fatal(err)
			}
			sum := hexSum("1;2")
			if want := "store:///uploads/" + sum[:2] + "/" + sum + "/tide%20gauge.csv"; u != want || b.SHA256 != sum || URL(b.Key) != u {
				t.Fatalf("got %q %+v, want %q", u, b, want)
			}
			if first = u; first != u {
				t.Fatalf("%q then %q", first, u)
			}
			key, ok := KeyOf(u)
			if !ok || read(t, s, key) != "1;2" {
				t.Fatal("the URL does not lead to the upload")
			}
		}
		if got := keys(t, s, ""); len(got) != 1 {
			t.Fatalf("kept %v", got)
		}
		for _, name := range []string{"../evil", "/abs", "a/b", "nul\x00", "e\u0301"} {
			_, _, err := s.KeepUpload(t.Context(), name, strings.NewReader("x"))
			mustCode(t, err, CodeBadName)
		}
	})
}

func TestKeepManifest(t *testing.T) {
	t.Parallel()
	eachBucket(t, func(t *testing.T, s *Store) {
		for range 2 {
			b, err := s.KeepManifest(t.Context(), domain.NewBatchID(5), ".checkm", []byte("#%eof\n"))
			if want := "manifests/bid0000000005/" + hexSum("#%eof\n") + ".checkm"; err != nil || b.Key != want {
				t.Fatalf("%+v, %v", b, err)
			}
		}
		_, err := s.KeepManifest(t.Context(), "../x", ".checkm", nil)
		mustCode(t, err, CodeBadKey)
	})
}

// Nothing inside a directory can lead a write out of it.
func TestDirectoryDoesNotFollowLinksOut(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	s := open(t, dir)
	if err := os.Symlink(outside, filepath.Join(dir, "uploads")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "uploads/x", strings.NewReader("x")); err == nil {
		t.Fatal("written through a link")
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
		t.Fatalf("outside: %v, %v", left, err)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := open(t, "file://"+dir+"/deep/store").Put(t.Context(), "k", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if got := read(t, open(t, dir+"/deep/store"), "k"); got != "x" {
		t.Fatalf("got %q", got)
	}
	for _, bad := range []string{"", "file://host/x", "file:///x?create_dir=1", "file://", "nothing://user:secret@x/?key=secret", "://secret"} {
		_, err := Open(t.Context(), bad)
		mustCode(t, err, CodeBroken)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells secrets: %v", err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), file); err == nil {
		t.Fatal("a file was opened as a store")
	}
}
