package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) batchReport() *cobra.Command {
	var limit int
	var then app.Moment
	c := &cobra.Command{
		Use:   "report BATCH",
		Short: "Report on a batch: every job, every failed attempt",
		Long: `Report on a batch, at any time: how its jobs add up, where each stands with its
identifier and its reason, and every failed attempt with what became of it. Success
later on erases no earlier failure. With --at it is the report of then.`,
		Example: "  accession batch report bid0000000001\n  accession batch report bid0000000001 -o json > report.json\n  accession batch report bid0000000001 --at 2026-03-01T12:00",
		Args:    exactly("one batch id"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			id, err := batchID("accession batch report", args[0])
			if err != nil {
				return err
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				ask := func() (app.BatchReportView, error) { return a.BatchReport(ctx, id, limit) }
				if !then.IsNow() {
					ask = func() (app.BatchReportView, error) { return a.BatchReportAt(ctx, id, then, limit) }
				}
				v, err := ask()
				if err != nil {
					return err
				}
				return p.show(v, func(w io.Writer) {
					showPlace(w, v.At)
					showReport(w, v)
				})
			})
		}),
	}
	limitFlag(c, &limit, 1000, "at most so many jobs and failed attempts")
	atFlag(c, &then)
	return c
}

func showReport(w io.Writer, v app.BatchReportView) {
	showBatch(w, v.BatchSummary)
	fmt.Fprintln(w)
	showJobs(w, v.Jobs)
	cutJobs(w, v.BatchID, len(v.Jobs), v.JobsTotal)
	fmt.Fprintln(w)
	if len(v.Jobs) == 0 && v.ReasonCode != nil {
		fmt.Fprintf(w, "no job was made: %s: %s\n", *v.ReasonCode, printable(or(v.ReasonMessage, "").(string)))
		return
	}
	showRetries(w, v.Retries)
	if n := len(v.Retries); int64(n) < v.RetriesTotal {
		cut(w, n, v.RetriesTotal, "failed attempts", "--limit")
	}
}

// showJobs writes where jobs stand.
func showJobs(w io.Writer, jobs []app.JobRow) {
	lines := make([][]any, len(jobs))
	for i, j := range jobs {
		why := ""
		if j.ReasonCode != nil && j.Status != "completed" {
			why = *j.ReasonCode + ": " + printable(or(j.ReasonMessage, "").(string))
		}
		name := j.FileName
		if j.ErcWhat != "" {
			name = j.ErcWhat
		}
		lines[i] = []any{j.ID, j.Status, printable(j.PrimaryIdentifier), or(j.Files, ""), or(j.Bytes, ""), j.RetryCount, printable(name), why}
	}
	rows(w, "no jobs", []any{"job", "status", "identifier", "files", "bytes", "retries", "what", "why"}, lines)
}

// showRetries writes the failed attempts.
func showRetries(w io.Writer, retries []app.Retry) {
	lines := make([][]any, len(retries))
	for i, r := range retries {
		lines[i] = []any{r.JobID, r.Attempt, r.FailedIn, r.Class, r.Code, at(r.FailedAt), atPtr(r.ResumedAt), or(r.ResumedBy, ""), r.Outcome, printable(r.Message)}
	}
	rows(w, "no attempt has failed", []any{"job", "attempt", "failed in", "class", "code", "failed at", "resumed", "by", "outcome", "why"}, lines)
}
