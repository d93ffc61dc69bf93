package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/tables"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// noPoison is shown when the projector holds no events.
const noPoison = "no events are held: the tables have every event"

func (p *program) poison() *cobra.Command {
	return group(&cobra.Command{
		Use:   "poison",
		Short: "List, show and retry events that could not be applied",
		Long: `An event that cannot be applied to the tables is held in poison_event, together with
the later events of the same batch, job, file or setting; the tables show that one as it
was before. All others continue. After the cause is fixed, retry them.`,
		Example: "  accession poison ls\n  accession poison retry --all",
	}, p.poisonLs(), p.poisonShow(), p.poisonRetry())
}

func (p *program) poisonLs() *cobra.Command {
	var limit int
	var total int64
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List held events, in the order of the log",
		Long:    "List the events that could not be applied to the tables, and the events that wait\nbehind them, in the order of the log.",
		Example: "  accession poison ls\n  accession poison ls -o json",
		Args:    cobra.NoArgs,
		RunE: answer(p, func(ctx context.Context, a *app.App, _ []string) ([]tables.PoisonEvent, error) {
			held, count, err := tables.Poison(ctx, a, limit)
			total = count.Events
			return held, err
		}, func(w io.Writer, held []tables.PoisonEvent) {
			render.Rows(w, noPoison, render.Row{"seq", "event", "type", "attempts", "since", "why"}, held, func(e tables.PoisonEvent) render.Row {
				reason := export.Line(e.Error)
				if e.WaitsFor != nil {
					reason = fmt.Sprintf("waits behind %d", *e.WaitsFor)
				}
				return render.Row{e.Seq, e.ID, e.Type, e.Attempts, render.Time(e.FirstSeen), reason}
			})
			render.Truncated(w, len(held), total, "events", "--limit")
		}),
	}
	flags.Limit(c, &limit, 100, "events")
	return c
}

func (p *program) poisonShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show SEQ",
		Short:   "Show a held event and its data",
		Long:    "Show one held event, by its sequence in the log: why it could not be applied, and its\ndata as far as they could be read.",
		Example: "  accession poison show 4711",
		Args:    one("sequence", parseSeq),
		RunE: answer(p, func(ctx context.Context, a *app.App, args []string) (tables.PoisonEvent, error) {
			seq, _ := parseSeq(args[0]) // checked before
			return tables.PoisonAt(ctx, a, seq)
		}, func(w io.Writer, e tables.PoisonEvent) {
			render.Pairs(w, [][2]any{{"seq", e.Seq}, {"event", e.ID}, {"type", e.Type}, {"batch", e.BatchID},
				{"waits behind", render.Or(e.WaitsFor, "")}, {"why", export.Line(e.Error)}, {"attempts", e.Attempts},
				{"held since", render.Time(e.FirstSeen)}, {"last attempt", render.Time(e.LastSeen)}, {"data", export.Line(e.Data)}}...)
		}),
	}
}

func parseSeq(s string) (uint64, error) {
	seq, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%q is not a sequence of the log, such as 4711", s)
	}
	return seq, nil
}

func (p *program) poisonRetry() *cobra.Command {
	var all bool
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
			return each(args, domain.ParseAggregate)
		},
		RunE: p.using(func(ctx context.Context, a *app.App, args []string) error {
			var aggregate domain.Aggregate // zero = all
			for _, arg := range args {
				aggregate, _ = domain.ParseAggregate(arg) // checked before
			}
			done, err := tables.RetryPoison(ctx, a, aggregate)
			if err != nil {
				return err
			}
			if err := show(p, done, func(w io.Writer, done []tables.PoisonRetried) {
				render.Rows(w, noPoison, render.Row{"aggregate", "applied", "still held", "why"}, done, func(d tables.PoisonRetried) render.Row {
					return render.Row{d.Aggregate, d.Applied, d.Waiting, export.Line(d.Error)}
				})
			}); err != nil {
				return err
			}
			return exit.If(slices.ContainsFunc(done, func(d tables.PoisonRetried) bool { return d.Waiting > 0 }), exit.Failed)
		}),
	}
	c.Flags().BoolVar(&all, "all", false, "retry all held events")
	return c
}
