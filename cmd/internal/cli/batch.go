package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// listLimit is how many rows a list shows when it is not told otherwise.
const listLimit = 50

func (p *program) batch() *cobra.Command {
	c := &cobra.Command{
		Use:     "batch",
		Short:   "List batches, show one, report on one, move them",
		Long:    "A deposit is a batch: one job for a file or an object, many for a manifest of objects.",
		Example: "  accession batch ls --status failed\n  accession batch report bid0000000001",
	}
	c.AddCommand(p.batchLs(), p.batchShow(), p.batchReport(), p.batchRelease(), p.batchUpdateReport(), p.batchSendReport(), p.batchDelete(), p.batchCleanup())
	return c
}

// batchID reads the id that a command was given.
func batchID(command, s string) (domain.BatchID, error) {
	id, err := domain.ParseBatchID(s)
	if err != nil {
		return "", &usageError{err, command}
	}
	return id, nil
}

// or gives what to show for a value that may be missing.
func or[T any](v *T, none string) any {
	if v == nil {
		return none
	}
	return *v
}

func (p *program) batchLs() *cobra.Command {
	var f app.BatchFilter
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List batches, newest first",
		Long:    "List batches, newest first. For the next page, give the last id with --before.",
		Example: "  accession batch ls\n  accession batch ls --status failed --submitter maria -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				page, err := a.Batches(ctx, f)
				if err != nil {
					return err
				}
				return p.show(page, func(w io.Writer) {
					list := page.Batches
					lines := make([][]any, len(list))
					for i, b := range list {
						name := b.FileName
						if b.ErcWhat != "" {
							name = b.ErcWhat
						}
						lines[i] = []any{b.BatchID, b.Status, printable(b.Submitter), b.ProfileName, or(b.RowsListed, "?"), b.JobsCompleted, b.JobsFailed,
							b.JobsHeld, b.JobsDeleted, b.JobsInProgress, atPtr(b.SubmittedAt), printable(name)}
					}
					rows(w, "no batches", []any{"batch", "status", "submitter", "profile", "jobs", "completed", "failed", "held", "deleted", "in progress", "submitted", "what"}, lines)
					if page.Truncated {
						cut(w, len(list), page.Total, "batches", "--limit or --before "+page.Next)
					}
				})
			})
		}),
	}
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only those in this `STATE`")
	c.Flags().StringVar(&f.Submitter, "submitter", "", "only those of this `NAME`")
	c.Flags().StringVar((*string)(&f.Before), "before", "", "only those older than this `BATCH`")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		return oneOf(c.CommandPath(), "--status", f.Status, domain.BatchStates)
	}
	limitFlag(c, &f.Limit, listLimit, "at most so many")
	return c
}

func (p *program) batchShow() *cobra.Command {
	var limit int
	var watch bool
	var then app.Moment
	c := &cobra.Command{
		Use:   "show BATCH",
		Short: "Show a batch and its jobs",
		Long: `Show a batch and where its jobs and their files stand. One that was accepted in this
instant is shown too. With --at it is shown as it was.

With --watch, follow it until it is at rest, as "accession submit --watch" does, with
the same exit codes.`,
		Example: "  accession batch show bid0000000001\n  accession batch show bid0000000001 --watch\n  accession batch show bid0000000001 --at 2026-03-01T12:00",
		Args:    exactly("one batch id"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			id, err := batchID("accession batch show", args[0])
			if err != nil {
				return err
			}
			if watch && !then.IsNow() {
				return &usageError{errors.New("--watch follows what happens now: leave out --at"), "accession batch show"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				ask := func() (app.BatchView, error) { return a.Batch(ctx, id, limit) }
				if !then.IsNow() {
					ask = func() (app.BatchView, error) { return a.BatchAt(ctx, id, then, limit) }
				}
				v, err := ask()
				if err != nil {
					return err
				}
				if watch {
					return p.follow(ctx, a, id, 0)
				}
				return p.show(v, func(w io.Writer) {
					showPlace(w, v.At)
					var files [][2]any
					if v.FileCounts.FilesListed > 0 {
						files = [][2]any{{"files", countsSummary(v.FileCounts)}, {"bytes", bytesOf(v.FileCounts)}}
					}
					showBatch(w, v.BatchSummary, append(files, mailLines(v)...)...)
					if !v.Projected {
						fmt.Fprintln(w, "\nits jobs are not in the tables yet")
						return
					}
					fmt.Fprintln(w)
					showJobs(w, v.Jobs)
					cutJobs(w, v.BatchID, len(v.Jobs), v.JobsTotal)
				})
			})
		}),
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "follow it until it is at rest")
	limitFlag(c, &limit, listLimit, "at most so many jobs")
	atFlag(c, &then)
	return c
}

