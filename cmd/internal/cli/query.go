package cli

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/queries"
	"github.com/accession-ingest/accession/cmd/internal/app/queues"
	"github.com/accession-ingest/accession/cmd/internal/app/showing"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/cmd/internal/remote"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/asked"
	"github.com/accession-ingest/accession/domain/fair"
)

func (p *program) query() *cobra.Command {
	return group(&cobra.Command{
		Use:   "query",
		Short: "Ask what is known of a list of identifiers",
		Long: `A query is a list of identifiers, one on each line, at most 100,000 lines. Blank lines
and lines that begin with # ask for nothing. A line is taken for
  a batch id or a job id    such as bid0000000042 or jid0000000042
  a digest                  the SHA-256 of a file, 64 hex digits
  a name                    any other text: the identifier of an object, a local id of a
                            depositor, or the id of a submission
Before it may be what it is: batch:, job:, digest:, primary:, local: or submission:.`,
		Example: "  accession query answer shelf.txt --format csv --out shelf.csv",
	}, append(verbs(p, "QUERY", "query id", domain.ParseQueryID, of("query", func(id domain.QueryID, change operation.Change) any {
		return &operation.QueryChange{QueryID: operation.QueryID{ID: string(id)}, Match: operation.Match{Change: change}}
	},
		verb[domain.QueryID]{name: "fail", reason: true, final: true, short: "End queries that have neither been answered nor failed",
			long: "End queries that wait, are parked or run: they fail with the code cancelled, and their\nplaces are free. A worker that answers one is stopped. No mail is sent.", example: "  accession query fail qid0000000001 --reason \"asked twice\" --dry-run\n  accession query fail qid0000000001 --reason \"asked twice\" --yes"},
		verb[domain.QueryID]{name: "send-report", short: "Mail the reports of queries again",
			long: "Mail the reports of queries that have ended again: as they were first mailed, to the\nsame addresses, marked with the date. The audit has who asked and why. Refused for\nqueries submitted without --mail. After an interruption, run it again: it is the same\nmail.", example: "  accession query send-report qid0000000001 --reason \"they lost it\""})...),
		p.moves(moving{
			queue: fair.QueueQuery, verb: "park", do: queues.Park,
			short: "Take waiting queries out of their queue",
			long: `Park queries that wait: they leave the queue query until ` + "`accession query unpark`" + `. Name
queries, or users with --user, and choose by the time of reception. The choice is of what
waits now: run it again after an interruption.`,
			example: "  accession query park qid0000000001 --reason \"too long for the day\"\n  accession query park --user ana --received-before 2026-11-02 --reason \"wrong lists\" --dry-run",
		}),
		p.moves(moving{
			queue: fair.QueueQuery, verb: "unpark", do: queues.Unpark,
			short: "Let parked queries wait again",
			long: `Unpark queries: they wait for their turn again, where their numbers put them. Name
queries, or users with --user, and choose by the time of reception. Run it again for the
rest after an interruption.`,
			example: "  accession query unpark qid0000000001 --reason \"night\"\n  accession query unpark --user ana --reason \"the lists are right\"",
		}),
		p.querySubmit(), p.queryShow(), p.queryLs(), p.queryReport(), p.queryAnswer())...)
}

