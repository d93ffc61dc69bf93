// Package slots has the commands about slots.
package slots

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/slots"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/slot"
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

// Command returns the command slot.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "slot",
		Short: "List, add, open and close slots of datasets",
		Long: `A slot is a group of a dataset with a time window. Before the window its files wait
when they are DOWNLOADED (PENDING); within it they may become READY (ACTIVE); after it
those that are not READY are skipped (DONE, or MISSED if no file has arrived). The
sweeper opens and ends slots by the clock of the log. A file whose group has no slot
waits for none, unless the rules of its dataset make slots from the names of groups:
docs/files.md has them.`,
		Example: "  accession slot add nights 20261127 --from 2026-11-27T18:00Z --to 2026-11-28T09:00Z\n  accession slot ls --dataset nights",
	}, e.add(), e.open(), e.close(), e.ls(), e.show())
}

// named checks the arguments, a dataset and a group.
func named(_ *cobra.Command, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("give a dataset and a group, not %d arguments", len(args))
	}
	return slot.Check(args[0], args[1])
}

func idOf(args []string) operation.SlotID {
	return operation.SlotID{ID: string(slot.NewID(args[0], args[1]))}
}

func (e Env) add() *cobra.Command {
	in := &operation.SlotAdd{}
	c := &cobra.Command{
		Use:   "add DATASET GROUP",
		Short: "Give a group of a dataset its time window",
		Long: `Give a group of a dataset its time window. Files of the group that are there already wait
for it too, unless they are READY.`,
		Example: "  accession slot add nights 20261127 --from 2026-11-27T18:00Z --to 2026-11-28T09:00Z\n  accession slot add nights 20261127 --from 2026-11-27T18:00Z --to 2026-11-28T09:00Z --dry-run",
		Args:    named,
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			in.Body.Dataset, in.Body.Group = args[0], args[1]
			return e.change(ctx, d, "slot.add", in, idOf(args).ID)
		}),
	}
	flags.Parsed(c, &in.Body.From, "from", "", "`TIME` at which its window begins (required)", flags.ParseTime)
	flags.Parsed(c, &in.Body.To, "to", "", "`TIME` at which its window ends (required)", flags.ParseTime)
	for _, name := range []string{"from", "to"} {
		_ = c.MarkFlagRequired(name) // it is there
	}
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would happen, and change nothing")
	return c
}

func (e Env) change(ctx context.Context, d door.Door, name string, in any, id string) error {
	changed, err := door.Carry[app.Changed](ctx, d, name, in)
	if err != nil {
		return err
	}
	return e.Show(changed, func(w io.Writer) {
		if changed.From == "" {
			changed.From = "not there"
		}
		views.Changed(w, id, changed, true)
	})
}

// because are the flags of a change that needs a reason.
func because(c *cobra.Command, why *string, dryRun *bool) {
	c.Flags().StringVar(why, "reason", "", "record this `TEXT` as the reason (required)")
	c.Flags().BoolVar(dryRun, "dry-run", false, "show what would happen, and change nothing")
}

func (e Env) open() *cobra.Command {
	in := &operation.SlotOpen{}
	c := &cobra.Command{
		Use:   "open DATASET GROUP",
		Short: "Open a slot by hand",
		Long: `Open a slot before its window has begun, or again after it has ended; then give the
window a new end. Files that were skipped when it ended stay so: ` + "`accession file requeue`" + `
lets them wait again.`,
		Example: "  accession slot open nights 20261127 --reason \"the dome opened early\"\n  accession slot open nights 20261127 --to 2026-11-29T09:00Z --reason \"the link was down\"",
		Args:    named,
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			in.SlotID = idOf(args)
			return e.change(ctx, d, "slot.open", in, in.ID)
		}),
	}
	flags.Parsed(c, &in.Body.To, "to", "", "new `TIME` at which its window ends (default: as before)", flags.ParseTime)
	because(c, &in.Body.Reason, &in.DryRun)
	return c
}

