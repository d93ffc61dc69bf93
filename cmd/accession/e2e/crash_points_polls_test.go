package e2e

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// polls: a directory is polled and its file downloaded; the process that comes after the one that
// died ends what it had begun, and nothing is known twice.
func polls(o *crashInstallation, point string) {
	dir, name := newOpenDirectory(o.t, "a.txt 20-Nov-2026 09:05 9"), "d"+strings.ReplaceAll(uuid.NewString(), "-", "")
	o.run("dataset", "add", name, "--profile", "test", "--reason", "to try it")
	o.run("discover", "add", dir.URL+"/night/", "--dataset", name, "--every", "1s", "--reason", "to try it")
	switch {
	case strings.HasPrefix(point, "record/poll/ask/"):
		o.dies(point, nil, "discover", "run", name)
	case strings.HasPrefix(point, "record/poll/postpone/"):
		dir.set(func() { dir.busy = 1 })
		o.dies(point, nil, "serve")
		dir.set(func() { dir.busy = 0 })
	case strings.HasPrefix(point, "store/local/left/"): // an attempt was cut off
		part := filepath.Join(o.dir, "work", "files", "part")
		o.must(os.MkdirAll(part, 0o700))
		o.must(os.WriteFile(filepath.Join(part, string(dir.hash("a.txt"))+".1"), []byte("some"), 0o600))
		o.dies(point, nil, "serve")
	default:
		o.dies(point, nil, "serve")
	}
	s := o.serve()
	s.works()
	waitFor(o.t, "the poll of "+name, func() bool {
		return o.count("select count(*) from record.discovery where name = $1 and outcome in ('complete', 'unchanged')", name) == 1 &&
			o.count("select count(*) from accession.file where dataset = $1", name) == 1
	})
	s.stop()
	if n := o.count("select count(*) from accession.event where type = 'file.discovered' and aggregate_id = $1", string(dir.hash("a.txt"))); n != 1 {
		o.t.Errorf("%s: the file is known by %d events", point, n)
	}
	o.run("discover", "rm", name, "--reason", "tried")
}
