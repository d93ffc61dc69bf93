package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestRulesOfAPoll: a file that is too old or too large for its discovery is counted and not
// fetched, and is found once it is neither.
// Shows: P1
func TestRulesOfAPoll(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25", "2_old.dat 20-Oct-2026 09:05 27", "3_large.dat 20-Nov-2026 09:05 2048")
	var fetched []string
	dir.answer(func(w http.ResponseWriter, r *http.Request) {
		dir.set(func() { fetched = append(fetched, r.URL.Path) })
		_, _ = io.WriteString(w, "content of "+r.URL.Path)
	})
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir, "--newer-than", "2026-11-01", "--max-size", "1 KiB")
	if last := p.polled(); last.Outcome != "complete" || last.Files != 1 || last.New != 1 || last.LeftOut != (directories.LeftOut{Age: 1, Size: 1}) {
		t.Errorf("%+v", last)
	}
	in.says(0, []string{"discover", "show", "nights"}, "left out: 0 by their name, 1 by their age, 1 by their size")
	p.shown()
	p.serveInProcess(run.RoleDownload, run.RoleReady)
	p.reaches("1_a.dat", domain.FileReady)
	if n := p.count("select count(*) from accession.file where dataset = 'nights'"); n != 1 {
		t.Errorf("%d files are known, want 1", n)
	}

	dir.set(func() { dir.files[1] = "2_old.dat 20-Nov-2026 10:05 27" })
	if last := p.asked(); last.New != 1 || last.Known != 1 || last.LeftOut != (directories.LeftOut{Size: 1}) {
		t.Errorf("when it was modified: %+v", last)
	}
	p.reaches("2_old.dat", domain.FileReady)
	dir.set(func() {
		if want := []string{"/night/1_a.dat", "/night/2_old.dat"}; !slices.Equal(fetched, want) {
			t.Errorf("fetched %v, want %v", fetched, want)
		}
	})
}

// TestFilesByVersion: in a dataset with --by-version a file that changes at its source is another
// file, beside the one that is there; one that stays is not.
// Shows: P1
func TestFilesByVersion(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25", "1_b.dat 20-Nov-2026 09:05 25")
	later := false
	dir.answer(func(w http.ResponseWriter, r *http.Request) {
		dir.set(func() {
			if later && r.URL.Path == "/night/1_a.dat" {
				_, _ = io.WriteString(w, "later ")
			}
		})
		_, _ = io.WriteString(w, "content of "+r.URL.Path)
	})
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, newOpenDirectory(t))
	in.says(0, []string{"dataset", "add", "versions", "--profile", "test", "--by-version", "--reason", "they are made again"})
	in.says(0, []string{"discover", "add", dir.URL + "/night/", "--dataset", "versions", "--every", "1h", "--reason", "they are made again"})
	p.shown()
	p.serveInProcess(run.RoleDownload, run.RoleReady)
	last := func() (last directories.LastPoll) {
		t.Helper()
		p.must(p.poller.Once(p.ctx()))
		var d directories.Discovery
		p.must(json.Unmarshal([]byte(p.says(0, []string{"discover", "show", "versions", "-o", "json"})), &d))
		return *d.Last
	}
	ready := func(n int) {
		t.Helper()
		waitFor(t, "the files to be ready", func() bool {
			return p.count("select count(*) from accession.file where dataset = 'versions' and status = 'READY'") == n
		})
	}
	if l := last(); l.Outcome != "complete" || l.New != 2 {
		t.Errorf("%+v", l)
	}
	ready(2)

	dir.set(func() { later, dir.files[0] = true, "1_a.dat 20-Nov-2026 10:05 31" })
	p.says(0, []string{"discover", "run", "versions"})
	if l := last(); l.New != 1 || l.Known != 1 || l.Changed != 1 || l.Gone != 0 || l.Listed != 2 {
		t.Errorf("when one was changed: %+v", l)
	}
	ready(3)
	p.says(0, []string{"discover", "run", "versions"})
	if l := last(); l.New != 0 || l.Known != 2 || l.Changed != 0 {
		t.Errorf("when none was: %+v", l)
	}
	if n := p.count("select count(*) from accession.file where dataset = 'versions' and path = '1_a.dat' and size in (25, 31)"); n != 2 {
		t.Errorf("%d versions of the file, want 2", n)
	}
	p.says(0, words("verify"))
}

// TestCacheOfAWorker: the command of a worker finds the directory of its group again, also after
// the worker was started again, and not once the cache had too much; the worker prefers groups that
// it has, and no other worker uses its cache.
func TestCacheOfAWorker(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	in.serveInProcess(run.RoleRelay, run.RoleProjector, run.RoleDaemons)
	dir, keeps := newOpenDirectory(t), t.TempDir()
	cache, script, order := filepath.Join(keeps, "cache"), filepath.Join(keeps, "spectrum"), filepath.Join(keeps, "order")
	in.must(os.WriteFile(script, []byte(`echo "$ACCESSION_GROUP" >> `+order+`
if test -e "$ACCESSION_CACHE/kept"; then echo 1; else head -c 600 /dev/zero > "$ACCESSION_CACHE/kept"; echo 0; fi > "$1"
`), 0o600))
	start := func() (stop func()) {
		c := in.command("compute", "worker", "--profile", "test", "--exec", "sh "+script+" {out}", "--cache", cache, "--cache-size", "1KiB")
		c.Stdout, c.Stderr = t.Output(), t.Output()
		in.must(c.Start())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = c.Wait() // it was stopped
		}()
		stop = func() {
			_ = c.Process.Signal(os.Interrupt)
			<-ended
		}
		t.Cleanup(stop)
		return stop
	}
	submit := func(group, key string) {
		t.Helper()
		in.says(0, []string{"compute", "submit", "--dataset", "tides", "--group", group, "--input", dir.URL + "/" + key, "--key", key})
	}
	found := func(key, want string) {
		t.Helper()
		waitFor(t, "the result of "+key, func() bool {
			return in.count("select count(*) from accession.compute_entry where key = $1 and status = 'SUCCESSFUL'", key) == 1
		})
		if in.count("select count(*) from record.compute_result r join accession.compute_entry e on e.id = r.entry_id where e.key = $1 and r.result = $2::jsonb", key, want) != 1 {
			t.Errorf("%s: it finds other than %s of what was kept", key, want)
		}
	}
	stop := start()
	for _, c := range []struct{ group, key, want string }{
		{"a", "a1", "0"},
		{"a", "a2", "1"},
		{"b", "b1", "0"}, // both have more than 1 KiB: the directory of a goes
		{"a", "a3", "0"}, // and that of b
		{"a", "a4", "1"},
		{"b", "b2", "0"}, // and that of a
	} {
		submit(c.group, c.key)
		found(c.key, c.want)
	}
	in.says(1, []string{"compute", "worker", "--exec", "true", "--cache", cache}, "another worker's")
	stop()
	submit("a", "a5")
	submit("b", "b3")
	start()
	found("b3", "1")
	found("a5", "0")
	text, err := os.ReadFile(order)
	in.must(err)
	if want := "a\na\nb\na\na\nb\nb\na\n"; string(text) != want {
		t.Errorf("it worked on %q, want %q", text, want)
	}
}
