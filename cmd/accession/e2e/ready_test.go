package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/run"
	"github.com/accession-ingest/accession/domain"
)

// TestFilesOfADirectoryBecomeReady: the files of an open directory wait for their slot and for
// their companion, and are READY when both are there; what comes after the end of its slot is
// skipped, and an operator may take that back.
func TestFilesOfADirectoryBecomeReady(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "20261120_a.dat 20-Nov-2026 09:05 32", "20261119_c.dat 20-Nov-2026 09:05 32")
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir)
	rules := filepath.Join(t.TempDir(), "rules.json")
	in.must(os.WriteFile(rules, []byte(`{"companions":[{"of":"*_a.dat","needs":"{stem}.hdr"}]}`), 0o600))
	in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "each image has its description"})
	in.says(0, words("slot add nights 20261120 --from 2126-01-01T00:00Z --to 2126-01-02T00:00Z"), "PENDING")
	in.says(0, words("slot add nights 20261119 --from 2126-01-01T00:00Z --to 2126-01-02T00:00Z"), "PENDING")
	in.says(0, words("slot close nights 20261119 --reason clouds"), "MISSED")
	p.serveInProcess(run.RoleDownload, run.RoleReady)
	p.polled()

	p.reaches("20261119_c.dat", domain.FileSkipped)
	p.went("20261119_c.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "SKIPPED:slot_closed")
	p.reaches("20261120_a.dat", domain.FileDownloaded)
	in.shown()
	in.says(0, []string{"file", "show", string(dir.hash("20261120_a.dat"))}, "waits for", "its slot")
	in.says(0, words("slot open nights 20261120 --reason early"), "ACTIVE")
	in.shown()
	in.says(0, []string{"file", "show", string(dir.hash("20261120_a.dat"))}, "waits for", "20261120_a.hdr")

	dir.set(func() { dir.files = append(dir.files, "20261120_a.hdr 20-Nov-2026 09:06 32") })
	p.asked()
	p.reaches("20261120_a.hdr", domain.FileReady)
	p.reaches("20261120_a.dat", domain.FileReady)
	p.went("20261120_a.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY")

	in.says(0, words("slot open nights 20261119 --to 2126-01-02T00:00Z --reason found"), "ACTIVE")
	in.says(0, []string{"file", "requeue", string(dir.hash("20261119_c.dat")), "--reason", "found"})
	p.reaches("20261119_c.dat", domain.FileReady)
	in.shown()
	in.says(0, words("slot ls --dataset nights"), "20261119", "20261120")
	in.says(0, words("verify"))
}

// TestFileWaitsForAPredicate: a file whose dataset has a predicate waits while that does not
// answer, says so, and is READY after a yes.
func TestFileWaitsForAPredicate(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_a.dat 20-Nov-2026 09:05 25")
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir)
	var open atomic.Bool
	asked := make(chan struct{}, 1)
	service := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil || !open.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"ready":true}`)
	}))
	rules := filepath.Join(t.TempDir(), "rules.json")
	in.must(os.WriteFile(rules, fmt.Appendf(nil, `{"predicate":{"url":%q}}`, service+"/may"), 0o600))
	in.says(0, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "the calibration comes first"})
	p.serveInProcess(run.RoleDownload, run.RoleReady)
	p.polled()
	p.reaches("1_a.dat", domain.FileDownloaded)
	<-asked
	in.shown()
	in.says(0, []string{"file", "show", string(dir.hash("1_a.dat"))}, "waits for", "a yes of the predicate")
	open.Store(true)
	p.reaches("1_a.dat", domain.FileReady)
	p.went("1_a.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "READY")

	for _, url := range []string{"ftp://files.example.org/may", "https://files.example.org/may?key=1", "https://files.example.org/may?"} {
		in.must(os.WriteFile(rules, fmt.Appendf(nil, `{"predicate":{"url":%q}}`, url), 0o600))
		in.says(2, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "x"}, "the address of a predicate is a URL of http or https without user, query and fragment")
	}
}

// TestFilesByTheirMetadata: a file whose metadata the rules of its dataset do not take is SKIPPED,
// and its reason is in SQL; one whose metadata they take is READY. An operator takes the skipped one
// back: the rules decide about it anew, by what they are then.
func TestFilesByTheirMetadata(t *testing.T) {
	t.Parallel()
	dir := newOpenDirectory(t, "1_clear.dat 20-Nov-2026 09:05 29", "2_clouds.dat 20-Nov-2026 09:05 30")
	in := newInstallation(t, "ready_interval=100ms")
	p := newPolled(t, in, dir)
	service := webServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked, err := io.ReadAll(r.Body)
		clouds := 12.5
		if err != nil || strings.Contains(string(asked), "2_clouds.dat") {
			clouds = 93
		}
		_, _ = fmt.Fprintf(w, `{"ready":true,"metadata":{"clouds":%v,"filter":"R"}}`, clouds)
	}))
	rules := filepath.Join(t.TempDir(), "rules.json")
	rule := func(status int, metadata string, says ...string) {
		in.must(os.WriteFile(rules, fmt.Appendf(nil, `{"predicate":{"url":%q},"metadata":%s}`, service+"/may", metadata), 0o600))
		in.says(status, []string{"dataset", "set", "nights", "--rules", rules, "--reason", "clear nights alone"}, says...)
	}
	rule(2, `[{"name":"clouds"}]`, "say which values of clouds are taken")
	rule(0, `[{"name":"clouds","max":30},{"name":"filter","values":["R","V"]}]`)
	p.serveInProcess(run.RoleDownload, run.RoleReady)
	p.polled()
	p.reaches("1_clear.dat", domain.FileReady)
	p.reaches("2_clouds.dat", domain.FileSkipped)
	p.went("2_clouds.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "SKIPPED:metadata_excluded")
	in.shown()
	const why = "its clouds is 93, and its dataset takes 30 or less"
	if n := in.count("select count(*) from accession.file where status = 'SKIPPED' and reason_class = 'content' and reason_code = 'metadata_excluded' and reason_message = $1", why); n != 1 {
		t.Errorf("%d files are skipped because %s", n, why)
	}
	in.says(0, []string{"file", "show", string(dir.hash("2_clouds.dat"))}, "SKIPPED", why)

	in.says(0, []string{"file", "requeue", string(dir.hash("2_clouds.dat")), "--reason", "look again"})
	waitFor(t, "the rules to skip it again", func() bool {
		return in.count("select count(*) from accession.file_transition where raw_file_hash = $1 and to_status = 'SKIPPED'", dir.hash("2_clouds.dat")) == 2
	})
	rule(0, `[{"name":"clouds","max":95}]`)
	in.says(0, []string{"file", "requeue", string(dir.hash("2_clouds.dat")), "--reason", "it counts"})
	p.reaches("2_clouds.dat", domain.FileReady)
	p.went("2_clouds.dat", "DISCOVERED", "DOWNLOADING", "DOWNLOADED", "SKIPPED:metadata_excluded", "DOWNLOADED:requested", "SKIPPED:metadata_excluded", "DOWNLOADED:requested", "READY")
	in.shown()
	in.says(0, words("verify"))
}
