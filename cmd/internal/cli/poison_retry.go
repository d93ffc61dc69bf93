package cli

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

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
