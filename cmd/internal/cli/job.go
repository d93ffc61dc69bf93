package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) job() *cobra.Command {
	c := &cobra.Command{
		Use:     "job",
		Short:   "List jobs, show one, move them",
		Long:    "A job makes one object of a deposit.",
		Example: "  accession job ls --batch bid0000000001\n  accession job show jid0000000001",
	}
	c.AddCommand(p.jobLs(), p.jobShow(), p.jobHold(), p.jobRelease(), p.jobRequeue(), p.jobPriority(), p.jobDelete())
	return c
}

func (p *program) jobLs() *cobra.Command {
	var f app.JobFilter
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List jobs",
		Long:    "List jobs in the order of their ids. For the next page, give the last id with --after.",
		Example: "  accession job ls --status failed\n  accession job ls --batch bid0000000001 -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				page, err := a.Jobs(ctx, f)
				if err != nil {
					return err
				}
				return p.show(page, func(w io.Writer) {
					showJobs(w, page.Jobs)
					if page.Truncated {
						cut(w, len(page.Jobs), page.Total, "jobs", "--limit or --after "+page.Next)
					}
				})
			})
		}),
	}
	c.Flags().StringVar((*string)(&f.Batch), "batch", "", "only those of this `BATCH`")
	c.Flags().StringVar((*string)(&f.Status), "status", "", "only those in this `STATE`")
	c.Flags().StringVar((*string)(&f.After), "after", "", "only those after this `JOB`")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		return oneOf(c.CommandPath(), "--status", f.Status, append(slices.Clone(domain.JobStates), domain.JobDeleted))
	}
	limitFlag(c, &f.Limit, listLimit, "at most so many")
	return c
}

func (p *program) jobShow() *cobra.Command {
	var then app.Moment
	c := &cobra.Command{
		Use:     "show JOB",
		Short:   "Show a job, its files and its history",
		Long:    "Show a job, where its object is, how far its files are and the first 20 of them, and\nevery change of its state: when, after how long, by whom and why. With --at it is shown\nas it was.",
		Example: "  accession job show jid0000000001\n  accession job show jid0000000001 --at 4711 -o json",
		Args:    exactly("one job id"),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			id, err := domain.ParseJobID(args[0])
			if err != nil {
				return &usageError{err, "accession job show"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				ask := func() (app.JobView, error) { return a.Job(ctx, id) }
				if !then.IsNow() {
					ask = func() (app.JobView, error) { return a.JobAt(ctx, id, then) }
				}
				v, err := ask()
				if err != nil {
					return err
				}
				return p.show(v, func(w io.Writer) {
					showPlace(w, v.At)
					showJob(w, v)
				})
			})
		}),
	}
	atFlag(c, &then)
	return c
}

func showJob(w io.Writer, v app.JobView) {
	reason := ""
	if v.ReasonCode != nil {
		reason = fmt.Sprintf("%s (%s): %s", *v.ReasonCode, or(v.ReasonClass, ""), printable(or(v.ReasonMessage, "").(string)))
	}
	pairs(w,
		[2]any{"job", v.ID}, [2]any{"batch", v.BatchID}, [2]any{"status", v.Status}, [2]any{"reason", reason},
		[2]any{"title", printable(v.ErcWhat)}, [2]any{"creator", printable(v.ErcWho)}, [2]any{"date", printable(v.ErcWhen)},
		[2]any{"identifier", printable(v.PrimaryIdentifier)}, [2]any{"local ids", printable(strings.Join(v.LocalID, "; "))},
		[2]any{"payload", printable(v.PayloadUrl)}, [2]any{"payload type", v.PayloadType},
		[2]any{"priority", v.Priority}, [2]any{"retries", v.RetryCount},
		[2]any{"files", filesSummary(v)}, [2]any{"bytes", bytesSummary(v)},
		[2]any{"stored as", or(v.ManifestKey, "")})
	fmt.Fprintln(w)
	if len(v.FirstFiles) > 0 {
		showFiles(w, v.FirstFiles)
		if more := v.FileCounts.FilesListed - int64(len(v.FirstFiles)); more > 0 {
			fmt.Fprintf(w, "and %d more: accession file ls --job %s\n", more, v.ID)
		}
		fmt.Fprintln(w)
	}
	lines := make([][]any, len(v.Transitions))
	for i, t := range v.Transitions {
		after, why := "", ""
		if t.Seconds != nil {
			after = fmt.Sprintf("%.3f s", *t.Seconds)
		}
		if t.ReasonCode != nil {
			why = *t.ReasonCode + ": " + printable(or(t.ReasonMessage, "").(string))
		}
		from := t.FromStatus
		if from == "" {
			from = "–"
		}
		lines[i] = []any{t.Version, from + " → " + t.ToStatus, at(t.At), after, printable(t.Actor), why}
	}
	rows(w, "no history", []any{"no.", "change", "at", "after", "by", "why"}, lines)
	fmt.Fprintln(w)
	showRetries(w, v.Retries)
}

