package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// exports: a process dies while it exports an object. What is there under its name is whole,
// and the next one completes it.
func exports(o *crashInstallation, point string) {
	o.finish(o.deposit("again"))
	id := o.object()
	dir, sound := filepath.Join(o.dir, "export-"+o.number()), filepath.Join(o.dir, "sound-"+o.number())
	o.run("object", "export", id, "--dir", sound)
	want := o.content(sound)
	if strings.Contains(point, "remove-bad") {
		stored := o.storedAt(id, "system/accession-erc.txt")
		good, err := os.ReadFile(stored)
		o.must(err)
		o.must(os.WriteFile(stored, []byte(strings.Repeat("x", len(good))), 0o600))
		o.dies(point, nil, "object", "export", id, "--dir", dir)
		o.must(os.WriteFile(stored, good, 0o600))
	} else {
		o.dies(point, nil, "object", "export", id, "--dir", dir)
	}
	for name, content := range o.content(dir) {
		if name != ".accession-export.part" && content != want[name] {
			o.t.Errorf("after a death at %s, %s is there as %q", point, name, content)
		}
	}
	o.run("object", "export", id, "--dir", dir)
	have := o.content(dir)
	for name := range want {
		if have[name] != want[name] || len(have) != len(want) || want["manifest.json"] == "" {
			o.t.Errorf("after a death at %s, %s is %q; %d files of %d", point, name, have[name], len(have), len(want))
		}
	}
	o.must(os.RemoveAll(dir))
	o.must(os.RemoveAll(sound))
}

// object returns the identifier of the object that was recorded last.
func (in *installation) object() (id string) {
	in.t.Helper()
	in.must(in.db.QueryRow(in.ctx(), `select primary_identifier from record.object_version order by recorded_at desc limit 1`).Scan(&id))
	return id
}

// storedAt returns the path of a file of an object in the store.
func (in *installation) storedAt(id, name string) (path string) {
	in.t.Helper()
	var key string
	kind, name, _ := strings.Cut(name, "/")
	in.must(in.db.QueryRow(in.ctx(), `select key from record.object_file where primary_identifier = $1 and kind = $2 and name = $3 order by version desc limit 1`, id, kind, name).Scan(&key))
	return filepath.Join(in.dir, "store", key)
}

// content returns the files below a directory.
func (in *installation) content(dir string) map[string]string {
	in.t.Helper()
	all := map[string]string{}
	if _, err := os.Stat(dir); os.IsNotExist(err) {
		return all
	}
	in.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path) // it is below
		all[name] = string(data)
		return err
	}))
	return all
}
