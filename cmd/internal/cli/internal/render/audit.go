package render

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/accession-ingest/accession/cmd/internal/app/status"
	"github.com/accession-ingest/accession/domain"
)

// Audit writes how far the auditor is; nil = it was never started.
func Audit(w io.Writer, p *status.AuditPass) {
	switch {
	case p == nil:
		fmt.Fprintln(w, "audit       never started: no process runs the role auditor")
		return
	case p.Ended == nil:
		fmt.Fprintf(w, "audit       under way since %s: %d objects, %d files, %d bytes, %d findings\n", Time(p.Begun.Time), p.Objects, p.Files, p.Bytes, p.Findings)
	case p.Objects == 0:
		fmt.Fprintf(w, "audit       no pass yet; counting from %s\n", Time(p.Last.Time))
	default:
		fmt.Fprintf(w, "audit       last complete %s: %d objects, %d files, %d bytes, %d findings\n", Time(p.Last.Time), p.Objects, p.Files, p.Bytes, p.Findings)
	}
	if p.Corrupt > 0 {
		fmt.Fprintf(w, "            %d STORED FILES ARE CORRUPT: `accession verify --deep` names them\n", p.Corrupt)
	}
	if p.Replicas > 0 {
		fmt.Fprintf(w, "            %d replicas are pending: `accession verify` says why\n", p.Replicas)
	}
}

// Corrupt writes since when stored files of jobs are corrupt.
func Corrupt(w io.Writer, since map[string]domain.Time) {
	for _, job := range slices.Sorted(maps.Keys(since)) {
		fmt.Fprintf(w, "%s: what is stored of it is corrupt since %s\n", job, Time(since[job].Time))
	}
}
