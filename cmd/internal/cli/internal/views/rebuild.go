package views

import (
	"fmt"
	"io"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/diffs"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
)

// RebuildStep returns how far a rebuild is.
func RebuildStep(now tables.RebuildProgress) render.Step {
	s := render.Step{Doing: now.Phase, Done: now.Seq, Total: now.Last, Unit: "event "}
	if now.Rate > 0 {
		s.More = fmt.Sprintf(", %.0f events/s, %s left", now.Rate, render.Duration(now.Left))
	}
	return s
}

// Rebuilt writes what a rebuild has done, and how long it took.
func Rebuilt(w io.Writer, done tables.Rebuilt, took time.Duration) {
	if len(done.Tables) > 0 {
		render.Rows(w, "", render.Row{"table", "rows before", "rows now", ""}, done.Tables, func(t tables.TableDigest) render.Row {
			return render.Row{t.Table, t.LiveRows, t.NewRows, diffs.Equality(t.Same())}
		})
		fmt.Fprintln(w)
	}
	if done.Compared != "" {
		fmt.Fprintln(w, done.Compared)
	}
	rate := float64(done.Events) / max(done.Seconds, 0.001)
	fmt.Fprintf(w, "%d events replayed in %s (%.0f events/s); the new tables are live after %s\n", done.Events, render.Duration(done.Took()), rate, render.Duration(took))
	if done.Kept {
		fmt.Fprintln(w, "the old tables are in accession_old and report_old; `accession rebuild --drop` drops them")
	}
}
