package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
	"github.com/accession-ingest/accession/cmd/internal/poll"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// openDirectory is an open directory as a web server lists it, whose files a test changes.
type openDirectory struct {
	*httptest.Server
	mu      sync.Mutex
	files   []string // NAME DATE-TIME SIZE
	half    bool     // the listing stops in the middle
	busy    int      // seconds that the server asks to wait, 0 = it answers
	serve   http.HandlerFunc
	listing func() // is called when it is listed, if it is set
	listed  int    // requests of the listing
	spared  int    // those that were answered with unchanged
}

func newOpenDirectory(t testing.TB, files ...string) *openDirectory {
	d := &openDirectory{files: files, serve: func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "content of "+r.URL.Path) }}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *openDirectory) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// ServeHTTP implements http.Handler.
func (d *openDirectory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	serve := d.serve
	if r.URL.Path != "/night/" {
		d.mu.Unlock()
		serve(w, r)
		return
	}
	defer d.mu.Unlock()
	d.listed++
	if d.listing != nil {
		d.listing()
	}
	tag := fmt.Sprintf("%q", strings.Join(d.files, "|"))
	switch {
	case d.busy > 0:
		w.Header().Set("Retry-After", fmt.Sprint(d.busy))
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case r.Header.Get("If-None-Match") == tag:
		d.spared++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("ETag", tag)
	_, _ = io.WriteString(w, "<html><head><title>Index of /night/</title></head><body><h1>Index of /night/</h1><hr><pre><a href=\"../\">../</a>\n")
	for i, f := range d.files {
		if d.half && i > 0 {
			return
		}
		name, rest, _ := strings.Cut(f, " ")
		_, _ = fmt.Fprintf(w, "<a href=%q>%s</a>   %s\n", name, name, rest)
	}
	_, _ = io.WriteString(w, "</pre><hr></body></html>")
}

// polledInstallation is an installation with a dataset, and a directory that is polled for it
// when a test says so.
type polledInstallation struct {
	*installation
	dir       *openDirectory // nil = another one
	directory string         // its URL
	poller    *poll.Poller
}

func newPolled(t *testing.T, in *installation, dir *openDirectory, flags ...string) *polledInstallation {
	t.Helper()
	p := newPolledAt(t, in, dir.URL+"/night/", flags...)
	p.dir = dir
	return p
}

// newPolledAt is newPolled of a directory that the test does not make.
func newPolledAt(t *testing.T, in *installation, directory string, flags ...string) *polledInstallation {
	t.Helper()
	p := &polledInstallation{installation: in, directory: directory}
	in.serveInProcess(run.RoleRelay, run.RoleProjector)
	in.says(0, []string{"dataset", "add", "nights", "--profile", "test", "--group-pattern", "^([0-9]+)_", "--reason", "the survey begins"})
	in.says(0, append([]string{"discover", "add", directory, "--dataset", "nights", "--every", "1h", "--reason", "the survey begins"}, flags...))
	in.shown()
	var err error
	p.poller, err = in.wired.Poller(in.ctx())
	in.must(err)
	return p
}

// polled polls, and returns what is shown of it.
func (p *polledInstallation) polled() directories.LastPoll {
	p.t.Helper()
	p.must(p.poller.Once(p.ctx()))
	var d directories.Discovery
	p.must(json.Unmarshal([]byte(p.says(0, []string{"discover", "show", "nights", "-o", "json"})), &d))
	if d.Last == nil {
		p.t.Fatal("it was never polled")
	}
	return *d.Last
}

// asked polls because it was asked for.
func (p *polledInstallation) asked() directories.LastPoll {
	p.t.Helper()
	p.says(0, []string{"discover", "run", "nights"}, "nights stays polled")
	return p.polled()
}

// TestPollsOfADirectory: a file becomes known once; what is left out is counted; what changes or
// vanishes is noted; a listing that fails, or stops in the middle, changes nothing; a server is
// asked whether anything has changed, and left alone when it asks for that.
// Shows: P1
func TestPollsOfADirectory(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "20261120_a.fits 20-Nov-2026 09:05 2048", "20261121_b.fits 21-Nov-2026 09:05 17", "notes.txt 21-Nov-2026 09:05 5")
	p := newPolled(t, newInstallation(t), dir, "--pattern", "*.fits")
	last := p.polled()
	if last.Outcome != "complete" || last.Files != 2 || last.New != 2 || last.LeftOut.Pattern != 1 || last.Listed != 2 || last.Complete == nil {
		t.Errorf("the first poll: %+v", last)
	}
	found := p.seen(2, domain.EventFileDiscovered)
	data := found[0].Data.(*domain.FileFound) //nolint:forcetypeassert // of this type
	if f := data.File; f.Source != dir.URL+"/night/" || f.Path != "20261120_a.fits" || f.URL != dir.URL+"/night/20261120_a.fits" || f.Size != 2048 || f.Collection != "test" || f.Profile != "test" ||
		f.Dataset != "nights" || f.Group != "20261120" || f.Host == "" || f.Modified.String() != "2026-11-20T09:05:00.000Z" || f.JobID != "" || found[0].Actor != "daemon/discover" {
		t.Errorf("%+v", f)
	}
	before := dir.listed
	p.must(p.poller.Once(p.ctx())) // it is not due
	if dir.listed != before {
		t.Error("a directory is asked for before its time")
	}

	dir.set(func() {
		dir.files = []string{"20261120_a.fits 20-Nov-2026 10:00 4096", "c.fits 22-Nov-2026 09:05 3"}
		dir.half = true
	})
	if last = p.asked(); last.Outcome != "failed" || !strings.Contains(last.Error, "stops before its end") || last.Files != 2 || last.Vanished != 0 || last.Altered != 0 {
		t.Errorf("half a listing: %+v", last)
	}
	dir.set(func() { dir.half = false })
	if last = p.asked(); last.Outcome != "complete" || last.Error != "" || last.New != 1 || last.Known != 1 || last.Changed != 1 || last.Gone != 1 || last.Listed != 2 || last.Vanished != 1 || last.Altered != 1 {
		t.Errorf("a changed directory: %+v", last)
	}
	p.says(0, []string{"discover", "show", "nights"}, "last poll: complete", "1 new, 1 known, 1 changed at their source; 1 gone", "in all: 2 listed, 1 no more, 1 changed", "next poll: ")

	p.exec("update record.discovery set next_at = clock_timestamp()")
	if last = p.polled(); last.Outcome != "unchanged" || dir.spared != 1 || last.Known != 2 || last.New != 0 {
		t.Errorf("an unchanged directory: %+v, spared %d", last, dir.spared)
	}
	dir.set(func() { dir.busy = 7200 })
	if last = p.asked(); last.Outcome != "postponed" || last.Next.Sub(last.Ended.Time).Hours() < 1.9 || last.Listed != 2 {
		t.Errorf("a busy server: %+v", last)
	}
	dir.set(func() { dir.busy = 0; dir.files = nil })
	if last = p.asked(); last.Outcome != "complete" || last.Files != 0 || last.Gone != 2 || last.Listed != 0 {
		t.Errorf("an empty directory: %+v", last)
	}
	p.says(0, []string{"discover", "pause", "nights", "--reason", "they move"})
	p.says(3, []string{"discover", "run", "nights"}, "paused", "discover resume")

	// The records are lost, and all is found again: the log refuses every second discovery.
	dir.set(func() { dir.files = []string{"20261120_a.fits 20-Nov-2026 10:00 4096", "c.fits 22-Nov-2026 09:05 3"} })
	p.says(0, []string{"discover", "resume", "nights", "--reason", "they moved"})
	p.exec("delete from record.discovery")
	p.exec("delete from record.directory_listing")
	p.shown()
	if last = p.polled(); last.Outcome != "complete" || last.New != 0 || last.Known != 2 {
		t.Errorf("after the records were lost: %+v", last)
	}
	p.shown()
	if n := p.count("select count(*) from accession.file where dataset = 'nights'"); n != 3 {
		t.Errorf("%d files are known, want 3", n)
	}
	if out := p.says(0, []string{"file", "ls", "--dataset", "nights", "--group", "20261120"}, "20261120_a.fits"); strings.Contains(out, "c.fits") {
		t.Errorf("files of another group: %s", out)
	}
	p.says(20, []string{"verify"}, "listing_missing", "20261121_b.fits") // which no listing has any more
	p.says(0, []string{"verify", "--repair", "--yes"}, "1 repaired")
	p.says(0, []string{"verify"})
}
