// Package events has the commands that list, follow and replay events.
package events

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// Env is what the commands have of the program.
type Env struct {
	Out, Err io.Writer
	// Screen says that Out is a terminal; JSON that the output is.
	Screen bool
	JSON   func() bool
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// NotOverHTTP ends a command that is not over HTTP.
	NotOverHTTP error
	// Show writes an answer as JSON, or with write; Note a line that is for people only.
	Show func(v any, write func(w io.Writer)) error
	Note func(format string, args ...any)
	// Write has do write to a new file, or to Out when name is "".
	Write func(name string, do func(io.Writer) error) error
	// Counter shows how much of a total has been done, until end is called; toOut says that
	// the output goes to Out.
	Counter func(ctx context.Context, toOut bool, unit string, total uint64) (at func(uint64), end func())
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
}

// Command returns the command events.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:     "events",
		Short:   "List and follow events",
		Long:    "Every change is an event in the log.",
		Example: "  accession events ls --type job.failed --since 24h\n  accession events tail --follow",
	}, e.ls(), e.tail())
}

func (e Env) ls() *cobra.Command {
	var s app.Selection
	var by operation.EventFilter
	var limit int
	c := &cobra.Command{
		Use:   "ls",
		Short: "List events by time, sequence, batch, job, file, type or actor",
		Long: `List events in the order of the log. With -o json each event is one line. To get all of
them, as CSV or Parquet, in a file or as messages, use ` + "`accession replay`" + `.`,
		Example: "  accession events ls --job jid0000000001\n  accession events ls --type job.failed,file.ignored --since 24h\n  accession events ls --actor user/* --since 7d -o json",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			lines, n := export.NewJSONLines(e.Out), 0
			for one, err := range door.Selected(ctx, d, s, by) {
				if err != nil {
					return err
				}
				if n == limit {
					e.Note("\nthe first %d events; --limit for more, or --from %d for the next", n, one.Seq)
					return nil
				}
				n++
				if err := e.write(lines, one); err != nil {
					return err
				}
			}
			if n == 0 && ctx.Err() == nil {
				e.Note("no events")
			}
			return ctx.Err()
		}),
	}
	selected(c, &s)
	flags.Events(c, &by.Profile, &by.Collection, &by.Submitter, &by.Code)
	flags.Limit(c, &limit, flags.ListLimit, "events")
	return c
}

func (e Env) tail() *cobra.Command {
	var o app.TailOptions
	var by operation.EventFilter
	c := &cobra.Command{
		Use:   "tail",
		Short: "Show the last events, and follow",
		Long: `Show the last 20 events, or all that are selected. With --follow, show new events until
Ctrl-C. With -o json each event is one line.`,
		Example: `  accession events tail --follow
  accession events tail --from 1 --batch bid0000000001
  accession events tail --follow --type job.failed
  accession events tail --from 1 -o json | jq -r .type | sort | uniq -c`,
		Args: cobra.NoArgs,
	}
	c.RunE = e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		if o.From == 0 && c.Flags().Changed("from") {
			o.From = 1
		}
		lines := export.NewJSONLines(e.Out)
		for one, err := range door.Tail(ctx, d, o, by) {
			if err != nil {
				return err
			}
			if err := e.write(lines, one); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
	selected(c, &o.Selection)
	flags.Events(c, &by.Profile, &by.Collection, &by.Submitter, &by.Code)
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "show new events as they come")
	return c
}

// selected adds the flags that select events.
func selected(c *cobra.Command, s *app.Selection) {
	f := c.Flags()
	f.Uint64Var(&s.From, "from", 0, "first sequence in the log (`SEQ`, from 1; 0 = the start)")
	f.Uint64Var(&s.To, "to", 0, "last sequence in the log (`SEQ`; 0 = the end)")
	flags.Times(c, &s.Since, &s.Until)
	flags.Parsed(c, &s.Batch, "batch", "", "only this `BATCH`, its jobs and their files", flags.Optional(domain.ParseBatchID))
	flags.Parsed(c, &s.Job, "job", "", "only this `JOB` and its files", flags.Optional(domain.ParseJobID))
	flags.Parsed(c, &s.File, "file", "", "only the file with this `HASH`", flags.Optional(domain.ParseFileHash))
	f.StringSliceVar(&s.Types, "type", nil, "only events of this `TYPE`, such as job.failed or job.*; several separated by commas")
	f.StringSliceVar(&s.Actors, "actor", nil, "only events by this `ACTOR`, such as user/maria or daemon/*; several separated by commas")
}

// writeEvent writes one event as a line, as text or as JSON.
func (e Env) write(lines *export.JSONLines, of app.Event) error {
	if e.JSON() {
		return lines.Write(of)
	}
	_, err := fmt.Fprintln(e.Out, line(of))
	return err
}

// line formats an event as one line.
func line(e app.Event) string {
	from, to, why := e.Move()
	change := to
	if from != to {
		change = from + " → " + to
	}
	text := fmt.Sprintf("%6d  %s  %-24s %-22s %3d  %-28s %s", e.Seq, e.Time.Local().Format("2006-01-02 15:04:05.000"), e.Type, export.Line(shortSubject(e.Subject)), e.Version, change, export.Line(string(e.Actor)))
	if why != nil {
		text += fmt.Sprintf("  %s: %s", why.Code, export.Line(why.Message))
	}
	return text
}

// shortSubject cuts the hash of a file to its beginning.
func shortSubject(s string) string {
	const long = len("job/jid0000000042") + 5
	if len(s) > long {
		return s[:long-1] + "…"
	}
	return s
}
