package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
