package diffs

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// Verified writes what a check found, what it looked at, and what it did not.
func Verified(w io.Writer, v app.Verified) {
	fmt.Fprintf(w, "compared %d events, %d batches, %d jobs, %d files, %d queries and %d settings\n", v.Events, v.Batches, v.Jobs, v.Files, v.Queries, v.Settings)
	writeFindings(w, v.Findings)
	writeRepairs(w, v)
	fmt.Fprintln(w)
	for _, l := range v.LookedAt {
		fmt.Fprintf(w, "looked at: %s: %s\n", l.What, l.How)
	}
	for _, l := range v.NotLooked {
		fmt.Fprintf(w, "not looked at: %s: %s\n", l.What, l.How)
	}
}

func writeRepairs(w io.Writer, v app.Verified) {
	if len(v.Repairs) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, r := range v.Repairs {
		line := fmt.Sprintf("%s: %d repaired", r.Subject, len(r.Repaired))
		switch {
		case r.NotRepaired != "":
			line = fmt.Sprintf("%s: not repaired: %s", r.Subject, export.Line(r.NotRepaired))
		case v.DryRun:
			line = fmt.Sprintf("%s: %d would be repaired", r.Subject, len(r.Repaired))
		}
		if r.Event != "" {
			line += " (event " + r.Event + ")"
		}
		fmt.Fprintln(w, line)
	}
	if v.DryRun {
		fmt.Fprintln(w, "nothing was changed: `accession verify --repair --yes` repairs it")
	}
}

// writeFindings writes a row for each finding, then the remedy of each code.
func writeFindings(w io.Writer, found []app.Finding) {
	remedies := map[domain.Code]string{}
	render.Rows(w, "no differences", render.Row{"code", "in", "about", "where", "expected", "found"}, found, func(f app.Finding) render.Row {
		remedies[f.Code] = f.Remedy
		return render.Row{f.Code, f.In, f.Subject, export.Line(f.Where), Brief(f.Want), Brief(f.Got)}
	})
	for i, code := range slices.Sorted(maps.Keys(remedies)) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", code, remedies[code])
	}
}
