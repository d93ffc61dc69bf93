package cli

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/callbacks"
	"github.com/accession-ingest/accession/cmd/internal/app/retries"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) batch() *cobra.Command {
	changes := verbs(p, "BATCH", "batch id", domain.ParseBatchID, of("batch", batchChange,
		verb[domain.BatchID]{
			name:  "release",
			short: "Release held batches",
			long: `Release batches that are held because their collection was on hold. Refused while the
collection is still on hold.`,
			example: "  accession batch release bid0000000001\n  accession batch release bid0000000001 bid0000000002 --reason \"terms signed\"",
		},
		verb[domain.BatchID]{
			name:  "update-report",
			short: "Report again on failed batches, after their jobs were requeued",
			long: `Request an update report of failed batches: which jobs have completed since the last
report, and which have not. Refused while a job of the batch is running. The batch
then becomes completed when no job of it is failed, else failed again.`,
			example: "  accession batch update-report bid0000000001 --reason \"the source answers again\"",
		},
		verb[domain.BatchID]{
			name:  "send-report",
			short: "Send the last report of batches to the depositor again",
			long: `Send the last report of batches again, unchanged, to the addresses that the profile
has now. The mail says that it is sent again, and when. The state of the batch does
not change; the history records who asked and why.

Refused before a report was made, and when the profile has no addresses. When it was
interrupted, the same command continues with the same mail under the same key.
` + "`accession batch show`" + ` shows the state of every mail.`,
			example: "  accession batch send-report bid0000000001 --reason \"the depositor lost it\"",
		},
		verb[domain.BatchID]{
			name:  "delete",
			short: "Delete failed or held batches and their jobs",
			long: `Delete failed or held batches, their jobs, and the working directories of the jobs.
Stored objects, history and reports stay. Refused while a job of the batch is running.

The batch counts as deleted from the first write on. When the rest is interrupted, the
janitor or the same command finishes it.`,
			example: "  accession batch delete bid0000000001 --reason \"withdrawn by the depositor\" --dry-run\n" +
				"  accession batch delete bid0000000001 --reason \"withdrawn by the depositor\" --yes",
			final: true, reason: true,
		},
		verb[domain.BatchID]{
			name:  "cleanup",
			short: "Remove completed batches from the live state",
			long: `Remove completed batches and their jobs from ZooKeeper, before the janitor does so at
the end of the retention time. Objects, history and reports stay.`,
			example: "  accession batch cleanup bid0000000001 --reason \"space is short\" --yes",
			final:   true,
		})...)
	return group(&cobra.Command{
		Use:     "batch",
		Short:   "List, show, report on and change batches",
		Long:    "Each deposit is a batch: one job for a file or an object, many for a manifest of objects.",
		Example: "  accession batch ls --state failed\n  accession batch report bid0000000001",
	}, append(changes, p.batchLs(), p.batchShow(), p.batchReport(), p.batchRetries(), p.batchCallbacks())...)
}

func (p *program) batchLs() *cobra.Command {
	var f app.BatchFilter
	var from app.Cursor
	var sort string
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List batches, newest first",
		Long:    "List batches, newest first, or in the order of --sort. For the next page, give --cursor.",
		Example: "  accession batch ls\n  accession batch ls --state failed --submitter maria -o json",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request {
			return request{"batch.ls", &operation.BatchList{Page: pageOf(f.Limit, from), Filter: filter(f.Filter), State: string(f.State), Order: operation.Order{Sort: sort}}}
		}, func(w io.Writer, page app.Page[app.BatchSummary]) {
			render.Rows(w, "no batches", render.Row{"batch", "status", "submitter", "profile", "jobs", "completed", "failed", "held", "deleted", "in progress", "submitted", "what"},
				page.Items, func(b app.BatchSummary) render.Row {
					return render.Row{b.BatchID, b.Status, export.Line(b.Submitter), b.ProfileName, render.Or(b.RowsListed, "?"), b.JobsCompleted, b.JobsFailed,
						b.JobsHeld, b.JobsDeleted, b.JobsInProgress, render.Time(render.Deref(b.SubmittedAt)), export.Line(cmp.Or(b.ErcWhat, b.FileName))}
				})
			more(w, page, "batches")
		}),
	}
	flags.Parsed(c, &f.State, "state", "", "only batches in this `STATE`", flags.Optional(flags.Among(domain.BatchStates...)))
	flags.Filter(c, &f.Filter, "batches")
	flags.Sort(c, &sort, app.BatchOrders)
	flags.Cursor(c, &from)
	flags.Limit(c, &f.Limit, flags.ListLimit, "batches")
	return c
}

func (p *program) batchShow() *cobra.Command {
	var limit int
	var watch bool
	var then app.Moment
	c := &cobra.Command{
		Use:   "show BATCH",
		Short: "Show a batch and its jobs",
		Long: `Show a batch and the states of its jobs and files, also of a batch that has only just
been accepted. With --at, show it as it was.

With --watch, follow it until it is at rest, like ` + "`accession submit --watch`" + `, with
the same exit codes.`,
		Example: "  accession batch show bid0000000001\n  accession batch show bid0000000001 --watch\n  accession batch show bid0000000001 --at 2026-03-01T12:00",
		Args:    one("batch id", domain.ParseBatchID),
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			id := domain.BatchID(args[0])
			v, err := door.Carry[app.BatchView](ctx, d, "batch.show", batchShow(id, then, limit))
			if err != nil {
				return err
			}
			if watch {
				return p.follow(ctx, d, id, 0)
			}
			return show(p, v, views.Batch)
		}),
	}
	c.Flags().BoolVarP(&watch, "watch", "w", false, "follow it until it is at rest")
	flags.Limit(c, &limit, flags.ListLimit, "jobs")
	flags.At(c, &then)
	c.MarkFlagsMutuallyExclusive("watch", "at")
	return c
}

