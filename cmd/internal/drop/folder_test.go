package drop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/cmd/internal/store"
)

func open(t *testing.T, dir string) *Folder {
	t.Helper()
	f, err := Open(dir, "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func accept(t testing.TB, f *Folder, user, content string) Deposit {
	t.Helper()
	d, err := f.Accept(t.Context(), Deposit{Submitter: user, Profile: "maps", FileName: "tide.csv"}, strings.NewReader(content), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func all(t testing.TB, f *Folder) (ids []string) {
	t.Helper()
	for d, err := range f.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, d.ID)
	}
	return ids
}

// Deposits are listed as they were accepted, in the order of their reception, whatever
// their users are named; refused ones too, with the reason.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	var want []Deposit
	for n, user := range []string{"ana", "Ben/../x", "", "ana", strings.Repeat("ö", 128)} {
		want = append(want, accept(t, f, user, fmt.Sprint("deposit ", n)))
	}
	if s, err := f.Status(); err != nil || s.Deposits != 5 || s.Oldest.Sub(want[0].Received).Abs() > time.Second {
		t.Errorf("%+v, %v", s, err)
	}
	why := Refusal{At: want[1].Received, Reason: "no such profile", Hint: "make it"}
	if err := f.Refuse(want[1], why); err != nil {
		t.Fatal(err)
	}
	why.Version = 2 // the one after that of its reception
	want[1].Refused = &why
	n := 0
	for d, err := range open(t, dir).All(t.Context()) { // another process
		if err != nil || fmt.Sprint(d) != fmt.Sprint(want[n]) && *d.Refused != why {
			t.Errorf("%+v, %v; want %+v", d, err, want[n])
		}
		if data, err := os.ReadFile(f.Path(d)); err != nil || string(data) != fmt.Sprint("deposit ", n) || d.Size != int64(len(data)) {
			t.Errorf("%q (%v) is the file of %+v", data, err, d)
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d deposits, want %d", n, len(want))
	}
	if err := f.Again(want[1], Act{By: "cli/ops", Reason: "it is made"}); err != nil {
		t.Fatal(err)
	}
	if d, err := f.Find(want[1].ID); err != nil || d.Refused != nil || d.Retried == nil || d.Retried.Reason != "it is made" {
		t.Errorf("after retry: %+v, %v", d, err)
	}
	// A process that died before it removed the refusal has let it in again, too.
	left, err := json.Marshal(why)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.FromSlash(want[1].dir()), refusedIn), left, 0o600)
	}
	if d, findErr := f.Find(want[1].ID); err != nil || findErr != nil || d.Refused != nil || d.Version() != 3 {
		t.Errorf("after half a retry: %+v, %v, %v", d, err, findErr)
	}
	if d, err := f.Find(want[1].ID); err != nil || f.Refuse(d, why) != nil {
		t.Error(err)
	}
	if d, err := f.Find(want[1].ID); err != nil || d.Refused == nil || d.Version() != 4 {
		t.Errorf("refused after a retry: %+v, %v", d, err)
	}
	for _, d := range want {
		if err := f.Remove(d); err != nil {
			t.Fatal(err)
		}
		if err := f.Remove(d); !errors.Is(err, ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
	}
	rest, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if users, _ := filepath.Glob(filepath.Join(dir, "user-*")); err != nil || len(rest)+len(users) > 0 {
		t.Errorf("%v %v are left (%v)", rest, users, err)
	}
}

// A deposit is there as a whole or not at all: also when its file cannot be read to the
// end, and when its context ends.
func TestAcceptUndone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Accept(ctx, Deposit{Submitter: "ana", FileName: "a"}, strings.NewReader("x"), time.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "user-ben"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Accept(t.Context(), Deposit{Submitter: "ben", FileName: "a"}, strings.NewReader("x"), time.Now()); err == nil {
		t.Error("it is accepted where there is no directory")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, aside, "*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}

// A deposit that cannot be read is named, and the others are listed.
func TestUnreadableDeposits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	good, broken, moved := accept(t, f, "ana", "1"), accept(t, f, "ana", "2"), accept(t, f, "ana", "3")
	if err := os.WriteFile(filepath.Join(dir, broken.dir(), depositIn), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, moved.dir()), filepath.Join(dir, "user-ana", "elsewhere")); err != nil {
		t.Fatal(err)
	}
	var faults []string
	for d, err := range f.All(t.Context()) {
		if err != nil {
			faults = append(faults, err.Error())
		} else if d.ID != good.ID {
			t.Errorf("%+v", d)
		}
	}
	if len(faults) != 2 || !strings.Contains(faults[0], broken.ID) || !strings.Contains(faults[1], "elsewhere") {
		t.Errorf("faults %q", faults)
	}
}

