//go:build soak && linux && !race

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestSoakQuery lets the longest list that is allowed go through the queue, from `query
// submit` to its report: a fifth of its lines each is a batch, a job, a local id, a digest
// that is unknown, and a line that is wrong.
func TestSoakQuery(t *testing.T) {
	const lines, each, bound = 100_000, 20_000, 192 << 20
	in := newForProcesses(t, "attempts: 3", "listen_ops=127.0.0.1:0", "ops_pprof=true")
	s := in.serve()
	s.until(200, "ok")
	payload := filepath.Join(t.TempDir(), "tides.txt")
	in.must(os.WriteFile(payload, []byte("tide tables"), 0o600))
	id := in.submit(app.Deposit{Payload: payload, LocalIDs: []string{"shelf 9"}})
	job := in.seenOf(id, 1, domain.EventJobCompleted)[0].Aggregate.ID
	in.shown()
	list := filepath.Join(t.TempDir(), "list.txt")
	var b strings.Builder
	for n := range each {
		fmt.Fprintf(&b, "%s\n%s\nlocal:shelf 9\n%064x\ndigest:%d\n", id, job, n, n)
	}
	in.must(os.WriteFile(list, []byte(b.String()), 0o600))
	before := in.resting(s)
	begun, most := time.Now(), 0
	in.says(0, []string{"query", "submit", list, "--submitter", "ana"}, "qid0000000001 received, of ana, 100000 lines")
	submitted := time.Since(begun)
	waitFor(t, "the answer", func() bool {
		most = max(most, in.metric(s.get("/metrics"), heapAlloc))
		return strings.Contains(in.says(0, []string{"query", "ls"}), "answered")
	})
	answered := time.Since(begun)
	report := filepath.Join(t.TempDir(), "report.csv")
	in.says(0, []string{"query", "report", "qid0000000001", "--format", "csv", "--out", report})
	took := time.Since(begun)
	written, err := os.ReadFile(report)
	in.must(err)
	for about, want := range map[string]int{",batch,found,batch,": each, ",job,found,job,": each, ",local,found,": 2 * each, ",not found,": each, ",wrong,": each} {
		if n := strings.Count(string(written), about); n != want {
			t.Errorf("%d rows have %q, want %d", n, about, want)
		}
	}
	in.says(0, []string{"query", "show", "qid0000000001"}, "100000 lines = 60000 found + 20000 not found + 20000 wrong")
	if most > before.heap+bound {
		t.Errorf("a heap of %d MiB, before %d", most>>20, before.heap>>20)
	}
	in.agree()
	figure(t, "%d lines: submitted after %.1f s, answered after %.1f s, reported (%d MiB of CSV) after %.1f s; a heap of at most %d MiB, at rest %d",
		lines, submitted.Seconds(), answered.Seconds(), len(written)>>20, took.Seconds(), most>>20, before.heap>>20)
}