func (p *program) batchReport() *cobra.Command {
	var limit int
	var then app.Moment
	c := &cobra.Command{
		Use:   "report BATCH",
		Short: "Report on a batch: every job, every failed attempt",
		Long: `Report on a batch at any time: how its jobs add up, the state of each with its
identifier and reason, and every failed attempt with its outcome. A later success
erases no earlier failure. With --at, report as of that time.`,
		Example: "  accession batch report bid0000000001\n  accession batch report bid0000000001 -o json > report.json\n  accession batch report bid0000000001 --at 2026-03-01T12:00",
		Args:    one("batch id", domain.ParseBatchID),
		RunE: served(p, func(args []string) request {
			return request{"batch.report", batchShow(domain.BatchID(args[0]), then, limit)}
		}, func(w io.Writer, v app.BatchReportView) {
			views.AsOf(w, v.At)
			views.Report(w, v)
		}),
	}
	flags.Limit(c, &limit, 1000, "jobs and failed attempts")
	flags.At(c, &then)
	return c
}

func (p *program) batchRetries() *cobra.Command {
	var in operation.BatchRetries
	var job domain.JobID
	var from app.Cursor
	c := &cobra.Command{
		Use:   "retries BATCH",
		Short: "List the failed attempts of the jobs of a batch, job by job",
		Long: `List the failed attempts of the jobs of a batch, job by job: in which state each failed
and why, and what became of it. Success erases none. For the next page, give --cursor;
` + "`accession report retries --batch BATCH`" + ` has those of its files too.`,
		Example: "  accession batch retries bid0000000001 --outcome open\n  accession batch retries bid0000000001 --code timeout -o json",
		Args:    one("batch id", domain.ParseBatchID),
		RunE: served(p, func(args []string) request {
			in.ID, in.Job, in.Cursor = args[0], string(job), string(from)
			return request{"batch.retries", &in}
		}, func(w io.Writer, page app.Page[app.Retry]) {
			views.Retries(w, page.Items)
			more(w, page, "failed attempts")
		}),
	}
	flags.Parsed(c, &job, "job", "", "only those of this `JOB`", flags.Optional(domain.ParseJobID))
	c.Flags().StringVar(&in.Code, "code", "", "only those with a reason of this `CODE`")
	flags.Parsed(c, &in.Outcome, "outcome", "", "only those that ended in this `OUTCOME`: "+strings.Join(retries.Outcomes, ", "), flags.Optional(flags.Among(retries.Outcomes...)))
	flags.Age(c, &in.Since, &in.OlderThan, "those", "that failed")
	flags.Cursor(c, &from)
	flags.Limit(c, &in.Limit, flags.ListLimit, "failed attempts")
	return c
}

func (p *program) batchCallbacks() *cobra.Command {
	var in operation.BatchCallbacks
	var job domain.JobID
	var from app.Cursor
	c := &cobra.Command{
		Use:   "callbacks BATCH",
		Short: "List the callbacks about the jobs of a batch, newest first",
		Long: `List the callbacks about the jobs of a batch, newest first: to which host, how often
they were tried, and why the last attempt failed. For the next page, give --cursor.`,
		Example: "  accession batch callbacks bid0000000001 --state failed\n  accession batch callbacks bid0000000001 -o json",
		Args:    one("batch id", domain.ParseBatchID),
		RunE: served(p, func(args []string) request {
			in.ID, in.Job, in.Cursor = args[0], string(job), string(from)
			return request{"batch.callbacks", &in}
		}, func(w io.Writer, page app.Page[app.Callback]) {
			views.Callbacks(w, page.Items)
			more(w, page, "callbacks")
		}),
	}
	flags.Parsed(c, &job, "job", "", "only those about this `JOB`", flags.Optional(domain.ParseJobID))
	flags.Parsed(c, &in.State, "state", "", "only callbacks in this `STATE`: "+strings.Join(callbacks.States, ", "), flags.Optional(flags.Among(callbacks.States...)))
	flags.Age(c, &in.Since, &in.OlderThan, "those", "made")
	flags.Cursor(c, &from)
	flags.Limit(c, &in.Limit, flags.ListLimit, "callbacks")
	return c
}

// batchChange is what is asked for to change a batch.
func batchChange(id domain.BatchID, change operation.Change) any {
	return &operation.BatchChange{BatchID: operation.BatchID{ID: string(id)}, Match: operation.Match{Change: change}}
}

// batchShow is what is asked for to show a batch.
func batchShow(id domain.BatchID, then app.Moment, limit int) *operation.BatchShow {
	return &operation.BatchShow{BatchID: operation.BatchID{ID: string(id)}, At: at(then), Limit: limit}
}
