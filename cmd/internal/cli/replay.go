package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/export"
)

// replaying is what the flags of replay say beside what they choose.
type replaying struct {
	app.Selection
	format, file, subject string
}

func (p *program) replay() *cobra.Command {
	var r replaying
	c := &cobra.Command{
		Use:   "replay",
		Short: "Print or export the history, or send it once more",
		Long: `Give events in the order of the log, decoded and brought up to their newest version:
as lines for people, JSON lines, CSV or Parquet, to the standard output or a file, or
as messages below a subject of their own, where nobody's messages are yet.

The log itself is read, so that nothing is missing that is newer than the tables. By
file, only its own events are read; by batch or job, the history in PostgreSQL tells
which parts of the log to read, unless it is that of another log. Places and times
bound what is read; types and actors are sorted out while reading. Times are those of
the log's clock.`,
		Example: `  accession replay --batch bid0000000001
  accession replay --since 2026-03-01 --until 2026-04-01 --format parquet --out march.parquet
  accession replay --type job.failed --format csv > failed.csv
  accession replay --from 1 --to 5000 --publish replay.first`,
		Args: cobra.NoArgs,
		PreRunE: func(c *cobra.Command, _ []string) error {
			return r.check(p, c.CommandPath())
		},
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error { return p.replayed(ctx, a, r) })
		}),
	}
	choose(c, &r.Selection)
	c.Flags().StringVar(&r.format, "format", "", "`FORMAT`: table, jsonl, csv or parquet (default: as -o says)")
	c.Flags().StringVar(&r.file, "out", "", "write to this `FILE`, which is there only when it is complete")
	c.Flags().StringVar(&r.subject, "publish", "", "send below this `SUBJECT` of NATS, in place of writing")
	return c
}

func (r *replaying) check(p *program, command string) error {
	if r.format == "" {
		r.format = map[string]string{"table": "table", "json": export.FormatJSONLines}[p.output]
	}
	if err := oneOf(command, "--format", r.format, []string{"table", export.FormatJSONLines, export.FormatCSV, export.FormatParquet}); err != nil {
		return err
	}
	switch {
	case r.subject != "" && r.file != "":
		return &usageError{errors.New("--out and --publish: choose one of them"), command}
	case r.format == export.FormatParquet && r.file == "" && r.subject == "" && p.Terminal:
		return &usageError{errors.New("parquet is nothing for a terminal: name a file with --out"), command}
	}
	return nil
}

func (p *program) replayed(ctx context.Context, a *app.App, r replaying) error {
	sel, err := a.Select(ctx, r.Selection)
	if err != nil {
		return err
	}
	looked, end := p.bar(ctx, r.file == "" && r.subject == "", "places", sel.Places)
	if r.subject != "" {
		done, err := a.Republish(ctx, sel, r.subject, looked)
		end()
		if err != nil {
			return err
		}
		return p.show(done, func(w io.Writer) { showRepublished(w, done) })
	}
	write := func(w io.Writer) error { return writeEvents(ctx, w, sel, r.format, looked) }
	if r.file == "" {
		out := bufio.NewWriterSize(p.Out, 1<<16)
		err = write(out)
		if flushed := out.Flush(); err == nil {
			err = flushed
		}
	} else {
		err = export.File(r.file, write)
	}
	end()
	return err
}

func showRepublished(w io.Writer, done app.Republished) {
	if done.Stream == "" {
		fmt.Fprintf(w, "%d events were sent below %s; no stream keeps them\n", done.Events, done.Subject)
		return
	}
	fmt.Fprintf(w, "%d events were sent below %s; stream %s keeps them\n", done.Events, done.Subject, done.Stream)
}

func writeEvents(ctx context.Context, w io.Writer, sel *app.Selected, format string, looked func(uint64)) error {
	if format == "table" {
		for e, err := range sel.Events(ctx, looked) {
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(w, eventLine(e)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	out, err := export.NewEventWriter(w, format)
	if err != nil {
		return err
	}
	for e, err := range sel.Events(ctx, looked) {
		if err != nil {
			return err
		}
		if err := out.Write(e); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return out.Close()
}
