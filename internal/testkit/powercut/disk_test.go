package powercut_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/accession-ingest/accession/internal/testkit/powercut"
)

const (
	aFile = syscall.S_IFREG | 0o600
	aDir  = syscall.S_IFDIR | 0o700
)

// disk is one whose steps are written as words.
type disk struct {
	*powercut.Disk
	fail func(args ...any)
}

func (d disk) must(err error) {
	if err != nil {
		d.fail(err)
	}
}

func (d disk) at(path string) powercut.ID {
	id := powercut.Root
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			info, err := d.Find(id, name)
			d.must(err)
			id = info.ID
		}
	}
	return id
}

// do takes steps: “write PATH TEXT”, “append”, “shorten PATH N”, “mkdir”, “remove”,
// “rmdir”, “rename PATH PATH”, “link PATH PATH”, “sync PATH”, “settle”, “cut”.
func (d disk) do(steps ...string) {
	for _, step := range steps {
		words := append(strings.Fields(step), "", "")
		path, more := words[1], words[2]
		dir, name := filepath.Split(path)
		switch words[0] {
		case "write":
			if _, err := d.Find(d.at(dir), name); err != nil {
				_, err := d.Make(d.at(dir), name, aFile, 1, 1)
				d.must(err)
			}
			d.must(d.Write(d.at(path), 0, []byte(more)))
		case "append":
			info, err := d.Stat(d.at(path))
			d.must(err)
			d.must(d.Write(info.ID, info.Size, []byte(more)))
		case "shorten":
			var n int64
			_, err := fmt.Sscan(more, &n)
			d.must(err)
			d.must(d.Resize(d.at(path), n))
		case "mkdir":
			_, err := d.Make(d.at(dir), name, aDir, 1, 1)
			d.must(err)
		case "remove", "rmdir":
			d.must(d.Remove(d.at(dir), name, words[0] == "rmdir"))
		case "rename":
			newDir, newName := filepath.Split(more)
			d.must(d.Rename(d.at(dir), name, d.at(newDir), newName))
		case "link":
			newDir, newName := filepath.Split(more)
			d.must(d.Link(d.at(path), d.at(newDir), newName))
		case "sync":
			d.must(d.Sync(d.at(path)))
		case "settle":
			d.Settle()
		case "cut":
			d.Cut()
		default:
			d.fail("no such step: " + step)
		}
	}
}

// tree is every path with its content; directories end in a slash.
func (d disk) tree(from string) map[string]string {
	all := map[string]string{}
	entries, err := d.List(d.at(from))
	d.must(err)
	for _, e := range entries {
		path := from + e.Name
		if e.Mode&syscall.S_IFMT == syscall.S_IFDIR {
			all[path+"/"] = ""
			maps.Copy(all, d.tree(path+"/"))
			continue
		}
		info, err := d.Stat(e.ID)
		d.must(err)
		text := make([]byte, info.Size+10)
		n, err := d.Read(e.ID, 0, text)
		d.must(err)
		all[path] = string(text[:n])
	}
	return all
}

func (d disk) shows() string {
	all := d.tree("")
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(all)) {
		lines = append(lines, strings.TrimSuffix(path+"="+all[path], "="))
	}
	return strings.Join(lines, " ")
}

func newDisk(fail func(...any)) disk { return disk{powercut.New(1, 1), fail} }