func (p *program) querySubmit() *cobra.Command {
	var w queries.Wishes
	var watch bool
	c := &cobra.Command{
		Use:   "submit FILE",
		Short: "Ask for a list of identifiers, in turn",
		Long: `Keep a list of identifiers, and let it wait for its turn in the deposit queue of
queries; - is the standard input. The answer is the id of the query. With --mail its
report is mailed from the address mail_from at its end: attached, or as the command that
shows it if it has more than 5 MiB. ` + "`accession query show`" + ` shows the outcome.`,
		Example: `  accession query submit shelf.txt --submitter ana --watch
  accession query submit shelf.txt --mail ana@example.org --format csv`,
		Args: one("file, or -", anyName),
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			list, err := queries.Read(args[0], p.In)
			if err != nil {
				return err
			}
			defer list.Close()
			q, err := submitQuery(ctx, d, list, w)
			if err != nil || !watch {
				return p.showQuery(q, err)
			}
			return p.watchQuery(ctx, d, q.ID)
		}),
	}
	c.Flags().StringVar(&w.Key, "idempotency-key", "", "the same `KEY` for every try of one query, which then is made once")
	c.Flags().StringVar(&w.Submitter, "submitter", "", "`NAME` of who asks (default your user name)")
	c.Flags().StringArrayVar(&w.Mail, "mail", nil, "mail the report to `ADDRESS`; may be repeated")
	flags.Parsed(c, &w.Format, "format", "", "`FORMAT` of the report: "+flags.Joined(asked.Formats)+" (default text)", flags.Optional(flags.Among(asked.Formats...)))
	c.Flags().BoolVar(&watch, "watch", false, "wait until it is answered")
	return c
}

func submitQuery(ctx context.Context, d door.Door, list *queries.List, w queries.Wishes) (queries.Query, error) {
	if d.There == nil {
		return queries.Submit(ctx, d.Here, list, w.Of(userName()))
	}
	return remote.Send[queries.Query](ctx, d.There, "query.submit", &operation.QuerySubmit{Name: list.Name(), Submitter: w.Submitter, Mail: w.Mail, Format: w.Format, Once: operation.Once{Key: w.Key}}, list.File())
}

func showOf(ctx context.Context, d door.Door, id domain.QueryID) (queries.Query, error) {
	return door.Carry[queries.Query](ctx, d, "query.show", &operation.QueryID{ID: string(id)})
}

// watchQuery shows a query when it has ended.
func (p *program) watchQuery(ctx context.Context, d door.Door, id domain.QueryID) error {
	q, err := showing.Watch(ctx, func() (queries.Query, error) { return showOf(ctx, d, id) })
	return cmp.Or(p.showQuery(q, err), exit.If(q.Status == asked.Failed, exit.BatchFailed))
}

func (p *program) showQuery(q queries.Query, err error) error {
	if err == nil {
		err = show(p, q, views.Query)
	}
	return err
}

func (p *program) queryShow() *cobra.Command {
	var watch bool
	c := &cobra.Command{
		Use:     "show QUERY",
		Short:   "Show a query: where it stands, and how many lines were found",
		Long:    "Show where a query stands, and how its lines were answered.",
		Example: "  accession query show qid0000000001 --watch",
		Args:    one("query id", domain.ParseQueryID),
		RunE: p.over(func(ctx context.Context, d door.Door, args []string) error {
			if id := domain.QueryID(args[0]); watch {
				return p.watchQuery(ctx, d, id)
			}
			return p.showQuery(showOf(ctx, d, domain.QueryID(args[0])))
		}),
	}
	c.Flags().BoolVar(&watch, "watch", false, "wait until it is answered")
	return c
}

func (p *program) queryLs() *cobra.Command {
	var f queries.Filter
	var from app.Cursor
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List queries, newest first",
		Long:    "List queries with who asked and where they stand, newest first.",
		Example: "  accession query ls --submitter ana --state answered",
		Args:    cobra.NoArgs,
		RunE: served(p, func([]string) request {
			return request{"query.ls", &operation.QueryList{Page: pageOf(f.Limit, from), Age: operation.Age{Since: f.Since, OlderThan: f.Until}, Submitter: f.Submitter, Code: f.Code, State: string(f.Status)}}
		}, func(w io.Writer, page app.Page[queries.Query]) {
			views.Queries(w, page.Items)
			more(w, page, "queries")
		}),
	}
	c.Flags().StringVar(&f.Submitter, "submitter", "", "only those of `NAME`")
	flags.Parsed(c, (*string)(&f.Status), "state", "", "only those in this `STATE`: received, parked, grabbed, answered or failed", flags.Optional(flags.Among("received", "parked", "grabbed", "answered", "failed")))
	c.Flags().StringVar(&f.Code, "code", "", "only those that failed or are parked for a reason with this `CODE`")
	flags.Age(c, &f.Since, &f.Until, "those", "received")
	flags.Cursor(c, &from)
	flags.Limit(c, &f.Limit, flags.ListLimit, "queries")
	return c
}

