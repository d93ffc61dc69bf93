package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) poison() *cobra.Command {
	c := &cobra.Command{
		Use:   "poison",
		Short: "List, show and retry events that the tables lack",
		Long: `An event that cannot be applied to the tables holds its aggregate, and nothing else:
it and the later events of that batch, job, file or setting wait in poison_event, and
the tables show it as it was before. When what was wrong is mended, retry them.`,
		Example: "  accession poison ls\n  accession poison retry --all",
	}
	c.AddCommand(p.poisonLs(), p.poisonShow(), p.poisonRetry())
	return c
}

func (p *program) poisonLs() *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List held events, in the order of the log",
		Long:    "List the events that could not be applied to the tables, and those that wait\nbehind them, in the order of the log.",
		Example: "  accession poison ls\n  accession poison ls -o json",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				held, n, err := a.Poison(ctx, limit)
				if err != nil {
					return err
				}
				return p.show(held, func(w io.Writer) {
					lines := make([][]any, len(held))
					for i, e := range held {
						why := printable(e.Error)
						if e.WaitsFor != nil {
							why = fmt.Sprintf("waits behind %d", *e.WaitsFor)
						}
						lines[i] = []any{e.Seq, e.ID, e.Type, e.Attempts, at(e.FirstSeen), why}
					}
					rows(w, "nothing is held: the tables have every event", []any{"place", "event", "type", "tries", "since", "why"}, lines)
					if int64(len(held)) < n.Events {
						cut(w, len(held), n.Events, "events", "--limit")
					}
				})
			})
		}),
	}
	limitFlag(c, &limit, 100, "show at most so many events")
	return c
}

func (p *program) poisonShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show PLACE",
		Short:   "Show a held event and its data",
		Long:    "Show one held event, by its place in the log: why it could not be applied, and\nits data as far as they could be read.",
		Example: "  accession poison show 4711",
		Args:    cobra.ExactArgs(1),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			seq, err := strconv.ParseUint(args[0], 10, 63)
			if err != nil {
				return &usageError{fmt.Errorf("%q is no place in the log, such as 4711", args[0]), "poison show"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				e, err := a.PoisonAt(ctx, seq)
				if err != nil {
					return err
				}
				return p.show(e, func(w io.Writer) {
					waits := ""
					if e.WaitsFor != nil {
						waits = strconv.FormatInt(*e.WaitsFor, 10)
					}
					pairs(w, [2]any{"place", e.Seq}, [2]any{"event", e.ID}, [2]any{"type", e.Type}, [2]any{"batch", e.BatchID},
						[2]any{"waits behind", waits}, [2]any{"why", printable(e.Error)}, [2]any{"tries", e.Attempts},
						[2]any{"held since", at(e.FirstSeen)}, [2]any{"last tried", at(e.LastSeen)}, [2]any{"data", printable(e.Data)})
				})
			})
		}),
	}
}

func (p *program) poisonRetry() *cobra.Command {
	var every bool
	c := &cobra.Command{
		Use:   "retry [KIND/ID]",
		Short: "Apply held events, of one aggregate or of all",
		Long: `Apply what is held of one aggregate, such as job/jid0000000042, or of all with --all,
in the order of the log, as far as that goes. The projector may run meanwhile.

The exit code is 1 when something is still held after it.`,
		Example: "  accession poison retry job/jid0000000042\n  accession poison retry --all",
		Args:    cobra.MaximumNArgs(1),
		RunE: p.stoppable(func(ctx context.Context, args []string) error {
			var one domain.Aggregate
			if every == (len(args) == 1) {
				return &usageError{errors.New("name one aggregate, such as job/jid0000000042, or say --all"), "poison retry"}
			}
			if !every {
				var err error
				if one, err = domain.ParseAggregate(args[0]); err != nil {
					return &usageError{err, "poison retry"}
				}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				done, err := a.RetryPoison(ctx, one)
				if err != nil {
					return err
				}
				left := false
				lines := make([][]any, len(done))
				for i, d := range done {
					lines[i] = []any{d.Aggregate, d.Applied, d.Waiting, printable(d.Error)}
					left = left || d.Waiting > 0
				}
				if err := p.show(done, func(w io.Writer) {
					rows(w, "nothing is held: the tables have every event", []any{"aggregate", "applied", "still held", "why"}, lines)
				}); err != nil || !left {
					return err
				}
				return exitError(exitFailed)
			})
		}),
	}
	c.Flags().BoolVar(&every, "all", false, "retry everything that is held")
	return c
}
