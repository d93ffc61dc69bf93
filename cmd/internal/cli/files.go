package cli

import (
	"fmt"
	"io"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// showFiles writes where files stand, since when, and why.
func showFiles(w io.Writer, files []app.FileRow) {
	lines := make([][]any, len(files))
	for i, f := range files {
		why := ""
		if f.ReasonCode != nil && f.Status != string(domain.FileProcessed) {
			why = *f.ReasonCode + ": " + printable(or(f.ReasonMessage, "").(string))
		}
		lines[i] = []any{f.RawFileHash, f.JobID, printable(f.Path), f.Status, f.DownloadAttempts, f.ProcessingAttempts, f.Size, at(f.StatusSince), why}
	}
	rows(w, "no files", []any{"file", "job", "path", "status", "downloads", "processings", "bytes", "since", "why"}, lines)
}

// filesSummary tells how far a job's files are; a job of which no file is known yet
// has what its estimate says.
func filesSummary(v app.JobView) any {
	c := v.FileCounts
	if c.FilesListed == 0 {
		return or(v.Files, "")
	}
	return countsSummary(c)
}

func countsSummary(c app.FileCounts) string {
	return fmt.Sprintf("%d listed, %d downloaded: %d processed, %d skipped, %d given up, %d deleted, %d in progress",
		c.FilesListed, c.FilesDownloaded, c.FilesProcessed, c.FilesSkipped, c.FilesGivenUp, c.FilesDeleted, c.FilesInProgress)
}

func bytesSummary(v app.JobView) any {
	if c := v.FileCounts; c.FilesListed > 0 {
		return bytesOf(c)
	}
	return or(v.Bytes, "")
}

func bytesOf(c app.FileCounts) string {
	return fmt.Sprintf("%d of %d downloaded", c.BytesDownloaded, c.BytesListed)
}
