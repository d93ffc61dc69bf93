package synced

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	bytes, name, dir := call{what: "sync", name: "/d/tmp"}, call{what: "sync", name: "/d/a"}, call{what: "sync", name: "/d"}
	made, move, link := call{what: "mkdir", name: "/d/a"}, call{"move", "/d/tmp", "/d/a/b"}, call{"link", "/d/tmp", "/d/a/b"}
	remove := call{what: "remove", name: "/d/tmp"}
	for what, c := range map[string]struct {
		calls []call
		want  string // in the fault, "" = none
	}{
		"all":                   {[]call{made, dir, bytes, move, name}, ""},
		"all, by a link":        {[]call{made, dir, bytes, link, remove, name}, ""},
		"in two steps":          {[]call{bytes, {"move", "/d/tmp", "/d/tmp2"}, {"move", "/d/tmp2", "/d/b"}, dir}, ""},
		"no bytes":              {[]call{move, name}, "before its bytes"},
		"bytes afterwards":      {[]call{move, {what: "sync", name: "/d/a/b"}, name}, "before its bytes"},
		"no bytes, by a link":   {[]call{link, name}, "before its bytes"},
		"no name":               {[]call{bytes, move}, "name of /d/a/b"},
		"name beforehand":       {[]call{bytes, name, move}, "name of /d/a/b"},
		"no name of the folder": {[]call{made, bytes, move, name}, "name of /d/a is"},
	} {
		placed, faults := check(c.calls, "/d")
		if len(placed) != 1 || (c.want == "") != (len(faults) == 0) || !strings.Contains(strings.Join(faults, "\n"), c.want) {
			t.Errorf("%s: %v, %v", what, placed, faults)
		}
	}
}

// TestRun watches a process that does it right, with calls of every kind.
func TestRun(t *testing.T) {
	t.Parallel()
	Run(t, func(dir string) {
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = root.Close() }()
		sync := func(name string) {
			f, err := os.Open(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				t.Error(err)
			}
			_ = f.Close()
		}
		try := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		try(os.WriteFile(filepath.Join(dir, "1"), nil, 0o600))
		sync("1")
		try(root.Mkdir("a", 0o700))
		sync(".")
		try(root.Link("1", "a/2"))
		try(os.Remove(filepath.Join(dir, "1")))
		try(os.Rename(filepath.Join(dir, "a/2"), filepath.Join(dir, "a/3")))
		try(root.Rename("a/3", "a/4"))
		sync("a")
	})
}
