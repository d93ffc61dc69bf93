package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/directories"
)

// directoriesBelow are directories below an open directory, by their paths, as a web server lists
// them.
type directoriesBelow struct {
	in     *openDirectory
	files  map[string][]string // NAME DATE-TIME SIZE
	listed map[string]int      // requests of the listings
	spared map[string]int      // those that were answered with unchanged
}

// below has a directory list directories below it too.
func (d *openDirectory) below(files map[string][]string) *directoriesBelow {
	b := &directoriesBelow{d, files, map[string]int{}, map[string]int{}}
	serve := d.serve
	d.answer(func(w http.ResponseWriter, r *http.Request) {
		if !b.list(w, r) {
			serve(w, r)
		}
	})
	return b
}

// list answers a request of a listing.
func (b *directoriesBelow) list(w http.ResponseWriter, r *http.Request) bool {
	b.in.mu.Lock()
	defer b.in.mu.Unlock()
	files, is := b.files[r.URL.Path]
	if !is {
		return false
	}
	b.listed[r.URL.Path]++
	tag := fmt.Sprintf("%q", strings.Join(files, "|"))
	if r.Header.Get("If-None-Match") == tag {
		b.spared[r.URL.Path]++
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("ETag", tag)
	_, _ = fmt.Fprintf(w, "<html><head><title>Index of %[1]s</title></head><body><h1>Index of %[1]s</h1><hr><pre><a href=\"../\">../</a>\n", r.URL.Path)
	for _, f := range files {
		name, rest, _ := strings.Cut(f, " ")
		_, _ = fmt.Fprintf(w, "<a href=%q>%s</a>   %s\n", name, name, rest)
	}
	_, _ = io.WriteString(w, "</pre><hr></body></html>")
	return true
}

// TestDirectoriesThatStay: where a directory is polled with those below it, each listing is asked
// for by what its server said before; what is known of one that has not changed counts as listed,
// also of one below it, and who asks for a poll has all read.
// Shows: P1
func TestDirectoriesThatStay(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "one/ 20-Nov-2026 09:05 -", "two/ 20-Nov-2026 09:05 -", "1_a.dat 20-Nov-2026 09:05 25")
	below := dir.below(map[string][]string{
		"/night/one/":      {"deep/ 20-Nov-2026 09:05 -", "1_b.dat 20-Nov-2026 09:05 29", "notes.txt 20-Nov-2026 09:05 5"},
		"/night/one/deep/": {"1_c.dat 20-Nov-2026 09:05 34", "1_d.dat 20-Nov-2026 09:05 34"},
		"/night/two/":      {"1_e.dat 20-Nov-2026 09:05 29"},
	})
	p := newPolled(t, newInstallation(t), dir, "--recursive", "--pattern", "*.dat")
	again := func() directories.LastPoll {
		t.Helper()
		p.exec("update record.discovery set next_at = clock_timestamp()")
		return p.polled()
	}
	spared := func(first, one, deep, two int) {
		t.Helper()
		dir.set(func() {
			if got, want := fmt.Sprint(dir.spared, below.spared["/night/one/"], below.spared["/night/one/deep/"], below.spared["/night/two/"]), fmt.Sprint(first, one, deep, two); got != want {
				t.Errorf("spared %s, want %s", got, want)
			}
		})
	}
	if last := p.polled(); last.Outcome != "complete" || last.Files != 5 || last.New != 5 || last.Directories != 4 || last.LeftOut.Pattern != 1 {
		t.Errorf("the first poll: %+v", last)
	}
	if last := again(); last.Outcome != "unchanged" || last.Files != 5 || last.Listed != 5 {
		t.Errorf("nothing has changed: %+v", last)
	}
	spared(1, 1, 1, 1)

	dir.set(func() {
		below.files["/night/two/"] = []string{"1_e.dat 20-Nov-2026 10:05 29", "1_f.dat 20-Nov-2026 10:05 29"}
	})
	if last := again(); last.Outcome != "complete" || last.Files != 6 || last.New != 1 || last.Known != 5 || last.Changed != 1 || last.Gone != 0 || last.Directories != 4 || last.LeftOut.Pattern != 1 || last.Listed != 6 {
		t.Errorf("one of them has changed: %+v", last)
	}
	spared(2, 2, 2, 1)

	dir.set(func() {
		below.files["/night/one/"] = []string{"deep/ 20-Nov-2026 09:05 -"}
		below.files["/night/one/deep/"] = []string{"1_d.dat 20-Nov-2026 09:05 34"}
	})
	if last := again(); last.Files != 4 || last.New != 0 || last.Gone != 2 || last.LeftOut.Pattern != 0 || last.Listed != 4 {
		t.Errorf("files have gone: %+v", last)
	}
	spared(3, 2, 2, 2)

	// A directory that fails changes nothing, and what is known stays.
	dir.set(func() { delete(below.files, "/night/one/deep/") })
	if last := again(); last.Outcome != "failed" || last.Listed != 4 || last.Vanished != 2 {
		t.Errorf("a directory cannot be read: %+v", last)
	}
	dir.set(func() { below.files["/night/one/deep/"] = []string{"1_d.dat 20-Nov-2026 09:05 34"} })
	if last := again(); last.Outcome != "unchanged" || last.Listed != 4 {
		t.Errorf("after that: %+v", last)
	}

	// Who asks has all read.
	before := dir.spared
	if last := p.asked(); last.Outcome != "complete" || last.Files != 4 || last.Known != 4 || dir.spared != before {
		t.Errorf("who asks: %+v, spared %d more", last, dir.spared-before)
	}

	// Files that are lost are not taken for listed: the next poll finds them again.
	p.exec("delete from record.directory_listing where path = 'one/deep/1_d.dat'")
	dir.set(func() { dir.files = append(dir.files, "1_g.dat 20-Nov-2026 10:05 25") })
	p.exec("update record.discovery set next_at = clock_timestamp()")
	if err := p.poller.Once(p.ctx()); err == nil || !strings.Contains(err.Error(), "read anew") {
		t.Errorf("what was lost is not missed: %v", err)
	}
	if last := p.polled(); last.Outcome != "complete" || last.Files != 5 || last.New != 1 || last.Known != 4 || last.Listed != 5 || last.Gone != 0 {
		t.Errorf("after that: %+v", last)
	}
	p.shown()
	p.says(0, []string{"verify"})
}
