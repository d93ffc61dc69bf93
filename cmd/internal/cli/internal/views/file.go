package views

import (
	"fmt"
	"io"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// Files writes a list of files.
func Files(w io.Writer, files []app.FileRow) {
	render.Rows(w, "no files", render.Row{"file", "job", "path", "status", "downloads", "processings", "bytes", "since", "why"}, files, func(f app.FileRow) render.Row {
		reason := ""
		if f.Status != string(domain.FileProcessed) {
			reason = render.Reason(f.ReasonCode, f.ReasonMessage)
		}
		return render.Row{f.RawFileHash, f.JobID, export.Line(f.Path), f.Status, f.DownloadAttempts, f.ProcessingAttempts, f.Size, render.Time(f.StatusSince), reason}
	})
}

func fileCounts(c app.FileCounts) string {
	return fmt.Sprintf("%d listed, %d downloaded: %d processed, %d skipped, %d given up, %d deleted, %d in progress",
		c.FilesListed, c.FilesDownloaded, c.FilesProcessed, c.FilesSkipped, c.FilesGivenUp, c.FilesDeleted, c.FilesInProgress)
}

func byteCounts(c app.FileCounts) string {
	return fmt.Sprintf("%d of %d downloaded", c.BytesDownloaded, c.BytesListed)
}

// File writes a file and its failed attempts.
func File(w io.Writer, v app.FileView) {
	AsOf(w, v.At)
	digest := ""
	if v.DigestValue != "" {
		digest = export.Line(v.DigestAlgorithm + ":" + v.DigestValue)
	}
	render.Pairs(w, [][2]any{
		{"file", v.RawFileHash}, {"path", export.Line(v.Path)}, {"status", v.Status}, {"since", render.Time(v.StatusSince)},
		{"reason", render.ClassifiedReason(v.ReasonCode, v.ReasonClass, v.ReasonMessage)}, {"waits for", waits(v)}, {"entries", entriesOf(v)}, {"worker", export.Line(v.Worker)},
		{"job", v.JobID}, {"batch", v.BatchID}, {"source", export.Line(v.Source)}, {"url", export.Line(v.Url)},
		{"digest given", digest}, {"bytes", v.Size}, {"sha256", v.Sha256},
		{"downloads", v.DownloadAttempts}, {"download began", render.Time(render.Deref(v.DownloadStartedAt))},
		{"processings", v.ProcessingAttempts}, {"processing began", render.Time(render.Deref(v.ProcessingStartedAt))},
		{"result", export.Line(render.Deref(v.OutputKey))}, {"discovered", render.Time(v.DiscoveredAt)}, {"version", v.Version},
	}...)
	fmt.Fprintln(w)
	render.Rows(w, "no attempt has failed", render.Row{"attempt", "failed in", "class", "code", "failed at", "resumed", "by", "worker", "outcome", "why"}, v.Retries, func(r app.Retry) render.Row {
		return render.Row{r.Attempt, r.FailedIn, r.Class, r.Code, render.Time(r.FailedAt), render.Time(render.Deref(r.ResumedAt)), export.Line(render.Deref(r.ResumedBy)), export.Line(r.Worker), r.Outcome, export.Line(r.Message)}
	})
}

// waits says what a file waits for.
func waits(v app.FileView) string {
	var all []string
	for _, w := range v.Waits {
		all = append(all, export.Line(w.For))
	}
	return strings.Join(all, "; ")
}

// FileHistory writes every change of a file.
func FileHistory(w io.Writer, moves []app.FileTransition) {
	render.Rows(w, "no history", render.Row{"no.", "change", "at", "after", "by", "worker", "downloads", "processings", "bytes", "why"}, moves, func(t app.FileTransition) render.Row {
		return render.Row{t.Version, render.Change(t.FromStatus, t.ToStatus), render.Time(t.At), render.Seconds(t.Seconds), export.Line(t.Actor), export.Line(t.Worker),
			t.DownloadAttempts, t.ProcessingAttempts, t.Size, render.Reason(t.ReasonCode, t.ReasonMessage)}
	})
}

// entriesOf says which entries of the compute queue stand for attempts at a file.
func entriesOf(v app.FileView) string {
	var all []string
	for _, e := range v.Entries {
		all = append(all, e.ID+" "+e.Status)
	}
	return strings.Join(all, ", ")
}
