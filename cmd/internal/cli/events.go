package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) events() *cobra.Command {
	c := &cobra.Command{
		Use:     "events",
		Short:   "Read the history",
		Long:    "Everything that ever happened is an event in the log.",
		Example: "  accession events ls --type job.failed --since 24h\n  accession events tail --follow",
	}
	c.AddCommand(p.eventsLs(), p.eventsTail())
	return c
}

func (p *program) eventsLs() *cobra.Command {
	var s app.Selection
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: "List events by time, place, batch, job, file, type or actor",
		Long: `List events in the order of the log. With -o json each event is one line. For all of
them, as CSV or Parquet, to a file or a subject, see accession replay.`,
		Example: "  accession events ls --job jid0000000001\n  accession events ls --type job.failed,file.ignored --since 24h\n  accession events ls --actor user/* --since 7d -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.listEvents(ctx, a, s, limit) })
		}),
	}
	choose(c, &s)
	limitFlag(c, &limit, listLimit, "at most so many")
	return c
}

func (p *program) listEvents(ctx context.Context, a *app.App, s app.Selection, limit int) error {
	sel, err := a.Select(ctx, s)
	if err != nil {
		return err
	}
	lines, n := export.NewJSONLines(p.Out), 0
	for e, err := range sel.Events(ctx, nil) {
		switch {
		case err != nil:
			return err
		case n == limit && p.output == "table":
			fmt.Fprintf(p.Out, "\nthe first %d; --limit for more, or --from %d for the next\n", n, e.Seq)
			return nil
		case n == limit:
			return nil
		}
		n++
		if err := p.showEvent(lines, e); err != nil {
			return err
		}
	}
	if n == 0 && p.output == "table" && ctx.Err() == nil {
		fmt.Fprintln(p.Out, "no events")
	}
	return ctx.Err()
}

func (p *program) eventsTail() *cobra.Command {
	var o app.TailOptions
	var c *cobra.Command
	c = &cobra.Command{
		Use:   "tail",
		Short: "Show the last events, and follow",
		Long: `Show the last 20 events, or all that are chosen. With --follow go on as they come,
until Ctrl-C. With -o json each event is one line.`,
		Example: `  accession events tail --follow
  accession events tail --from 1 --batch bid0000000001
  accession events tail --follow --type job.failed
  accession events tail --from 1 -o json | jq -r .type | sort | uniq -c`,
		Args: cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			if o.From == 0 && c.Flags().Changed("from") {
				o.From = 1
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.tail(ctx, a, o) })
		}),
	}
	choose(c, &o.Selection)
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on as events come")
	return c
}

func (p *program) tail(ctx context.Context, a *app.App, o app.TailOptions) error {
	lines := export.NewJSONLines(p.Out)
	for e, err := range a.Tail(ctx, o) {
		if err != nil {
			return err
		}
		if err := p.showEvent(lines, e); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// showEvent writes one event as a line, for people or for programs.
func (p *program) showEvent(lines *export.JSONLines, e app.Event) error {
	if p.output == "json" {
		return lines.Write(e)
	}
	_, err := fmt.Fprintln(p.Out, eventLine(e))
	return err
}

// eventLine tells an event in one line.
func eventLine(e app.Event) string {
	from, to, why := e.Move()
	change := to
	if from != to {
		change = from + " → " + to
	}
	text := fmt.Sprintf("%6d  %s  %-24s %-22s %3d  %-28s %s", e.Seq, e.Time.Local().Format("2006-01-02 15:04:05.000"), e.Type, printable(shortSubject(e.Subject)), e.Version, change, printable(string(e.Actor)))
	if why != nil {
		text += fmt.Sprintf("  %s: %s", why.Code, printable(why.Message))
	}
	return text
}

// shortSubject cuts a file's hash, of which the beginning tells people enough.
func shortSubject(s string) string {
	const long = len("job/jid0000000042") + 5
	if len(s) > long {
		return s[:long-1] + "…"
	}
	return s
}

// choose adds the flags that choose events, and checks ids.
func choose(c *cobra.Command, s *app.Selection) {
	flags := c.Flags()
	flags.Uint64Var(&s.From, "from", 0, "first place in the log (`SEQ`, from 1; 0 = the start)")
	flags.Uint64Var(&s.To, "to", 0, "last place in the log (`SEQ`; 0 = the end)")
	flags.Var(&whenFlag{at: &s.Since}, "since", "only what the log took at this `TIME` or later ("+whenHelp+")")
	flags.Var(&whenFlag{at: &s.Until}, "until", "only what the log took before this `TIME`")
	flags.StringVar((*string)(&s.Batch), "batch", "", "only this `BATCH`, its jobs and their files")
	flags.StringVar((*string)(&s.Job), "job", "", "only this `JOB` and its files")
	flags.StringVar((*string)(&s.File), "file", "", "only the file with this `HASH`")
	flags.StringSliceVar(&s.Types, "type", nil, "only events of this `TYPE`, such as job.failed or job.*; several with commas")
	flags.StringSliceVar(&s.Actors, "actor", nil, "only what this `ACTOR` did, such as user/maria or daemon/*; several with commas")
	before := c.PreRunE
	c.PreRunE = func(c *cobra.Command, args []string) error {
		for _, check := range []struct {
			word  string
			parse func(string) error
		}{
			{string(s.Batch), func(w string) error { _, err := domain.ParseBatchID(w); return err }},
			{string(s.Job), func(w string) error { _, err := domain.ParseJobID(w); return err }},
			{string(s.File), checkFile},
		} {
			if check.word == "" {
				continue
			}
			if err := check.parse(check.word); err != nil {
				return &usageError{err, c.CommandPath()}
			}
		}
		if before != nil {
			return before(c, args)
		}
		return nil
	}
}