// showBatch writes what a batch is and how it adds up, and what more there is to
// tell.
func showBatch(w io.Writer, b app.BatchSummary, more ...[2]any) {
	jobs := "not listed yet"
	if b.RowsListed != nil {
		jobs = fmt.Sprintf("%d listed = %d completed + %d failed + %d held + %d deleted + %d in progress",
			*b.RowsListed, b.JobsCompleted, b.JobsFailed, b.JobsHeld, b.JobsDeleted, b.JobsInProgress)
	}
	reason := ""
	if b.ReasonCode != nil {
		reason = fmt.Sprintf("%s (%s): %s", *b.ReasonCode, *b.ReasonClass, printable(*b.ReasonMessage))
	}
	pairs(w, slices.Concat([][2]any{
		{"batch", b.BatchID}, {"status", b.Status}, {"reason", reason},
		{"title", printable(b.ErcWhat)}, {"submitter", printable(b.Submitter)}, {"profile", b.ProfileName},
		{"type", b.Type}, {"file", printable(b.FileName)}, {"jobs", jobs},
		{"submitted", atPtr(b.SubmittedAt)}, {"reported", atPtr(b.ReportedAt)},
	}, more)...)
}

// mailLines tells what became of the mails about a batch, one line each.
func mailLines(v app.BatchView) (lines [][2]any) {
	if v.At == nil && v.Projected && v.ReportedAt != nil && !slices.ContainsFunc(v.Messages, func(m app.Message) bool { return m.About != "queued" }) {
		lines = append(lines, [2]any{"report mail", "none was sent"})
	}
	for _, m := range v.Messages {
		what := m.About
		if m.Again {
			what += " again"
		}
		how := fmt.Sprintf("%s %s, %d address(es), attempts: %d", m.State, at(m.LastAttemptAt.Time), m.Recipients, m.Attempts)
		if m.By != "" {
			how += ", by " + printable(m.By)
		}
		if m.Again && m.Reason != "" && m.Error == "" {
			how += " (" + printable(m.Reason) + ")"
		}
		if m.Error != "" {
			how += ": " + printable(m.Error)
		}
		lines = append(lines, [2]any{what + " " + string(m.Channel), how})
	}
	return lines
}

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

func (p *program) batchRelease() *cobra.Command {
	return p.operating(verb{
		use:   "release BATCH...",
		short: "Let held batches go on",
		long: `Let batches go on that were held because their collection was on hold. It is
refused while that hold stands.`,
		example: "  accession batch release bid0000000001\n  accession batch release bid0000000001 bid0000000002 --reason \"terms signed\"",
		noun:    "batch", check: checkBatch,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.ReleaseBatch(ctx, domain.BatchID(id), why)
		},
	})
}

func (p *program) batchUpdateReport() *cobra.Command {
	return p.operating(verb{
		use:   "update-report BATCH...",
		short: "Report failed batches once more, after their jobs were mended",
		long: `Ask for a further report of failed batches: which jobs succeeded since the report
before, and which are unresolved. It is refused while a job of the batch is at work.
The batch ends completed when nothing failed is left in it, else failed again.`,
		example: "  accession batch update-report bid0000000001 --reason \"the source answers again\"",
		noun:    "batch", check: checkBatch,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.RequestUpdate(ctx, domain.BatchID(id), why)
		},
	})
}

func (p *program) batchSendReport() *cobra.Command {
	return p.operating(verb{
		use:   "send-report BATCH...",
		short: "Send the report of batches to the depositor once more",
		long: `Send the last report of batches once more, as it was kept when it was made, to the
addresses that the profile has now. The mail says that it is sent again, and when.
The batch stays as it is; the history keeps who asked, and why.

It is refused while a report is not made, and when the profile names nobody. Asked
again after it was cut off, it goes on with the same mail under the same key.
accession batch show tells what became of every mail.`,
		example: "  accession batch send-report bid0000000001 --reason \"the depositor lost it\"",
		noun:    "batch", check: checkBatch,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.SendReport(ctx, domain.BatchID(id), why)
		},
	})
}

func (p *program) batchDelete() *cobra.Command {
	return p.operating(verb{
		use:   "delete BATCH...",
		short: "Delete failed or held batches with their jobs",
		long: `Delete failed or held batches, their jobs and what these have in working
directories. Objects that were stored stay where they are, and so do the history and
the reports. It is refused while a job of the batch is worked on.

From the first write on the batch is deleted for everybody. What is interrupted
after it is finished by the janitor, or by asking again.`,
		example: "  accession batch delete bid0000000001 --reason \"withdrawn by the depositor\" --dry-run\n" +
			"  accession batch delete bid0000000001 --reason \"withdrawn by the depositor\" --yes",
		noun: "batch", check: checkBatch, final: true, wants: true,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.DeleteBatch(ctx, domain.BatchID(id), why)
		},
	})
}

func (p *program) batchCleanup() *cobra.Command {
	return p.operating(verb{
		use:   "cleanup BATCH...",
		short: "Take completed batches out of the live state",
		long: `Take completed batches and their jobs out of the live state, before the janitor does
it after the retention time. Objects, history and reports stay.`,
		example: "  accession batch cleanup bid0000000001 --reason \"space is short\" --yes",
		noun:    "batch", check: checkBatch, final: true,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.CleanBatch(ctx, domain.BatchID(id), why)
		},
	})
}
