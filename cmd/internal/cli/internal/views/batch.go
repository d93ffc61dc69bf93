package views

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/report"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain/metadata"
)

// Batch writes a batch and its jobs.
func Batch(w io.Writer, v app.BatchView) {
	AsOf(w, v.At)
	var files [][2]any
	if v.FileCounts.FilesListed > 0 {
		files = [][2]any{{"files", fileCounts(v.FileCounts)}, {"bytes", byteCounts(v.FileCounts)}}
	}
	if v.MetadataRecords != nil {
		files = append(files, [2]any{"records", report.MetadataCounts(*v.MetadataRecords)})
	}
	if v.Next != "" {
		files = append(files, [2]any{"next", v.Next})
	}
	Summary(w, v.BatchSummary, append(files, mailLines(v)...)...)
	if !v.Projected {
		fmt.Fprintln(w, "\nits jobs are not in the tables yet")
		return
	}
	fmt.Fprintln(w)
	Jobs(w, v.Jobs)
	truncatedJobs(w, v.BatchID, len(v.Jobs), v.JobsTotal)
}

// Summary writes what a batch is, how it adds up, and more lines.
func Summary(w io.Writer, b app.BatchSummary, more ...[2]any) {
	jobs := "not listed yet"
	if b.RowsListed != nil {
		jobs = fmt.Sprintf("%d listed = %d completed + %d failed + %d held + %d deleted + %d in progress",
			*b.RowsListed, b.JobsCompleted, b.JobsFailed, b.JobsHeld, b.JobsDeleted, b.JobsInProgress)
	}
	render.Pairs(w, slices.Concat([][2]any{
		{"batch", b.BatchID}, {"status", b.Status}, {"reason", render.ClassifiedReason(b.ReasonCode, b.ReasonClass, b.ReasonMessage)},
		{"title", export.Line(b.ErcWhat)}, {"submitter", export.Line(b.Submitter)}, {"profile", b.ProfileName},
		{"type", b.Type}, {"file", export.Line(b.FileName)}, {"jobs", jobs},
		{"submitted", render.Time(render.Deref(b.SubmittedAt))}, {"reported", render.Time(render.Deref(b.ReportedAt))},
	}, more)...)
}

// mailLines returns a line for each mail about the batch.
func mailLines(v app.BatchView) (lines [][2]any) {
	if v.At == nil && v.Projected && v.ReportedAt != nil && !slices.ContainsFunc(v.Messages, func(m app.Message) bool { return m.About != "queued" }) {
		lines = append(lines, [2]any{"report mail", "none was sent"})
	}
	for _, m := range v.Messages {
		what := m.About
		if m.Again {
			what += " again"
		}
		how := fmt.Sprintf("%s %s, %d address(es), attempts: %d", m.State, render.Time(m.LastAttemptAt.Time), m.Recipients, m.Attempts)
		if m.By != "" {
			how += ", by " + export.Line(m.By)
		}
		if m.Again && m.Reason != "" && m.Error == "" {
			how += " (" + export.Line(m.Reason) + ")"
		}
		if m.Error != "" {
			how += ": " + export.Line(m.Error)
		}
		lines = append(lines, [2]any{what + " " + string(m.Channel), how})
	}
	for _, c := range v.Callbacks {
		if c.DeliveredAt.IsZero() {
			lines = append(lines, [2]any{"callback of " + c.Job, fmt.Sprintf("%s %s, to %s, attempts: %d: %s", c.State, render.Time(c.LastAttemptAt.Time), export.Line(c.Host), c.Attempts, export.Line(c.Error))})
		}
	}
	return lines
}

// Callbacks writes callbacks about jobs.
func Callbacks(w io.Writer, all []app.Callback) {
	render.Rows(w, "no callbacks", render.Row{"job", "status", "to", "attempts", "last attempt", "delivered", "why"}, all, func(c app.Callback) render.Row {
		return render.Row{c.Job, c.Status, export.Line(c.Host), c.Attempts, render.Time(c.LastAttemptAt.Time), render.Time(c.DeliveredAt.Time), export.Line(c.Error)}
	})
}

// Report writes the report of a batch.
func Report(w io.Writer, v app.BatchReportView) {
	Summary(w, v.BatchSummary)
	fmt.Fprintln(w)
	Jobs(w, v.Jobs)
	truncatedJobs(w, v.BatchID, len(v.Jobs), v.JobsTotal)
	render.Corrupt(w, v.CorruptSince)
	fmt.Fprintln(w)
	warnings(w, v)
	metadataRecords(w, v.MetadataRecords)
	if len(v.Jobs) == 0 && v.ReasonCode != nil {
		fmt.Fprintf(w, "no job was created: %s\n", render.Reason(v.ReasonCode, v.ReasonMessage))
		return
	}
	Retries(w, v.Retries)
	render.Truncated(w, len(v.Retries), v.RetriesTotal, "failed attempts", "--limit")
}

// warnings writes what of the manifests was not taken as it is written, if there is
// anything.
func warnings(w io.Writer, v app.BatchReportView) {
	if len(v.Warnings) == 0 {
		return
	}
	render.Rows(w, "", render.Row{"manifest of", "warning"}, v.Warnings, func(m app.ManifestWarning) render.Row {
		return render.Row{cmp.Or(m.JobID, m.BatchID), export.Line(m.Warning)}
	})
	render.Truncated(w, len(v.Warnings), v.WarningsTotal, "warnings", "--limit")
	fmt.Fprintln(w)
}

// records writes the worst records of a metadata deposit.
func metadataRecords(w io.Writer, r *report.MetadataRecords) {
	if r == nil {
		return
	}
	fmt.Fprintf(w, "records: %s\n", report.MetadataCounts(r.MetadataRecords))
	if r.Problem != "" {
		fmt.Fprintf(w, "they could not be read: %s\n\n", export.Line(r.Problem))
		return
	}
	render.Rows(w, "", render.Row{"line", "identifier", "outcome", "message"}, r.Worst, func(m metadata.Record) render.Row {
		return render.Row{m.Line, export.Line(m.Identifier), m.Outcome, export.Line(strings.Join(m.Messages, "; "))}
	})
	render.Truncated(w, len(r.Worst), int64(r.Success+r.Warning+r.Failure), "records", "--limit")
	fmt.Fprintln(w)
}

func truncatedJobs(w io.Writer, id string, shown int, total int64) {
	render.Truncated(w, shown, total, "jobs", fmt.Sprintf("--limit or `accession job ls --batch %s`", id))
}

// AsOf writes as of when something is shown.
func AsOf(w io.Writer, at *app.AsOf) {
	if at != nil {
		fmt.Fprintf(w, "as of sequence %d of the log, %s\n\n", at.Seq, at.Stored.Local().Format("2006-01-02 15:04:05.000"))
	}
}
