package objects

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/objects"
	"github.com/accession-ingest/accession/cmd/internal/app/withdrawal"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
)

func (e Env) withdrawals() *cobra.Command {
	var from app.Cursor
	var in operation.WithdrawalList
	c := &cobra.Command{
		Use:   "withdrawals",
		Short: "List requests to withdraw objects, and what became of them",
		Long: `List withdrawals, newest first: requested, approved (the content is being removed),
removed, rejected or taken_back.`,
		Example: "  accession object withdrawals --state requested\n  accession object withdrawals -o json",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			in.Cursor = string(from)
			page, err := door.Carry[app.Page[withdrawal.Withdrawal]](ctx, d, "object.withdrawals", &in)
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) {
				render.Rows(w, "no withdrawals", render.Row{"object", "collection", "state", "requested", "by", "decided", "by", "reason"}, page.Items, func(v withdrawal.Withdrawal) render.Row {
					return render.Row{v.ID, export.Line(v.Collection), v.State, render.Time(v.RequestedAt), export.Line(v.RequestedBy), at(v.DecidedAt), export.Line(cmp.Or(v.DecidedBy, "-")), export.Line(v.Reason)}
				})
				more(w, page.Next)
			})
		}),
	}
	flags.Parsed(c, &in.State, "state", "", "only those in this `STATE`: "+flags.Joined(withdrawal.States), flags.Optional(flags.Among(withdrawal.States...)))
	flags.Cursor(c, &from)
	flags.Limit(c, &in.Limit, flags.ListLimit, "withdrawals")
	return c
}

func at(t *time.Time) any {
	if t == nil {
		return "-"
	}
	return render.Time(*t)
}

// gone writes the tombstone of an object.
func gone(w io.Writer, t *objects.Tombstone) {
	if t == nil {
		return
	}
	render.Pairs(w, [][2]any{{"withdrawn", render.Time(t.Since)}, {"reason", export.Line(t.Reason)}, {"requested by", export.Line(t.RequestedBy)},
		{"approved by", export.Line(t.ApprovedBy)}, {"content removed", at(t.RemovedAt)}}...)
}