func (p *program) queryReport() *cobra.Command {
	return p.answering(&cobra.Command{
		Use:     "report QUERY",
		Short:   "Write the answers of a query",
		Long:    "Write the answers of a query, by default in the format that its submission named.",
		Example: "  accession query report qid0000000001 --format csv --out shelf.csv",
		Args:    one("query id", domain.ParseQueryID),
	}, func(ctx context.Context, a *app.App, id string) (app.Report, error) {
		return queries.Report(ctx, a, domain.QueryID(id), "")
	}, func(ctx context.Context, there *remote.Server, id, format, zone string, w io.Writer) error {
		return there.Fetch(ctx, "query.report", &operation.QueryReport{QueryID: operation.QueryID{ID: id}, Format: format, Zone: zone}, nil, w)
	})
}

func (p *program) queryAnswer() *cobra.Command {
	return p.answering(&cobra.Command{
		Use:   "answer FILE",
		Short: "Answer a list of identifiers now",
		Long: `Answer a list of identifiers from the tables, now and without a queue; - is the standard
input. Each line gets one row for each thing that is known of it: a batch or a job with
its status, a stored version of an object, or a file with its place in the object store;
of each sort the newest 20. Or its row says "not found", or what is wrong with the line.`,
		Example: `  accession query answer shelf.txt
  accession query answer shelf.txt --format csv --out shelf.csv
  accession query answer shelf.txt -o json`,
		Args: one("file, or -", anyName),
	}, func(ctx context.Context, a *app.App, name string) (r app.Report, err error) {
		list, err := queries.Read(name, p.In)
		if err != nil {
			return r, err
		}
		return queries.Answer(ctx, a, list, nil)
	}, func(ctx context.Context, there *remote.Server, name, format, zone string, w io.Writer) error {
		list, err := queries.Read(name, p.In)
		if err != nil {
			return err
		}
		defer list.Close()
		return there.Fetch(ctx, "query.answer", &operation.QueryAnswer{Format: cmp.Or(format, export.FormatText), Zone: zone}, list.File(), w)
	})
}

// answering makes c a command that writes the report that ask begins, or that a service
// answers fetch with.
func (p *program) answering(c *cobra.Command, ask func(ctx context.Context, a *app.App, arg string) (app.Report, error),
	fetch func(ctx context.Context, there *remote.Server, arg, format, zone string, w io.Writer) error,
) *cobra.Command {
	var format, zone, file string
	c.RunE = p.over(func(ctx context.Context, d door.Door, args []string) error {
		if d.There != nil {
			as := cmp.Or(format, map[string]string{"json": export.FormatJSON}[p.output])
			return p.write(file, func(w io.Writer) error { return fetch(ctx, d.There, args[0], as, zone, w) })
		}
		report, err := ask(ctx, d.Here, args[0])
		if err != nil {
			return err
		}
		defer report.Close()
		as := cmp.Or(format, map[string]string{"json": export.FormatJSON}[p.output], report.Format, export.FormatText)
		in, err := export.Zone(zone, as)
		if err != nil {
			return err
		}
		return p.write(file, func(w io.Writer) error {
			return export.WriteReport(w, report, export.ReportOptions{Format: as, Made: time.Now(), Zone: in})
		})
	})
	flags.Parsed(c, &format, "format", "", "`FORMAT`: "+flags.Joined(asked.Formats)+" (default: as -o says)", flags.Optional(flags.Among(asked.Formats...)))
	c.Flags().StringVar(&zone, "zone", "", "times in this `ZONE`, such as Europe/Berlin; with the formats text and html (default UTC)")
	c.Flags().StringVar(&file, "out", "", flags.OutHelp)
	return c
}
