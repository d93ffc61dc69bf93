package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/entry"
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

// TestFilesAreProcessedAgain: a file that was processed is processed again by command, its new result
// takes the place of the former one, and both are kept; work that was requested on the command line
// with --wait is shown with its result, also the second time, when nothing is done again.
func TestFilesAreProcessedAgain(t *testing.T) {
	t.Parallel()
	dir, keeps := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25"), t.TempDir()
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir)
	rules, better := filepath.Join(keeps, "rules.json"), filepath.Join(keeps, "better")
	in.must(os.WriteFile(rules, []byte(`{"process":{}}`), 0o600))
	in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "spectra"})
	p.serveInProcess(run.RoleDownload, run.RoleReady, run.RoleDaemons)
	in.working("if [ -e '"+better+"' ]; then echo '\"better\"' > {out}; else wc -c < {in} > {out}; fi", "--profile", "test")
	p.polled()
	p.reaches("1_a.dat", domain.FileProcessed)
	hash := string(dir.hash("1_a.dat"))
	results := func(want string) {
		t.Helper()
		in.shown()
		if n := in.count("select count(*) from accession.file f join record.compute_result r on r.entry_id = f.output_key and r.sha256 = f.output_sha256 where f.raw_file_hash = $1 and r.result = $2::jsonb", hash, want); n != 1 {
			t.Errorf("%d files have the result %s", n, want)
		}
	}
	results("25")

	in.must(os.WriteFile(better, nil, 0o600))
	in.says(0, []string{"file", "reprocess", hash, "--reason", "a better algorithm", "--dry-run"}, "F16, F15, O2")
	in.says(0, []string{"file", "reprocess", hash, "--reason", "a better algorithm"}, "it is ready to be processed again")
	waitFor(t, "it to be processed again", func() bool {
		states := p.lived("1_a.dat")
		return len(states) > 9 && states[len(states)-1] == "PROCESSED"
	})
	p.went("1_a.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY", "PROCESSING", "PROCESSED",
		"PROCESSING_FAILED:reprocess_requested", "ABANDONED:reprocess_requested", "READY:reprocess_requested", "PROCESSING", "PROCESSED")
	results(`"better"`)

	submit := []string{"compute", "submit", "--dataset", "tides", "--input", dir.URL + "/a.txt", "--wait", "-o", "json"}
	var first, second entries.Work
	in.must(json.Unmarshal([]byte(in.says(0, submit)), &first))
	in.must(json.Unmarshal([]byte(in.says(0, submit)), &second))
	for _, w := range []entries.Work{first, second} {
		if w.Status != entry.Successful || w.Result == nil || w.Result.Value != "better" || w.ID != first.ID || w.Attempt != 1 {
			t.Errorf("%+v", w)
		}
	}
	in.says(0, words("verify"))
}
