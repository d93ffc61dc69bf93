package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/manifest"
)

// TestBandwidthOfAProcess: a process takes no more bytes per second from all depositors' servers
// together than fetch_bandwidth says, as these see it. No more files are under way than its workers
// fetch at once: when a file is asked for, all but so many of those before it have come as a whole.
// In no window between two requests have more bytes come than the limit lets through, and its
// burst. A slow machine takes longer, which is no fault.
func TestBandwidthOfAProcess(t *testing.T) {
	t.Parallel()
	const (
		perSecond, burst = 256 << 10, 64 << 10
		jobs, parallel   = 2, 2
		files, size      = 32, 32 << 10 // of each job
	)
	in := newPatient(t, "fetch_bandwidth=256 KiB", fmt.Sprintf("workers=job-downloading=%d", jobs))
	in.editProfile("attempts: 20", fmt.Sprintf("attempts: 20, parallel: %d", parallel))
	var mu sync.Mutex
	var asked []time.Time // for files, in order
	content := bytes.Repeat([]byte("x"), size)
	depositor := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/object.checkm" {
			var rows strings.Builder
			fmt.Fprintf(&rows, manifestOf, manifest.MrtIngest)
			for i := range files {
				fmt.Fprintf(&rows, "http://%s/%d\n", r.Host, i)
			}
			_, _ = w.Write([]byte(rows.String() + atTheEnd))
			return
		}
		if r.Method == http.MethodGet {
			mu.Lock()
			asked = append(asked, time.Now())
			mu.Unlock()
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	})
	var ids []domain.BatchID
	for range jobs { // a server of its own for each
		ids = append(ids, in.submit(app.Deposit{Payload: webServer(t, depositor) + "/object.checkm", Type: domain.TypeObjectManifest}))
	}
	in.serveInProcess()
	for _, id := range ids {
		if v := in.rest(id); v.Status != string(domain.BatchCompleted) || v.FilesProcessed != files {
			t.Errorf("%+v", v.BatchSummary)
		}
	}
	ended := time.Now()
	mu.Lock()
	defer mu.Unlock()
	if !slices.IsSortedFunc(asked, time.Time.Compare) || len(asked) != jobs*files {
		t.Fatalf("%d requests for %d files", len(asked), jobs*files)
	}
	come := func(n, before int, from, to time.Time) {
		t.Helper()
		took := to.Sub(from)
		if most := burst + took.Seconds()*perSecond; float64(n*size) > most {
			t.Errorf("within %v, from request %d on, %d bytes have come: more than %.0f", took, before, n*size, most)
		}
	}
	for i, from := range asked {
		for n, to := range asked[i:] {
			come(n-jobs*parallel, i, from, to)
		}
		come(len(asked)-i, i, from, ended)
	}
	t.Logf("%d bytes have come in %v", jobs*files*size, ended.Sub(asked[0]))
}
