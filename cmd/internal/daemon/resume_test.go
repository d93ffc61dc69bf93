package daemon

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/domain"
)

// TestRequeuedJobFetchesWhatIsMissing: a job that failed because its server broke off, requests after
// its requeue only what is missing, and each byte once in all. What there was of the file goes when
// the file is there.
func TestRequeuedJobFetchesWhatIsMissing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	text := strings.Repeat("low and high water\n", 1000)
	const each = 5000
	var mu sync.Mutex
	var ranges []string
	w.web.on("/f.txt", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("ETag", `"v1"`)
		if r.Method == http.MethodHead {
			rw.Header().Set("Content-Length", fmt.Sprint(len(text)))
			return
		}
		mu.Lock()
		defer mu.Unlock()
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 2 {
			http.ServeContent(rw, r, "f.txt", time.Time{}, strings.NewReader(text))
			return
		}
		from := (len(ranges) - 1) * each
		rw.Header().Set("Content-Length", fmt.Sprint(len(text)-from))
		if from > 0 {
			rw.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(text)-1, len(text)))
			rw.WriteHeader(http.StatusPartialContent)
		}
		_, _ = rw.Write([]byte(text[from : from+each]))
	})
	id := w.jobIn(domain.JobDownloading, domain.TypeFile, "/f.txt", func(s *domain.Submission) { s.DigestAlgorithm, s.DigestValue = "sha256", hexOf(text) })
	w.untilMoved(id, domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobFailed, fetch.CodeUnreachable)
	begun := filepath.Join(j.Configuration.WorkingDir, "begun")
	if left, err := os.ReadDir(begun); err != nil || len(left) != 2 {
		t.Errorf("of a file that was cut off there is %v, %v", left, err)
	}
	w.requeue(id)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"", fmt.Sprintf("bytes=%d-", each), fmt.Sprintf("bytes=%d-", 2*each)}; !slices.Equal(ranges, want) {
		t.Errorf("requested %q, want %q", ranges, want)
	}
	if left, err := os.ReadDir(begun); err != nil || len(left) != 0 {
		t.Errorf("of a file that is there, there is also %v, %v", left, err)
	}
	if got, err := os.ReadFile(filepath.Join(j.Configuration.WorkingDir, "files", "f.txt")); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