// What a power cut leaves.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, steps, left string }{
		{"nothing synced", "write a x", ""},
		{"a synced file has its name", "write a x; sync a", "a=x"},
		{"and the directories above", "mkdir d; mkdir d/e; write d/e/a x; sync d/e/a", "d/ d/e/ d/e/a=x"},
		{"what was written later is lost", "write a x; sync a; append a y", "a=x"},
		{"what was cut off is back", "write a xyz; sync a; shorten a 1", "a=xyz"},
		{"cut off and synced", "write a xyz; sync a; shorten a 1; sync a", "a=x"},
		{"grown again", "write a xyz; shorten a 1; shorten a 3; sync a", "a=x\x00\x00"},
		{"a directory keeps names, not content", "write a x; sync .", "a"},
		{"of its own only", "mkdir d; write d/a x; sync .", "d/"},
		{"another file's name", "write a x; write b y; sync b", "b=y"},
		{"removal", "write a x; sync a; remove a", "a=x"},
		{"removal, directory synced", "write a x; sync a; remove a; sync .", ""},
		{"rename", "write a x; sync a; rename a b", "a=x"},
		{"rename, directory synced", "write a x; sync a; rename a b; sync .", "b=x"},
		{"rename, file synced", "write a x; sync a; rename a b; sync b", "b=x"},
		{"written, renamed, directory synced", "write a x; rename a b; sync .", "b"},
		{"replaced", "write a x; sync a; write b y; sync b; rename b a", "a=x b=y"},
		{"replaced, directory synced", "write a x; sync a; write b y; sync b; rename b a; sync .", "a=y"},
		{"moved, new directory synced", "mkdir d; write a x; sync a; settle; rename a d/a; sync d", "a=x d/ d/a=x"},
		{"a link", "write a x; sync a; link a b", "a=x"},
		{"a link, synced", "write a x; sync a; link a b; sync b", "a=x b=x"},
		{"a directory moved", "mkdir d; write d/a x; settle; rename d e", "d/ d/a=x"},
		{"a directory moved and synced", "mkdir d; write d/a x; settle; rename d e; sync e", "e/ e/a=x"},
		{"a directory removed", "mkdir d; write d/a x; settle; remove d/a; rmdir d", "d/ d/a=x"},
		{"a directory removed and synced", "mkdir d; write d/a x; settle; remove d/a; rmdir d; sync .", ""},
		{"removed, made anew", "write a x; settle; remove a; write a y", "a=x"},
		{"removed, made anew and synced", "write a x; settle; remove a; write a y; sync a", "a=y"},
		{"settled", "mkdir d; write d/a x; write b y; settle; append b z", "b=y d/ d/a=x"},
		{"twice", "write a x; sync a; append a y; cut; append a z; sync a; append a z", "a=xz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDisk(t.Fatal)
			d.do(strings.Split(c.steps, ";")...)
			d.do("cut")
			if got := d.shows(); got != c.left {
				t.Errorf("%s: left is %q, want %q", c.steps, got, c.left)
			}
			if bytes, names := d.Unsynced(); bytes != 0 || names != 0 {
				t.Errorf("after a cut %d bytes and %d names are not synced", bytes, names)
			}
		})
	}
}

// Pages are cut and joined anywhere.
func TestContent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := newDisk(t.Fatal)
		d.do("write a")
		id := d.at("a")
		var now, kept []byte
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			size := rapid.IntRange(0, 20_000).Draw(t, "place")
			switch rapid.SampledFrom([]string{"write", "resize", "sync", "cut"}).Draw(t, "step") {
			case "write":
				data := rapid.SliceOfN(rapid.ByteRange(1, 255), 1, 9_000).Draw(t, "data")
				d.must(d.Write(id, int64(size), data))
				now = append(now, make([]byte, max(0, size+len(data)-len(now)))...)
				copy(now[size:], data)
			case "resize":
				d.must(d.Resize(id, int64(size)))
				now = append(now, make([]byte, max(0, size-len(now)))...)[:size:size]
			case "sync":
				d.must(d.Sync(id))
				kept = slices.Clone(now)
			case "cut":
				d.must(d.Sync(powercut.Root)) // the name
				d.Cut()
				now = slices.Clone(kept)
			}
			if got := d.tree("")["a"]; got != string(now) {
				t.Fatalf("%d bytes are there, want %d, or they differ", len(got), len(now))
			}
		}
	})
}

