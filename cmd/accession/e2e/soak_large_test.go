//go:build soak && linux && !race

package e2e

import (
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

// TestSoakBatchOf50000Rows: the jobs of a batch of 50,000 rows, as many as a profile allows by
// default, need little more memory in the process that makes them than those of 5,000 rows.
// Shows: P8
func TestSoakBatchOf50000Rows(t *testing.T) {
	in := newForProcesses(t, "attempts: 3", "zookeeper_session_timeout=10s", "postgres_conns=16", "queue_limit=100000")
	in.says(0, words("queue pause pending --yes"), "paused")
	s := in.serveAt("GOGC=100")
	s.works()
	var after []int64
	for _, rows := range []int{5_000, 50_000} {
		base := webServer(t, manifestOfRows(rows, "mrt-batch-manifest"))
		id := in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeBatchManifest})
		in.seenOf(id, 1, domain.EventBatchStarted)
		in.shown()
		if n := in.count("select count(*) from accession.job where batch_id = $1", string(id)); n != rows {
			t.Fatalf("%d jobs of %d rows", n, rows)
		}
		after = append(after, highest(s.cmd.Process.Pid))
	}
	figure(t, "at most %d MiB of memory for 5,000 rows, %d for 50,000", after[0]>>20, after[1]>>20)
	if most := after[0] + 256<<20; after[1] > most {
		t.Errorf("%d bytes after 50,000 rows, over %d", after[1], most)
	}
	s.stop()
}
