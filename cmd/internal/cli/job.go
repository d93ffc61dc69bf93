package cli

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	lookcli "github.com/accession-ingest/accession/cmd/internal/cli/internal/look"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) job() *cobra.Command {
	var priority int
	changes := verbs(p, "JOB", "job id", domain.ParseJobID, of("job", jobChange,
		verb[domain.JobID]{
			name:    "hold",
			short:   "Hold pending jobs",
			long:    "Hold jobs that are still pending, until they are released.",
			example: "  accession job hold jid0000000001 --reason \"rights unclear\"",
		},
		verb[domain.JobID]{
			name:    "release",
			short:   "Release held jobs",
			long:    "Release held jobs: they become pending again. Refused while their collection is on hold.",
			example: "  accession job release jid0000000001 jid0000000002",
		},
		verb[domain.JobID]{
			name:  "fail",
			short: "End jobs that have neither completed nor failed",
			long: `End jobs in any state before completed and failed: they fail with the code cancelled.
A worker that has a job locked is stopped: its next write is refused. The jobs can be
requeued or deleted.`,
			example: "  accession job fail jid0000000001 --reason \"withdrawn by the depositor\" --dry-run\n" +
				"  accession job fail jid0000000001 --reason \"withdrawn by the depositor\"",
			reason: true,
		},
		verb[domain.JobID]{
			name:  "requeue",
			short: "Requeue failed jobs in the state where they failed",
			long: `Requeue failed jobs in the state where they failed; those that failed before they got
working space are pending again. The results of earlier steps and
the history of the failure are kept. Refused unless the batch is processing or failed;
when the batch is failed, request an update report after the jobs have ended.`,
			example: "  accession job requeue jid0000000001 --reason \"the source answers again\"\n" +
				"  accession job requeue jid0000000001 --dry-run",
		},
		verb[domain.JobID]{
			name:    "priority",
			short:   "Change the priority of waiting jobs",
			long:    "Change the priority of jobs that wait in a queue: 0 to 99, lower runs first. Refused\nfor a job that is locked by a worker.",
			example: "  accession job priority --to 0 jid0000000001 --reason \"needed for the exhibition\"",
			as: func(id domain.JobID, change operation.Change) request {
				return request{"job.priority", &operation.JobPriority{JobChange: *jobInput(id, change), To: priority}}
			},
			flags: func(c *cobra.Command) {
				c.Flags().IntVar(&priority, "to", 0, "the new `PRIORITY`, 0 to 99 (required)")
				_ = c.MarkFlagRequired("to") // it was added above
			},
		},
		verb[domain.JobID]{
			name:  "delete",
			short: "Delete jobs that have not completed",
			long: `Delete jobs that have not completed, and their working directories. A job that is being
worked on is failed first (see accession job fail) and deleted once its worker has let it
go. The history stays. The answer lists what the report of the batch will not contain
because of it. Refused unless the batch is processing or failed.`,
			example: "  accession job delete jid0000000001 --reason \"sent twice\" --dry-run\n" +
				"  accession job delete jid0000000001 --reason \"sent twice\" --yes",
			final: true, reason: true,
		})...)
	return group(&cobra.Command{
		Use:     "job",
		Short:   "List, show and change jobs",
		Long:    "A job ingests one object of a deposit.",
		Example: "  accession job ls --batch bid0000000001\n  accession job show jid0000000001",
	}, append(changes, p.jobLs(), p.jobFailures(), p.jobShow(), lookcli.Command(one("job id", domain.ParseJobID), served(p, func(args []string) request {
		return request{"job.look", &operation.JobID{ID: args[0]}}
	}, lookcli.Write)))...)
}

func (p *program) jobLs() *cobra.Command {
	var f app.JobFilter
	var from app.Cursor
	var sort string
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List jobs",
		Long:    "List jobs by id, or in the order of --sort. For the next page, give --cursor.",
		Example: "  accession job ls --state failed\n  accession job ls --batch bid0000000001 -o json",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request {
			return request{"job.ls", &operation.JobList{Page: pageOf(f.Limit, from), Filter: filter(f.Filter), Batch: string(f.Batch), State: string(f.State), Order: operation.Order{Sort: sort}}}
		}, func(w io.Writer, page app.Page[app.JobRow]) {
			views.Jobs(w, page.Items)
			more(w, page, "jobs")
		}),
	}
	flags.Parsed(c, &f.Batch, "batch", "", "only jobs of this `BATCH`", flags.Optional(domain.ParseBatchID))
	flags.Parsed(c, &f.State, "state", "", "only jobs in this `STATE`", flags.Optional(flags.Among(append(slices.Clone(domain.JobStates), domain.JobDeleted)...)))
	flags.Filter(c, &f.Filter, "jobs")
	flags.Sort(c, &sort, app.JobOrders)
	flags.Cursor(c, &from)
	flags.Limit(c, &f.Limit, flags.ListLimit, "jobs")
	return c
}

func (p *program) jobFailures() *cobra.Command {
	var f app.JobFilter
	c := &cobra.Command{
		Use:   "failures",
		Short: "Group failed jobs by reason, server, collection and profile",
		Long: `Group the failed jobs by why they failed, the server of their payload, collection and
profile, the largest groups first: what a person must act on, once for each cause. The
conditions of a group choose its jobs in the other commands.`,
		Example: "  accession job failures\n  accession job failures --since 7d --collection maps\n  accession bulk begin job requeue --state failed --code timeout --host data.example.org --reason \"it answers again\" --dry-run",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request {
			return request{"job.failures", &operation.FailureList{Limit: f.Limit, Filter: filter(f.Filter), Batch: string(f.Batch)}}
		}, views.Failures),
	}
	flags.Parsed(c, &f.Batch, "batch", "", "only jobs of this `BATCH`", flags.Optional(domain.ParseBatchID))
	flags.Filter(c, &f.Filter, "jobs")
	flags.Limit(c, &f.Limit, flags.ListLimit, "groups")
	return c
}

func (p *program) jobShow() *cobra.Command {
	var then app.Moment
	c := &cobra.Command{
		Use:   "show JOB",
		Short: "Show a job, its files and its history",
		Long: `Show a job, where its object is stored, its first 20 files, and every change of its
state: when, after how long, by whom and why. With --at, show it as it was.`,
		Example: "  accession job show jid0000000001\n  accession job show jid0000000001 --at 4711 -o json",
		Args:    one("job id", domain.ParseJobID),
		RunE: served(p, func(args []string) request {
			return request{"job.show", &operation.JobShow{JobID: operation.JobID{ID: args[0]}, At: at(then)}}
		}, views.Job),
	}
	flags.At(c, &then)
	return c
}

// jobInput is what is asked for to change a job.
func jobInput(id domain.JobID, change operation.Change) *operation.JobChange {
	return &operation.JobChange{JobID: operation.JobID{ID: string(id)}, Match: operation.Match{Change: change}}
}

func jobChange(id domain.JobID, change operation.Change) any { return jobInput(id, change) }
