package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) eventsTail() *cobra.Command {
	var o app.TailOptions
	var batch string
	var c *cobra.Command
	c = &cobra.Command{
		Use:   "tail",
		Short: "Show the last events, and follow",
		Long: `Show the last 20 events, or all from a place in the log on. With --follow go on as
they come, until Ctrl-C. With -o json each event is one line.`,
		Example: `  accession events tail --follow
  accession events tail --from 1 --batch bid0000000001
  accession events tail --from 1 -o json | jq -r .type | sort | uniq -c`,
		Args: cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			if o.From == 0 && c.Flags().Changed("from") {
				o.From = 1
			}
			if batch != "" {
				id, err := batchID("accession events tail", batch)
				if err != nil {
					return err
				}
				o.Batch = id
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.tail(ctx, a, o) })
		}),
	}
	c.Flags().Uint64Var(&o.From, "from", 0, "first place in the log (`SEQ`, from 1; 0 = the start)")
	c.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on as events come")
	c.Flags().StringVar(&batch, "batch", "", "only this `BATCH` and its jobs")
	return c
}

func (p *program) tail(ctx context.Context, a *app.App, o app.TailOptions) error {
	lines := json.NewEncoder(p.Out)
	lines.SetEscapeHTML(false)
	for e, err := range a.Tail(ctx, o) {
		if err != nil {
			return err
		}
		if p.output == "json" {
			if err := lines.Encode(e); err != nil {
				return err
			}
			continue
		}
		from, to, why := e.Move()
		change := to
		if from != to {
			change = from + " → " + to
		}
		text := fmt.Sprintf("%6d  %s  %-24s %-22s %3d  %-28s %s", e.Seq, e.Time.Local().Format("15:04:05.000"), e.Type, e.Subject, e.Version, change, e.Actor)
		if why != nil {
			text += fmt.Sprintf("  %s: %s", why.Code, printable(why.Message))
		}
		if _, err := fmt.Fprintln(p.Out, text); err != nil {
			return err
		}
	}
	return ctx.Err()
}
