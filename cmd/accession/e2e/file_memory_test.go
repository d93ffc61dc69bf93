//go:build !race

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// TestMemoryDoesNotGrowWithTheFile: a process that has stored a file of 64 MiB needs no more
// memory for one of 256 MiB.
// Shows: P8
func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	t.Parallel()
	small, large := memoryOfFiles(t, 64<<20, 256<<20)
	t.Logf("at most %d MiB for the small file, and %d for both", small>>20, large>>20)
}

// memoryOfFiles has one process fetch, compare and store files, the smaller one first, and
// returns the most memory that it has had after each, which may differ by little. Garbage is collected as soon as it is as
// much as what is used: else it would be measured.
func memoryOfFiles(t *testing.T, small, large int64) (afterSmall, afterLarge int64) {
	t.Helper()
	const most = 16 << 20 // more than after the small one
	in := newForProcesses(t, "attempts: 3, timeout: 1h, min_rate: 0")
	base := webServer(t, http.HandlerFunc(generated))
	s := in.serveAt("GOGC=100")
	s.works()
	var after []int64
	for _, size := range []int64{small, large} {
		id := in.submit(app.Deposit{Payload: fmt.Sprintf("%s/%d", base, size), Type: domain.TypeFile})
		if v := in.rest(id); v.Status != string(domain.BatchCompleted) {
			t.Fatalf("%d bytes: %s: %+v", size, v.Status, v.Jobs)
		}
		if n := in.count("select count(*) from record.object_file where size = $1", size); n != 1 {
			t.Fatalf("%d files of %d bytes are stored", n, size)
		}
		after = append(after, highest(s.cmd.Process.Pid))
	}
	if after[0] == 0 || after[1] > after[0]+most {
		t.Errorf("%d bytes after the small file, %d after the large one, over %d more", after[0], after[1], most)
	}
	s.stop()
	return after[0], after[1]
}

// generated answers with as many bytes as the last part of the path says, which nothing holds.
func generated(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.ParseInt(strings.TrimPrefix(r.URL.Path, "/"), 10, 64)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Length", fmt.Sprint(n))
	if r.Method == http.MethodHead {
		return
	}
	piece := bytes.Repeat([]byte("the bytes of a file\n"), 1<<12)
	for n > 0 && err == nil {
		var k int
		k, err = w.Write(piece[:min(n, int64(len(piece)))])
		n -= int64(k)
	}
}
