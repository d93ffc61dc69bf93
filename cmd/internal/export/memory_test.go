//go:build !race

// One goroutine writes here a great many rows and looks at memory, in which the race
// detector keeps its own; it would make this five times as slow.

package export

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// TestMemoryDoesNotGrowWithTheExport looks how much is alive after three groups of
// rows and after ten: what has been written must be gone.
func TestMemoryDoesNotGrowWithTheExport(t *testing.T) {
	w, err := NewEventWriter(io.Discard, FormatParquet)
	if err != nil {
		t.Fatal(err)
	}
	alive := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.GC() // pools keep what they hold through one
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	e, early := sample(1), uint64(0)
	for i := range uint64(10*rowsPerGroup - 1) {
		e.Seq = i
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
		if i == 3*rowsPerGroup-2 {
			early = alive()
		}
	}
	if late := alive(); late > early+8<<20 {
		t.Errorf("%d MiB are held after 3 groups of rows, %d MiB after 10", early>>20, late>>20)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLongReportsAreStreamed writes 100,000 rows: none is kept, and what was read
// before an error is followed by it.
func TestLongReportsAreStreamed(t *testing.T) {
	const n = 100_000
	long := func(r app.Report, seen func(i int)) app.Report {
		r.Tables[0].Rows = func(yield func([]any, error) bool) {
			for i := range n {
				seen(i)
				if !yield([]any{"jid0000000001", strings.Repeat("x", 100), int64(i), 1.5, true, made}, nil) {
					return
				}
			}
		}
		return r
	}
	alive := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	for _, format := range []string{FormatText, FormatHTML, FormatJSON, FormatCSV} {
		var early, late uint64
		rows := 0
		err := WriteReport(io.Discard, long(report(), func(i int) {
			switch i {
			case n / 10:
				early = alive()
			case n - 1:
				late = alive()
			}
		}), ReportOptions{Format: format, Made: made, Row: func() { rows++ }})
		if err != nil || rows < n {
			t.Errorf("%s: %d rows, %v", format, rows, err)
		}
		if late > early+2<<20 { // kept rows would be 20 MiB
			t.Errorf("%s: %d KiB are held after a tenth of the rows, %d KiB at the end", format, early>>10, late>>10)
		}
	}
	broken := errors.New("the connection is lost")
	for _, format := range []string{FormatText, FormatHTML, FormatJSON, FormatCSV} {
		r := report()
		r.Tables[0].Rows = func(yield func([]any, error) bool) {
			_ = yield([]any{"a", "b", int64(1), 1.0, true, made}, nil) && yield(nil, broken)
		}
		if err := WriteReport(io.Discard, r, ReportOptions{Format: format, Made: made}); !errors.Is(err, broken) {
			t.Errorf("%s: %v", format, err)
		}
	}
}
