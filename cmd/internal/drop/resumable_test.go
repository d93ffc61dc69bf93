package drop

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// begin begins an upload of a user of so many bytes.
func begin(t testing.TB, f *Folder, owner string, size int) Resumable {
	t.Helper()
	r, err := f.Begin(Resumable{Owner: owner, Size: int64(size), Deposit: Deposit{Submitter: owner, Profile: "maps", FileName: "tide.csv"}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func anything(string) error { return nil }

// look returns how an upload stands.
func look(t testing.TB, f *Folder, r Resumable) Resumable {
	t.Helper()
	got, err := f.Resumable(r.Owner, r.ID)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPieces: whatever the pieces are, and wherever a process is killed, the deposit has the
// file and its digest, once.
func TestPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		f, err := Open(dir, "test")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		file := rapid.StringN(0, 200, 200).Draw(r, "file")
		u := begin(t, f, rapid.SampledFrom([]string{"ana", "Ben/../x", strings.Repeat("ö", 128)}).Draw(r, "owner"), len(file))
		for u.Offset < u.Size {
			piece := file[u.Offset:][:rapid.IntRange(0, int(u.Size-u.Offset)).Draw(r, "bytes")]
			if rapid.Bool().Draw(r, "killed") { // its process wrote it, and nothing else
				written, err := os.OpenFile(filepath.Join(dir, u.file()), os.O_APPEND|os.O_WRONLY, 0)
				if err == nil {
					_, err = written.WriteString(piece)
				}
				if err = errors.Join(err, written.Close()); err != nil {
					t.Fatal(err)
				}
			} else if n, err := f.Append(u, strings.NewReader(piece)); err != nil || n != int64(len(piece)) {
				r.Fatalf("%d bytes of %d (%v)", n, len(piece), err)
			}
			was := u
			if u = look(t, f, u); u.Offset != was.Offset+int64(len(piece)) || u.Finished || u.Expires().Before(time.Now().Add(staleAfter-time.Minute)) {
				r.Fatalf("%+v after %d bytes more", u, len(piece))
			}
			if err := f.Settle(u); err != nil || f.kept(u).Offset != u.Offset {
				r.Fatalf("%d bytes of %d are known to be on disk (%v)", f.kept(u).Offset, u.Offset, err)
			}
		}
		want := fmt.Sprintf("%x", sha256.Sum256([]byte(file)))
		if rapid.Bool().Draw(r, "killed when it had its id") {
			d, err := f.named(u, time.Now(), anything)
			if err != nil {
				r.Fatal(err)
			}
			if u = look(t, f, u); u.Deposit.ID != d.ID || u.Finished {
				r.Fatalf("%+v, want %s", u, d.ID)
			}
		}
		done, err := f.Finish(u, time.Now(), func(sum string) error {
			if sum != want {
				return errors.New(sum)
			}
			return nil
		})
		if err != nil {
			r.Fatal(err)
		}
		again, err := f.Finish(look(t, f, u), time.Now(), anything)
		if err != nil || !again.Finished || again.Deposit.ID != done.Deposit.ID || again.Offset != u.Size {
			r.Fatalf("%+v (%v), want %+v", again, err, done)
		}
		d, err := f.Find(done.Deposit.ID)
		data, readErr := os.ReadFile(f.Path(d))
		if err != nil || readErr != nil || d.SHA256 != want || d.Size != int64(len(file)) || string(data) != file || len(all(t, f)) != 1 {
			r.Fatalf("%+v with %q (%v, %v), want %q of %s; %v", d, data, err, readErr, file, want, all(t, f))
		}
		if n, err := f.CountResumable(u.Owner); n != 0 || err != nil {
			r.Fatalf("%d uploads (%v)", n, err)
		}
	})
}

// TestUploadsApart: an upload is there for its owner alone, one process writes to it, and a
// file that is refused at its end is no deposit.
func TestUploadsApart(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	u := begin(t, f, "ana", 3)
	for _, c := range []struct{ owner, id string }{{"ben", u.ID}, {"", u.ID}, {"ana", strings.ToUpper(u.ID)}, {"ana", "{" + u.ID + "}"}, {"ana", ""}, {"ana", "../user-ben/" + u.ID}, {"ana", "00000000-0000-7000-8000-000000000000"}} {
		if _, err := f.Resumable(c.owner, c.id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q of %q: %v", c.id, c.owner, err)
		}
		if _, err := f.LockResumable(c.owner, c.id); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q of %q is locked: %v", c.id, c.owner, err)
		}
	}
	for owner, want := range map[string]int{"ana": 1, "ben": 0} {
		if n, err := f.CountResumable(owner); n != want || err != nil {
			t.Errorf("%d uploads of %s (%v)", n, owner, err)
		}
	}
	release, err := f.LockResumable("ana", u.ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.LockResumable("ana", u.ID); !errors.Is(err, ErrLocked) {
		t.Errorf("two lock it (%v)", err)
	}
	if _, err := f.Finish(u, time.Now(), anything); err == nil {
		t.Error("it is finished without its file")
	}
	if _, err := f.Append(u, strings.NewReader("abc")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Append(u, strings.NewReader("abc")); err == nil {
		t.Error("bytes that have come are written again")
	}
	wrong := errors.New("wrong")
	if _, err := f.Finish(look(t, f, u), time.Now(), func(string) error { return wrong }); !errors.Is(err, wrong) || len(all(t, f)) != 0 {
		t.Errorf("%v, and %v are there", err, all(t, f))
	}
	if err := f.Cancel(u); err != nil {
		t.Fatal(err)
	}
	release()
	if err := f.Cancel(u); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is cancelled twice (%v)", err)
	}
	if left, _ := f.root.list(aside); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestExpired: uploads to which nothing was written for long are removed, unless a process
// writes to one at this moment; their deposits stay.
func TestExpired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	over, young, writing, done := begin(t, f, "ana", 3), begin(t, f, "ana", 3), begin(t, f, "ben", 3), begin(t, f, "ben", 0)
	done, err := f.Finish(done, time.Now(), anything)
	if err != nil {
		t.Fatal(err)
	}
	release, err := f.LockResumable("ben", writing.ID)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Add(staleAfter + time.Minute)
	if err := os.Chtimes(filepath.Join(dir, young.file()), now, now); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveLeft(now); err != nil {
		t.Fatal(err)
	}
	for _, u := range []Resumable{over, done} {
		if got, err := f.Resumable(u.Owner, u.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("%+v (%v)", got, err)
		}
	}
	look(t, f, writing)
	if u := look(t, f, young); !u.Expires().After(now) {
		t.Errorf("it expires at %v", u.Expires())
	}
	release()
	if ids := all(t, f); len(ids) != 1 || ids[0] != done.Deposit.ID {
		t.Errorf("%v, want %s", ids, done.Deposit.ID)
	}
	if err := f.RemoveLeft(now); err != nil {
		t.Fatal(err)
	}
	if n, err := f.CountResumable("ben"); n != 0 || err != nil {
		t.Errorf("%d uploads of ben (%v)", n, err)
	}
}

// TestOneFinishes: of many that finish an upload, one makes its deposit.
func TestOneFinishes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	u := begin(t, open(t, dir), "ana", 0)
	var together sync.WaitGroup
	for range 8 {
		f := open(t, dir)
		together.Go(func() {
			release, err := f.LockResumable("ana", u.ID)
			for errors.Is(err, ErrLocked) {
				release, err = f.LockResumable("ana", u.ID)
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			got, err := f.Resumable("ana", u.ID)
			if err == nil {
				_, err = f.Finish(got, time.Now(), anything)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	together.Wait()
	if ids := all(t, open(t, dir)); len(ids) != 1 {
		t.Errorf("%v", ids)
	}
}
