//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestSoakJobOfHundredThousandFiles: a job of a hundred thousand files ends, although its
// deadlines are those of every job.
func TestSoakJobOfHundredThousandFiles(t *testing.T) {
	in := newInstallation(t)
	in.editProfile("identifier:", "limits: {max_files: 100000}\nidentifier:")
	in.jobOfFiles(100_000)
}

// TestSoakFileOf4GiB: a process that has stored a file of 64 MiB needs no more memory for one of
// 4 GiB. The file is on the disk twice, below the directory of temporary files.
// Shows: P8
func TestSoakFileOf4GiB(t *testing.T) {
	small, large := memoryOfFiles(t, 64<<20, 4<<30)
	figure(t, "at most %d MiB of memory for a file of 64 MiB, %d for one of 4 GiB", small>>20, large>>20)
}

// TestSoakBatchOf50000Rows: what a process needs to make the jobs of a batch is bounded by what a
// profile allows, by default 50,000 rows and 64 MiB of manifest: five times the bytes of the manifest
// and 4 KiB for each job that waits then, at most, and never over 640 MiB.
// Shows: P8
func TestSoakBatchOf50000Rows(t *testing.T) {
	in := newForProcesses(t, "attempts: 3", "zookeeper_session_timeout=10s", "postgres_conns=16", "queue_limit=100000", "zookeeper_heap=4 GiB")
	in.says(0, words("queue pause pending --yes"), "paused")
	s := in.serveAt("GOGC=100")
	s.works()
	var before int64
	for _, c := range []struct{ rows, length int }{{5_000, 0}, {50_000, 0}, {9_000, 7_300}} {
		m := bytesOfRows(c.rows, strings.Repeat("/a-long-name", c.length/12))
		base := webServer(t, m)
		id := in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeBatchManifest})
		in.seenOf(id, 1, domain.EventBatchStarted)
		in.shown()
		if n := in.count("select count(*) from accession.job where batch_id = $1", string(id)); n != c.rows {
			t.Fatalf("%d jobs of %d rows", n, c.rows)
		}
		now, sent := highest(s.cmd.Process.Pid), m.sent.Load()
		figure(t, "at most %d MiB of memory up to %d rows in %.1f MiB", now>>20, c.rows, float64(sent)/(1<<20))
		if before == 0 {
			before = now
		}
		if most := min(before+5*sent+int64(c.rows)<<12, 640<<20); now > most {
			t.Errorf("%d bytes after %d rows, over %d", now, c.rows, most)
		}
	}
	s.stop()
}

// bytesOfRows serves a manifest of n rows whose URLs have a long middle.
func bytesOfRows(n int, middle string) *rowsOfBytes { return &rowsOfBytes{rows: n, middle: middle} }

type rowsOfBytes struct {
	rows   int
	middle string
	sent   atomic.Int64 // bytes of the manifest
}

// ServeHTTP implements http.Handler.
func (m *rowsOfBytes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := io.WriteString(w, "#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-batch-manifest\n")
	sent := int64(n)
	for i := range m.rows {
		n, _ := fmt.Fprintf(w, "http://%s%s/object/%d | | | | | object-%d.bin | | local-%d | The tests | Title %d | 2026\n", r.Host, m.middle, i, i, i, i)
		sent += int64(n)
	}
	n, _ = io.WriteString(w, "#%eof\n")
	m.sent.Store(sent + int64(n))
}
