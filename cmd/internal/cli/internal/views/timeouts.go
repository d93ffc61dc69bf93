package views

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain/setting"
)

// Timeouts writes how long attempts at files may take, and what says so.
func Timeouts(w io.Writer, t app.Timeouts) {
	seconds := func(s float64) string { return render.Duration(time.Duration(s * float64(time.Second))) }
	render.Rows(w, "no timeouts", render.Row{"attempt", "may take", "source", "configuration of this process"}, t.Timeouts, func(one app.Timeout) render.Row {
		source := one.Source
		switch {
		case source == setting.SourceInstallation:
			source += fmt.Sprintf(", version %d", t.Version)
		case len(one.Served) > 1:
			var each []string
			for _, s := range one.Served {
				each = append(each, seconds(s))
			}
			source += ", the longest of " + strings.Join(each, ", ")
		}
		own := fmt.Sprintf("%s %s (%s)", one.Own.Key, seconds(one.Own.Seconds), one.Own.Origin)
		return render.Row{one.Attempt, seconds(one.Seconds), source, export.Line(own)}
	})
}
