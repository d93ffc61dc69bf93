package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"github.com/accession-ingest/accession/domain"
)

// polls: a directory is polled and its file downloaded; the process that comes after the one that
// died ends what it had begun, and nothing is known twice.
func polls(o *crashInstallation, point string) {
	dir, name := newOpenDirectory(o.t, "a.txt 20-Nov-2026 09:05 23", "below/ 20-Nov-2026 09:05 -"), "d"+strings.ReplaceAll(uuid.NewString(), "-", "")
	below := dir.below(map[string][]string{"/night/below/": nil})
	o.run("dataset", "add", name, "--profile", "test", "--reason", "to try it")
	o.run("discover", "add", dir.URL+"/night/", "--dataset", name, "--name", name, "--group", "g", "--every", "1s", "--recursive", "--reason", "to try it")
	polled := func() bool {
		return o.count("select count(*) from record.discovery where name = $1 and outcome in ('complete', 'unchanged')", name) == 1
	}
	switch {
	case strings.HasPrefix(point, "record/listing/keep-unchanged/"):
		s := o.serve()
		s.works()
		waitFor(o.t, "the poll of "+name, polled)
		s.stop()
		dir.set(func() { dir.files[0] = "a.txt 20-Nov-2026 10:05 23" })
		o.dies(point, nil, "serve")
	case strings.HasPrefix(point, "record/poll/ask/"):
		o.dies(point, nil, "discover", "run", name)
	case strings.HasPrefix(point, "record/poll/postpone/"):
		dir.set(func() { dir.busy = 1 })
		o.dies(point, nil, "serve")
		dir.set(func() { dir.busy = 0 })
	case strings.HasPrefix(point, "record/poll/pause/"):
		serve := dir.serve
		dir.answer(func(w http.ResponseWriter, r *http.Request) {
			if !below.list(w, r) {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
			}
		})
		o.dies(point, nil, "serve")
		dir.answer(serve)
	case strings.HasPrefix(point, "store/local/left/"): // an attempt was cut off
		part := filepath.Join(o.dir, "work", "files", "part")
		o.must(os.MkdirAll(part, 0o700))
		o.must(os.WriteFile(filepath.Join(part, string(dir.hash("a.txt"))+".1"), []byte("some"), 0o600))
		o.dies(point, nil, "serve")
	case strings.HasPrefix(point, "store/local/quarantine"): // a copy is damaged while its file waits
		o.run("slot", "add", name, "g", "--from", "2126-01-01T00:00Z", "--to", "2126-01-02T00:00Z")
		s := o.serve()
		s.works()
		o.fileBecomes(name, domain.FileDownloaded)
		s.stop()
		copies, err := filepath.Glob(filepath.Join(o.dir, "work", "files", "*", string(dir.hash("a.txt")), "*"))
		o.must(err)
		for _, c := range copies {
			o.must(os.WriteFile(c, []byte("damaged"), 0o600))
		}
		o.run("slot", "open", name, "g", "--reason", "to try it")
		o.dies(point, nil, "serve")
	default:
		o.dies(point, nil, "serve")
	}
	s := o.serve()
	s.works()
	waitFor(o.t, "the poll of "+name, func() bool {
		return polled() && o.count("select count(*) from accession.file where dataset = $1", name) == 1
	})
	if strings.HasPrefix(point, "store/local/quarantine") {
		o.fileBecomes(name, domain.FileReady) // it was fetched again
	}
	s.stop()
	if n := o.count("select count(*) from accession.event where type = 'file.discovered' and aggregate_id = $1", string(dir.hash("a.txt"))); n != 1 {
		o.t.Errorf("%s: the file is known by %d events", point, n)
	}
	o.run("discover", "rm", name, "--reason", "tried")
}

// fileBecomes waits until the one file of a dataset is in a state.
func (o *crashInstallation) fileBecomes(dataset string, state domain.FileState) {
	o.t.Helper()
	waitFor(o.t, "the file of "+dataset+" to be "+string(state), func() bool {
		return o.count("select count(*) from accession.file where dataset = $1 and status = $2", dataset, string(state)) == 1
	})
}

// computes: an entry of the compute queue has one result, whichever worker died.
func computes(o *crashInstallation, point string) {
	input, group := newOpenDirectory(o.t).URL+"/a.txt", uuid.NewString()
	work := []string{"compute", "worker", "--profile", "test", "--datasets", "nights", "--exec", "wc -c < {in} > {out}"}
	s := o.serve()
	s.works()
	o.run("compute", "submit", "--dataset", "nights", "--group", group, "--input", input)
	o.dies(point, nil, work...)
	next := o.command(work...)
	o.must(next.Start())
	waitFor(o.t, "the result of "+group, func() bool {
		return o.count("select count(*) from accession.compute_entry where group_name = $1 and status = 'SUCCESSFUL'", group) == 1
	})
	_ = next.Process.Signal(syscall.SIGTERM)
	_ = next.Wait() // it was stopped
	s.stop()
	if n := o.count("select count(*) from accession.event e join accession.compute_entry c on e.aggregate_id = c.id where c.group_name = $1 and e.type = 'entry.completed'", group); n != 1 {
		o.t.Errorf("%s: it has %d results", point, n)
	}
}