func (e Env) close() *cobra.Command {
	why, dryRun := "", false
	c := &cobra.Command{
		Use:   "close DATASET GROUP",
		Short: "End a slot by hand",
		Long: `End a slot before its window is over: one that is ACTIVE is DONE, one that is PENDING is
MISSED. Its files that are DOWNLOADED are skipped; those that are READY go on.`,
		Example: "  accession slot close nights 20261127 --reason \"clouds\" --dry-run\n  accession slot close nights 20261127 --reason \"clouds\"",
		Args:    named,
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			in := &operation.SlotChange{SlotID: idOf(args), Match: operation.Match{Change: operation.Change{DryRun: dryRun, Body: &operation.Reason{Reason: why}}}}
			return e.change(ctx, d, "slot.close", in, in.ID)
		}),
	}
	because(c, &why, &dryRun)
	return c
}

func (e Env) ls() *cobra.Command {
	in := &operation.SlotList{}
	var from app.Cursor
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List slots",
		Long:    "List slots in the order of dataset and group, with how many of their files stand where.",
		Example: "  accession slot ls --dataset nights --state ACTIVE\n  accession slot ls -o json | jq '.items[].files.waiting'",
		Args:    cobra.NoArgs,
		RunE: e.Over(func(ctx context.Context, d door.Door, _ []string) error {
			in.Cursor = string(from)
			page, err := door.Carry[app.Page[slots.Slot]](ctx, d, "slot.ls", in)
			if err != nil {
				return err
			}
			return e.Show(page, func(w io.Writer) {
				render.Rows(w, "no slots", render.Row{"dataset", "group", "status", "opens", "closes", "files", "waiting", "ready", "processed", "skipped", "made by"}, page.Items, func(s slots.Slot) render.Row {
					return render.Row{s.Dataset, s.Group, string(s.Status), s.Opens, s.Closes, s.Files.All, s.Files.Waiting, s.Files.Ready, s.Files.Processed, s.Files.Skipped, s.MadeBy}
				})
				if page.Next != "" {
					fmt.Fprintf(w, "\n%d slots; --limit or --cursor %s for more\n", len(page.Items), page.Next)
				}
			})
		}),
	}
	c.Flags().StringVar(&in.Dataset, "dataset", "", "only slots of this `DATASET`")
	flags.InCollection(c, &in.Profile, &in.Collection, "slots")
	c.Flags().StringVar(&in.Code, "code", "", "only slots whose last change has a reason with this `CODE`")
	flags.Age(c, &in.Since, &in.OlderThan, "slots", "whose window begins")
	flags.Parsed(c, &in.State, "state", "", "only slots in this `STATE`: PENDING, ACTIVE, DONE or MISSED", flags.Optional(flags.Among("PENDING", "ACTIVE", "DONE", "MISSED")))
	flags.Cursor(c, &from)
	flags.Limit(c, &in.Limit, flags.ListLimit, "slots")
	return c
}

func (e Env) show() *cobra.Command {
	return &cobra.Command{
		Use:     "show DATASET GROUP",
		Short:   "Show a slot and its history",
		Long:    "Show a slot: its window, how many of its files stand where, and every change of its state.",
		Example: "  accession slot show nights 20261127",
		Args:    named,
		RunE: e.Over(func(ctx context.Context, d door.Door, args []string) error {
			id := idOf(args)
			v, err := door.Carry[slots.View](ctx, d, "slot.show", &id)
			if err != nil {
				return err
			}
			return e.Show(v, func(w io.Writer) { write(w, v) })
		}),
	}
}

func write(w io.Writer, v slots.View) {
	f := v.Files
	lines := [][2]any{{"dataset", v.Dataset}, {"group", v.Group}, {"status", string(v.Status)}, {"window", render.Time(v.Opens) + " to " + render.Time(v.Closes)}, {"made by", v.MadeBy}}
	if v.Reason != "" {
		lines = append(lines, [2]any{"reason", export.Line(v.Reason)})
	}
	lines = append(lines, [2]any{"files", fmt.Sprintf("%d: %d arrived, of which %d wait, %d ready, %d processed, %d skipped; %d given up", f.All, f.Arrived, f.Waiting, f.Ready, f.Processed, f.Skipped, f.GivenUp)})
	render.Pairs(w, lines...)
	fmt.Fprintln(w)
	render.Rows(w, "no changes", render.Row{"at", "from", "to", "by", "why"}, v.Transitions, func(t slots.Transition) render.Row {
		why := ""
		if t.ReasonMessage != nil {
			why = *t.ReasonMessage
		}
		return render.Row{domain.At(t.At), t.FromStatus, t.ToStatus, t.Actor, export.Line(why)}
	})
}
