package e2e

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestFilesOfADirectoryAreFetchedAnew: a file that was changed at its source is fetched anew by
// command, with the size that its directory lists now, also where it was the last attempt; what
// the report says of it follows.
// Shows: P1
func TestFilesOfADirectoryAreFetchedAnew(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "a.txt 20-Nov-2026 09:05 9", "b.txt 20-Nov-2026 09:05 9")
	content := map[string]string{"/night/a.txt": "some text", "/night/b.txt": "some text"}
	dir.answer(func(w http.ResponseWriter, r *http.Request) {
		dir.mu.Lock()
		defer dir.mu.Unlock()
		_, _ = io.WriteString(w, content[r.URL.Path])
	})
	p := newPolled(t, newInstallation(t), dir)
	p.polled()
	p.serveInProcess(run.RoleDownload)
	p.reaches("a.txt", domain.FileDownloaded)
	p.reaches("b.txt", domain.FileDownloaded)
	dir.set(func() {
		dir.files[0] = "a.txt 20-Nov-2026 10:05 15"
		content["/night/a.txt"], content["/night/b.txt"] = "some other text", "text some" // of one the size does not tell
	})
	if last := p.asked(); last.Changed != 1 {
		t.Errorf("%+v", last)
	}
	p.shown()
	report := []string{"report", "reconciliation", "--dataset", "nights", "--format", "csv"}
	p.says(0, report, "a.txt,,true,true,false,changed,\"its directory lists 15 bytes, 9 are held\"", "b.txt,,true,true,false,held,it is DOWNLOADED")
	anew := func(path string) { // or given up
		t.Helper()
		waitFor(t, path+" to be fetched anew", func() bool {
			states := p.lived(path)
			last := states[len(states)-1]
			return len(states) > 4 && (last == "DOWNLOADED" || strings.HasPrefix(last, "IGNORE"))
		})
	}
	p.says(0, []string{"file", "redownload", string(dir.hash("a.txt")), "--reason", "it was changed", "--dry-run"}, "F8")
	p.says(0, []string{"file", "redownload", string(dir.hash("a.txt")), "--reason", "it was changed"}, "it is fetched anew")
	anew("a.txt")
	states := p.lived("a.txt")
	if again := states[3:]; !slices.Equal(again, []string{"DOWNLOADING_FAILED:redownload_requested", "DOWNLOADING", "DOWNLOADED"}) &&
		!slices.Equal(again, []string{"DOWNLOADING_FAILED:redownload_requested", "IGNORE:attempts_used_up", "DISCOVERED:redownload_requested", "DOWNLOADING", "DOWNLOADED"}) {
		t.Errorf("%v", states)
	}
	p.says(0, []string{"file", "redownload", string(dir.hash("b.txt")), "--reason", "it was changed"})
	anew("b.txt")
	if a, b := p.content("a.txt"), p.content("b.txt"); a != "some other text" || b != "text some" {
		t.Errorf("%q, %q", a, b)
	}
	p.shown()
	p.says(0, report, "a.txt,,true,true,false,held,it is DOWNLOADED")
	p.says(0, []string{"verify"})
}
