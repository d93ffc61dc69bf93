// Package poison has the commands about events that could not be applied.
package poison

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
)

// Env is what the commands have of the program.
type Env struct {
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
}

// noPoison is shown when the projector holds no events.
const noPoison = "no events are held: the tables have every event"

// Command returns the command poison.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "poison",
		Short: "List, show and retry events that could not be applied",
		Long: `An event that cannot be applied to the tables is held in poison_event, together with
the later events of the same batch, job, file or setting; the tables show that one as it
was before. All others continue. After the cause is fixed, retry them.`,
		Example: "  accession poison ls\n  accession poison retry --all",
	}, e.ls(), e.show(), e.retry())
}

func (e Env) ls() *cobra.Command {
	in := &operation.PoisonList{}
	var from app.Cursor
	var batch domain.BatchID
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List held events, in the order of the log",
		Long:    "List the events that could not be applied to the tables, and the events that wait\nbehind them, in the order of the log.",
		Example: "  accession poison ls\n  accession poison ls -o json",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			in.Cursor, in.Batch = string(from), string(batch)
			page, err := door.Carry[app.Page[tables.PoisonEvent]](ctx, d, "poison.ls", in)
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) { list(w, page) })
		}),
	}
	flags.Parsed(c, &batch, "batch", "", "only events of this `BATCH`, its jobs and files", flags.Optional(domain.ParseBatchID))
	flags.Age(c, &in.Since, &in.OlderThan, "events", "held")
	flags.Cursor(c, &from)
	flags.Limit(c, &in.Limit, 100, "events")
	return c
}

func (e Env) show() *cobra.Command {
	return &cobra.Command{
		Use:     "show SEQ",
		Short:   "Show a held event and its data",
		Long:    "Show one held event, by its sequence in the log: why it could not be applied, and its\ndata as far as they could be read.",
		Example: "  accession poison show 4711",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("give one sequence, not %d arguments", len(args))
			}
			_, err := parseSeq(args[0])
			return err
		},
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			seq, _ := parseSeq(args[0]) // checked before
			held, err := door.Carry[tables.PoisonEvent](ctx, d, "poison.show", &operation.PoisonShow{Seq: int64(seq)})
			if err != nil {
				return err
			}
			return e.Show(held, func(w io.Writer) { one(w, held) })
		}),
	}
}

func one(w io.Writer, e tables.PoisonEvent) {
	render.Pairs(w, [][2]any{{"seq", e.Seq}, {"event", e.ID}, {"type", e.Type}, {"batch", e.BatchID},
		{"waits behind", render.Or(e.WaitsFor, "")}, {"why", export.Line(e.Error)}, {"attempts", e.Attempts},
		{"held since", render.Time(e.FirstSeen)}, {"last attempt", render.Time(e.LastSeen)}, {"data", export.Line(e.Data)}}...)
}

func list(w io.Writer, page app.Page[tables.PoisonEvent]) {
	render.Rows(w, noPoison, render.Row{"seq", "event", "type", "attempts", "since", "why"}, page.Items, func(e tables.PoisonEvent) render.Row {
		reason := export.Line(e.Error)
		if e.WaitsFor != nil {
			reason = fmt.Sprintf("waits behind %d", *e.WaitsFor)
		}
		return render.Row{e.Seq, e.ID, e.Type, e.Attempts, render.Time(e.FirstSeen), reason}
	})
	if page.Next != "" {
		fmt.Fprintf(w, "\n%d of %d events; --limit or --cursor %s for more\n", len(page.Items), *page.Total, page.Next)
	}
}

func parseSeq(s string) (uint64, error) {
	seq, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is not a sequence of the log, such as 4711", s)
	}
	return seq, nil
}

func (e Env) retry() *cobra.Command {
	var all bool
	in := &operation.PoisonRetry{}
	c := &cobra.Command{
		Use:   "retry [KIND/ID]",
		Short: "Apply held events of one aggregate or of all",
		Long: `Apply the held events of one aggregate, such as job/jid0000000042, or of all with --all,
in the order of the log, as far as possible. The projector may run meanwhile. Exit code
1 when events are still held afterwards.`,
		Example: "  accession poison retry job/jid0000000042\n  accession poison retry --all",
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return errors.New("give one aggregate, such as job/jid0000000042, or --all")
			}
			for _, arg := range args {
				if _, err := domain.ParseAggregate(arg); err != nil {
					return err
				}
			}
			return nil
		},
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			in.Body.Aggregate = strings.Join(args, "") // one, or none = all
			page, err := door.Carry[app.Page[tables.PoisonRetried]](ctx, d, "poison.retry", in)
			if err != nil {
				return err
			}
			done := page.Items
			if err := e.Show(page, func(w io.Writer) {
				render.Rows(w, noPoison, render.Row{"aggregate", "applied", "still held", "why"}, done, func(d tables.PoisonRetried) render.Row {
					return render.Row{d.Aggregate, d.Applied, d.Waiting, export.Line(d.Error)}
				})
				if in.DryRun && len(done) > 0 {
					fmt.Fprintln(w, "\ndry run: nothing was changed")
				}
			}); err != nil {
				return err
			}
			return exit.If(slices.ContainsFunc(done, func(d tables.PoisonRetried) bool { return d.Waiting > 0 }), exit.Failed)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "retry all held events")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would happen, and change nothing")
	return c
}