func (p *program) jobHold() *cobra.Command {
	return p.operating(verb{
		use:     "hold JOB...",
		short:   "Park pending jobs",
		long:    "Park jobs that are still pending, until they are released.",
		example: "  accession job hold jid0000000001 --reason \"rights unclear\"",
		noun:    "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.HoldJob(ctx, domain.JobID(id), why)
		},
	})
}

func (p *program) jobRelease() *cobra.Command {
	return p.operating(verb{
		use:     "release JOB...",
		short:   "Let held jobs go on",
		long:    "Let held jobs go on. It is refused while their collection is on hold.",
		example: "  accession job release jid0000000001 jid0000000002",
		noun:    "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.ReleaseJob(ctx, domain.JobID(id), why)
		},
	})
}

func (p *program) jobRequeue() *cobra.Command {
	return p.operating(verb{
		use:   "requeue JOB...",
		short: "Send failed jobs back to where they failed",
		long: `Send failed jobs back to the state in which they failed. What earlier steps have done
is kept, and so is the record of the failure. It is refused unless the batch is
processing or failed; of a failed one, ask for an update report when the jobs are
done.`,
		example: "  accession job requeue jid0000000001 --reason \"the source answers again\"\n" +
			"  accession job requeue jid0000000001 --dry-run",
		noun: "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.Requeue(ctx, domain.JobID(id), why)
		},
	})
}

func (p *program) jobPriority() *cobra.Command {
	var to int
	return p.operating(verb{
		use:     "priority JOB...",
		short:   "Make jobs more or less urgent",
		long:    "Change the priority of jobs that wait in a queue: 0 to 99, and lower runs first. A job\nthat is worked on in this moment is refused.",
		example: "  accession job priority --to 0 jid0000000001 --reason \"needed for the exhibition\"",
		noun:    "job", check: checkJob,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.Reprioritise(ctx, domain.JobID(id), to, why)
		},
		flags: func(c *cobra.Command) {
			c.Flags().IntVar(&to, "to", domain.PriorityDefault, "the new `PRIORITY`, 0 to 99 (required)")
			c.PreRunE = func(c *cobra.Command, _ []string) error {
				if !c.Flags().Changed("to") {
					return &usageError{errors.New("say which priority, with --to"), c.CommandPath()}
				}
				return nil
			}
		},
	})
}

func (p *program) jobDelete() *cobra.Command {
	return p.operating(verb{
		use:   "delete JOB...",
		short: "Delete failed or held jobs",
		long: `Delete failed or held jobs and what they have in working directories. Their history
stays. The answer says what the report of the batch will not tell because of it. It
is refused unless the batch is processing or failed.`,
		example: "  accession job delete jid0000000001 --reason \"sent twice\" --dry-run\n" +
			"  accession job delete jid0000000001 --reason \"sent twice\" --yes",
		noun: "job", check: checkJob, final: true, wants: true,
		do: func(ctx context.Context, a *app.App, id, why string) (app.Changed, error) {
			return a.DeleteJob(ctx, domain.JobID(id), why)
		},
	})
}