// Files in two directories, against a simpler picture of the same.
func TestNames(t *testing.T) {
	t.Parallel()
	paths := []string{"a/x", "a/y", "b/x", "b/y"}
	rapid.Check(t, func(t *rapid.T) {
		d := newDisk(t.Fatal)
		d.do("mkdir a", "mkdir b", "settle")
		type file struct{ now, kept string }
		now, kept := map[string]*file{}, map[string]*file{}
		keep := func(path string) {
			if delete(kept, path); now[path] != nil {
				kept[path] = now[path]
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			p, q := rapid.SampledFrom(paths).Draw(t, "path"), rapid.SampledFrom(paths).Draw(t, "other")
			step := rapid.SampledFrom([]string{"write", "append", "remove", "rename", "link", "sync", "syncdir", "settle", "cut"}).Draw(t, "step")
			f := now[p]
			switch {
			case step == "write" && f == nil:
				now[p] = &file{now: "w"}
				d.do("write " + p + " w")
			case step == "append" && f != nil:
				f.now += "a"
				d.do("append " + p + " a")
			case step == "remove" && f != nil:
				delete(now, p)
				d.do("remove " + p)
			case step == "rename" && f != nil:
				if f != now[q] {
					now[q] = f
					delete(now, p)
				}
				d.do("rename " + p + " " + q)
			case step == "link" && f != nil && now[q] == nil:
				now[q] = f
				d.do("link " + p + " " + q)
			case step == "sync" && f != nil:
				f.kept = f.now
				for _, at := range paths {
					if now[at] == f || kept[at] == f {
						keep(at)
					}
				}
				d.do("sync " + p)
			case step == "syncdir":
				for _, at := range paths {
					if at[0] == p[0] {
						keep(at)
					}
				}
				d.do("sync " + p[:1])
			case step == "settle":
				for _, at := range paths {
					if keep(at); now[at] != nil {
						now[at].kept = now[at].now
					}
				}
				d.do("settle")
			case step == "cut":
				now = maps.Clone(kept)
				for _, f := range kept {
					f.now = f.kept
				}
				d.do("cut")
			}
			want := map[string]string{"a/": "", "b/": ""}
			for path, f := range now {
				want[path] = f.now
			}
			if diff := cmp.Diff(want, d.tree("")); diff != "" {
				t.Fatalf("after %s %s %s: want (-), got (+):\n%s", step, p, q, diff)
			}
		}
	})
}

// What cannot be done is refused as a kernel refuses it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	d := newDisk(t.Fatal)
	d.do("mkdir d", "mkdir d/e", "write a x", "write d/b y")
	top, dir, file := powercut.Root, d.at("d"), d.at("a")
	_, again := d.Make(top, "a", aFile, 1, 1)
	_, inFile := d.Make(file, "b", aFile, 1, 1)
	_, lost := d.Find(top, "nothing")
	for _, c := range []struct {
		name string
		got  error
		want syscall.Errno
	}{
		{"made twice", again, syscall.EEXIST},
		{"made in a file", inFile, syscall.ENOTDIR},
		{"not there", lost, syscall.ENOENT},
		{"file removed as directory", d.Remove(top, "a", true), syscall.ENOTDIR},
		{"directory removed as file", d.Remove(top, "d", false), syscall.EISDIR},
		{"full directory removed", d.Remove(top, "d", true), syscall.ENOTEMPTY},
		{"directory into itself", d.Rename(top, "d", d.at("d/e"), "f"), syscall.EINVAL},
		{"directory over file", d.Rename(top, "d", top, "a"), syscall.ENOTDIR},
		{"file over directory", d.Rename(top, "a", dir, "e"), syscall.EISDIR},
		{"link to a directory", d.Link(dir, top, "f"), syscall.EPERM},
		{"link over a name", d.Link(file, dir, "b"), syscall.EEXIST},
		{"no such node", d.Sync(999), syscall.ENOENT},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// A file that is open outlives its name; a directory of the real disk is taken over
// as it is, and as synced.
func TestOpenAndLoad(t *testing.T) {
	t.Parallel()
	d := newDisk(t.Fatal)
	d.do("write a x")
	id := d.at("a")
	d.must(d.Open(id))
	d.do("remove a", "sync .")
	buf := make([]byte, 10)
	if n, err := d.Read(id, 0, buf); string(buf[:n]) != "x" || err != nil {
		t.Errorf("an open file without a name holds %q (%v)", buf[:n], err)
	}
	d.Close(id)
	if _, err := d.Stat(id); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("the file has no name any more, and is there: %v", err)
	}

	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "d", "e"), 0o755), os.WriteFile(filepath.Join(dir, "d", "a"), []byte("real"), 0o640)); err != nil {
		t.Fatal(err)
	}
	d.must(d.Load(dir))
	d.do("cut")
	if got := d.shows(); got != "d/ d/a=real d/e/" {
		t.Errorf("loaded: %q", got)
	}
	info, err := d.Stat(d.at("d/a"))
	if err != nil || info.Mode != syscall.S_IFREG|0o640 || int(info.UID) != os.Getuid() {
		t.Errorf("loaded as %o of %d (%v)", info.Mode, info.UID, err)
	}
}
