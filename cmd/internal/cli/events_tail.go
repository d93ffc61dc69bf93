package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

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
