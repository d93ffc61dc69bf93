package events

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

// replaying is what the flags of the command say besides the selection.
type replaying struct {
	app.Selection
	format, file, subject string
}

// Replay returns the command replay.
func Replay(e Env) *cobra.Command {
	var r replaying
	c := &cobra.Command{
		Use:   "replay",
		Short: "Print, export or republish events",
		Long: `Write events in the order of the log, decoded and upgraded to their newest version: as
text, JSON lines, CSV or Parquet, to the standard output or a file, or as messages below
a subject of NATS that no messages use yet.

Events are read from the log, so that none is missing that is newer than the tables. By
file, only its own events are read; by batch or job, the history in PostgreSQL selects
the parts of the log to read, unless it belongs to another log. Sequences and times
bound what is read; types and actors are filtered while reading. Times are those of the
log's clock.`,
		Example: `  accession replay --batch bid0000000001
  accession replay --since 2026-03-01 --until 2026-04-01 --format parquet --out march.parquet
  accession replay --type job.failed --format csv > failed.csv
  accession replay --from 1 --to 5000 --publish replay.first`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if r.format == "" {
				if r.format = "table"; e.JSON() {
					r.format = export.FormatJSONLines
				}
			}
			if r.format == export.FormatParquet && r.file == "" && r.subject == "" && e.Screen {
				return errors.New("refusing to write Parquet to a terminal; use --out FILE")
			}
			return nil
		},
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			switch {
			case d.There == nil:
				return r.run(ctx, e, d.Here)
			case r.subject != "":
				return e.NotOverHTTP // it publishes to NATS
			}
			return e.Write(r.file, func(w io.Writer) error {
				return writeEvents(ctx, w, door.Selected(ctx, d, r.Selection, operation.EventFilter{}), r.format)
			})
		}),
	}
	selected(c, &r.Selection)
	flags.Parsed(c, &r.format, "format", "", "`FORMAT`: table, jsonl, csv or parquet (default: as -o says)",
		flags.Optional(flags.Among("table", export.FormatJSONLines, export.FormatCSV, export.FormatParquet)))
	c.Flags().StringVar(&r.file, "out", "", flags.OutHelp)
	c.Flags().StringVar(&r.subject, "publish", "", "publish below this `SUBJECT` of NATS instead")
	c.MarkFlagsMutuallyExclusive("out", "publish")
	return c
}

func (r *replaying) run(ctx context.Context, e Env, a *app.App) error {
	sel, err := a.Select(ctx, r.Selection)
	if err != nil {
		return err
	}
	read, end := e.Counter(ctx, r.file == "" && r.subject == "", "events", sel.Sequences)
	if r.subject != "" {
		done, err := a.Republish(ctx, sel, r.subject, read)
		end()
		if door.Noted(ctx, a, e.Err, "replay", "subject/"+r.subject, false, err) != nil {
			return err
		}
		return e.Show(done, func(w io.Writer) { writeRepublished(w, done) })
	}
	err = e.Write(r.file, func(w io.Writer) error { return writeEvents(ctx, w, sel.Events(ctx, read), r.format) })
	end()
	return err
}

func writeRepublished(w io.Writer, done app.Republished) {
	keeps := "no stream keeps them"
	if done.Stream != "" {
		keeps = "stream " + done.Stream + " keeps them"
	}
	fmt.Fprintf(w, "%d events were published below %s; %s\n", done.Events, done.Subject, keeps)
}

func writeEvents(ctx context.Context, w io.Writer, events iter.Seq2[app.Event, error], format string) error {
	out := export.EventWriter(asLines{w})
	if format != "table" {
		var err error
		if out, err = export.NewEventWriter(w, format); err != nil {
			return err
		}
	}
	for e, err := range events {
		if err != nil {
			return err
		}
		if err := out.Write(e); err != nil {
			return err
		}
	}
	return cmp.Or(ctx.Err(), out.Close())
}

// asLines writes events as lines of text.
type asLines struct{ w io.Writer }

// Write implements export.EventWriter.
func (l asLines) Write(e app.Event) error { _, err := fmt.Fprintln(l.w, line(e)); return err }

// Close implements export.EventWriter.
func (asLines) Close() error { return nil }
