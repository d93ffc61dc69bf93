//go:build !race

// The race detector makes a hundred thousand lines take most of a minute, and only one
// goroutine answers them.

package answer_test

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/answer"
	"github.com/accession-ingest/accession/cmd/internal/record"
	"github.com/accession-ingest/accession/domain/lookup"
	"github.com/accession-ingest/accession/projections/projtest"
)

// TestLongListNeedsLittleMemory: of a list of the most lines, what was answered is not kept.
func TestLongListNeedsLittleMemory(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	r, w := io.Pipe()
	go func() {
		for i := range lookup.MaxLines {
			if _, err := fmt.Fprintf(w, "%s %d\n", strings.Repeat("x", 500), i); err != nil {
				return
			}
		}
		_ = w.Close()
	}()
	defer r.Close()
	alive := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	n, early := 0, uint64(0)
	for a, err := range (answer.Sources{Tables: db, Records: record.New(db)}).Each(t.Context(), lookup.Lines(r)) {
		if err != nil || a.Outcome != lookup.NotFound {
			t.Fatalf("%+v, %v", a, err)
		}
		switch n++; n {
		case 1000:
			early = alive()
		case lookup.MaxLines:
			if late := alive(); late > early+10<<20 { // the list has 50 MB
				t.Errorf("after 1,000 lines %d bytes are alive, after all %d", early, late)
			}
		}
	}
	if n != lookup.MaxLines {
		t.Errorf("%d answers", n)
	}
}
