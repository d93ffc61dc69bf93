package views

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/failures"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// Jobs writes a list of jobs.
func Jobs(w io.Writer, jobs []app.JobRow) {
	render.Rows(w, "no jobs", render.Row{"job", "status", "identifier", "files", "bytes", "retries", "what", "why"}, jobs, func(j app.JobRow) render.Row {
		reason := ""
		if j.Status != string(domain.JobCompleted) {
			reason = render.Reason(j.ReasonCode, j.ReasonMessage)
		}
		return render.Row{j.ID, j.Status, render.Version(int(render.Deref(j.ObjectVersion)), j.PrimaryIdentifier), render.Or(j.Files, ""), render.Or(j.Bytes, ""), j.RetryCount,
			export.Line(cmp.Or(j.ErcWhat, j.FileName)), reason}
	})
}

// Failures writes groups of failed jobs, and how many there are besides.
func Failures(w io.Writer, page app.Page[failures.Failure]) {
	render.Rows(w, "no job has failed", render.Row{"jobs", "why", "who acts", "server of the payload", "collection", "profile", "first", "last", "example"}, page.Items, func(f failures.Failure) render.Row {
		why := "no reason"
		if f.Code != "" {
			why = render.ClassifiedReason(&f.Code, &f.Class, &f.Message)
		}
		return render.Row{f.Jobs, why, f.WhoActs, export.Line(f.Host), export.Line(f.Collection), export.Line(f.Profile), render.Time(f.First), render.Time(f.Last), f.Example}
	})
	render.Truncated(w, len(page.Items), render.Deref(page.Total), "groups", "--limit")
}

// Job writes a job, its files and its history.
func Job(w io.Writer, v app.JobView) {
	AsOf(w, v.At)
	// A job of which no file is known yet has the numbers of its estimate.
	files, bytes := render.Or(v.Files, ""), render.Or(v.Bytes, "")
	if v.FileCounts.FilesListed > 0 {
		files, bytes = fileCounts(v.FileCounts), byteCounts(v.FileCounts)
	}
	render.Pairs(w, [][2]any{
		{"job", v.ID}, {"batch", v.BatchID}, {"status", v.Status}, {"reason", render.ClassifiedReason(v.ReasonCode, v.ReasonClass, v.ReasonMessage)},
		{"title", export.Line(v.ErcWhat)}, {"creator", export.Line(v.ErcWho)}, {"date", export.Line(v.ErcWhen)},
		{"identifier", render.Version(int(render.Deref(v.ObjectVersion)), v.PrimaryIdentifier)}, {"local ids", export.Line(strings.Join(v.LocalID, "; "))},
		{"payload", export.Line(v.PayloadUrl)}, {"payload type", v.PayloadType},
		{"priority", v.Priority}, {"retries", v.RetryCount}, {"files", files}, {"bytes", bytes}, {"stored as", render.Or(v.ManifestKey, "")},
		{"corrupt since", render.Time(render.Deref(v.CorruptSince))},
	}...)
	fmt.Fprintln(w)
	if len(v.FirstFiles) > 0 {
		Files(w, v.FirstFiles)
		if more := v.FileCounts.FilesListed - int64(len(v.FirstFiles)); more > 0 {
			fmt.Fprintf(w, "and %d more: accession file ls --job %s\n", more, v.ID)
		}
		fmt.Fprintln(w)
	}
	if len(v.Steps) > 0 {
		render.Rows(w, "", render.Row{"step", "entry", "status", "worker", "requested", "why"}, v.Steps, func(s app.JobStep) render.Row {
			return render.Row{s.Step, s.ID, s.Status, export.Line(s.Worker), s.Requested, export.Line(s.Reason)}
		})
		fmt.Fprintln(w)
	}
	render.Rows(w, "no history", render.Row{"no.", "change", "at", "after", "by", "why"}, v.Transitions, func(t app.JobTransition) render.Row {
		return render.Row{t.Version, render.Change(t.FromStatus, t.ToStatus), render.Time(t.At), render.Seconds(t.Seconds), export.Line(t.Actor), render.Reason(t.ReasonCode, t.ReasonMessage)}
	})
	fmt.Fprintln(w)
	Retries(w, v.Retries)
}

// Retries writes the failed attempts of jobs.
func Retries(w io.Writer, retries []app.Retry) {
	render.Rows(w, "no attempt has failed", render.Row{"job", "attempt", "failed in", "class", "code", "failed at", "resumed", "by", "outcome", "why"}, retries, func(r app.Retry) render.Row {
		return render.Row{r.JobID, r.Attempt, r.FailedIn, r.Class, r.Code, render.Time(r.FailedAt), render.Time(render.Deref(r.ResumedAt)), render.Deref(r.ResumedBy), r.Outcome, export.Line(r.Message)}
	})
}