// What killed processes left is removed after a day, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	d := accept(t, f, "ana", "1")
	for _, name := range []string{"old", "young"} {
		if err := os.MkdirAll(filepath.Join(dir, aside, name, payloadIn), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(staleAfter + time.Minute)
	if err := os.Chtimes(filepath.Join(dir, aside, "young", payloadIn), now, now); err != nil {
		t.Fatal(err)
	}
	if err := f.RemoveLeft(now); err != nil {
		t.Fatal(err)
	}
	left, _ := f.root.list(aside)
	if !slices.Equal(left, []string{"young"}) || !slices.Equal(all(t, f), []string{d.ID}) {
		t.Errorf("%v are left, and %v", left, all(t, f))
	}
}

// The folder of another installation is refused, and one process leads.
func TestFolderOfOneInstallation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	if _, err := Open(dir, "other"); store.CodeOf(err) != store.CodeConflict {
		t.Errorf("error %v", err)
	}
	release, leads, err := f.Lead()
	if err != nil || !leads {
		t.Fatal(leads, err)
	}
	other := open(t, dir)
	if _, leads, err := other.Lead(); leads || err != nil {
		t.Errorf("two lead (%v)", err)
	}
	release()
	if release, leads, err = other.Lead(); !leads || err != nil {
		t.Fatalf("none leads (%v)", err)
	}
	release()
}

// Deposits come and go at once: none is lost, and none stays.
func TestFolderAtOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			r.Fatal(err)
		}
		f, keep := open(t, dir), rapid.SliceOfN(rapid.Bool(), 1, 12).Draw(r, "kept")
		kept, wg := make([]string, len(keep)), sync.WaitGroup{}
		for n := range keep {
			wg.Go(func() {
				d, err := f.Accept(t.Context(), Deposit{Submitter: "ana", FileName: "a"}, strings.NewReader("x"), time.Now())
				if err == nil && !keep[n] {
					err = f.Remove(d)
				} else {
					kept[n] = d.ID
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		want := slices.DeleteFunc(kept, func(id string) bool { return id == "" })
		slices.Sort(want)
		if got := all(t, f); !slices.Equal(got, want) {
			r.Fatalf("%v are there, want %v", got, want)
		}
	})
}

// Of a deposit that an operator removes the record stays, without its file.
func TestDiscard(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := open(t, dir)
	d, other := accept(t, f, "ana", "1"), accept(t, f, "ana", "2")
	by := Act{At: time.Now().UTC(), By: "cli/ops", Reason: "a wrong file"}
	for range 2 { // as after a death between record and removal
		if err := f.Discard(d, by); err != nil && !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	if r, err := open(t, dir).Removed(d.ID); err != nil || r.Act != by || r.Deposit.SHA256 != d.SHA256 || r.Deposit.Submitter != "ana" {
		t.Errorf("%+v, %v", r, err)
	}
	for _, id := range []string{other.ID, "../" + d.ID, ""} {
		if r, err := f.Removed(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("removed %q: %+v, %v", id, r, err)
		}
	}
	if left := all(t, f); len(left) != 1 || left[0] != other.ID {
		t.Errorf("left: %v", left)
	}
	if files, err := filepath.Glob(filepath.Join(dir, removedIn, "*")); err != nil || len(files) != 1 {
		t.Errorf("kept: %v, %v", files, err)
	}
}

// The record of a removed deposit is removed when it is old, and nothing else is.
func TestOldRecords(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir())
	now := time.Now().UTC()
	old, young, there := accept(t, f, "ana", "1"), accept(t, f, "ana", "2"), accept(t, f, "ben", "3")
	for d, at := range map[string]time.Time{old.ID: now.Add(-time.Hour), young.ID: now} {
		d, err := f.Find(d)
		if err == nil {
			err = f.Discard(d, Act{At: at, By: "cli/ops", Reason: "a wrong file"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := f.RemoveOld(now.Add(-time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	left, err := f.AllRemoved()
	if err != nil || len(left) != 1 || left[0].Deposit.ID != young.ID {
		t.Errorf("left are the records %+v, %v", left, err)
	}
	if left := all(t, f); !slices.Equal(left, []string{there.ID}) {
		t.Errorf("left are the deposits %v", left)
	}
}

// TestLockAndCopies: a child that is just being started has copies of all files, which do
// not keep a lock.
func TestLockAndCopies(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "file")
	create := func() *os.File {
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	file := create()
	held, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(held) }()
	for range 2 {
		release, err := lock(file)
		if err != nil {
			t.Fatal(err)
		}
		release()
		file = create()
	}
	_ = file.Close()
}

func TestLock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, other := open(t, dir), open(t, dir)
	d := accept(t, f, "ana", "one")
	release, err := f.Lock(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Folder{f, other} {
		if _, err := f.Lock(d); !errors.Is(err, ErrLocked) {
			t.Errorf("held twice: %v", err)
		}
	}
	release()
	if release, err = other.Lock(d); err != nil {
		t.Fatal(err)
	}
	if err := other.Discard(d, Act{Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	release()
	if _, err := f.Lock(d); !errors.Is(err, ErrNotFound) {
		t.Errorf("it has left: %v", err)
	}
}
