// Package computing has the commands about the compute queue.
package computing

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/entries"
	"github.com/accession-ingest/accession/cmd/internal/app/showing"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/flags"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/cmd/internal/operation"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/entry"
)

// Env is what the commands have of the program.
type Env struct {
	Out io.Writer
	// Screen says that Out is a terminal.
	Screen bool
	// Over returns the work of a command that calls the use cases wherever they are.
	Over func(do func(ctx context.Context, d door.Door, args []string) error) func(c *cobra.Command, args []string) error
	// Show writes an answer as JSON, or with write.
	Show func(v any, write func(w io.Writer)) error
	// Group makes a command one of further commands.
	Group   func(c *cobra.Command, commands ...*cobra.Command) *cobra.Command
	Working Working
}

// Command returns the command compute.
func Command(e Env) *cobra.Command {
	return e.Group(&cobra.Command{
		Use:   "compute",
		Short: "Request work on files, and see its results",
		Long: `Work on files waits in the compute queue until a worker takes it: the higher priority
first, then the older. One piece of work is an entry. It is about a dataset, or a group
of it, and what is requested twice under one key is one entry.`,
		Example: "  accession compute submit --dataset tides --group 2026-03 --input https://data.example.org/a.nc --wait",
	}, e.submit(), e.ls(), e.show(), e.output(), e.retry(), e.workers(), e.worker())
}

func (e Env) submit() *cobra.Command {
	var in operation.EntrySubmit
	var wait bool
	priority := int(entry.DefaultPriority)
	c := &cobra.Command{
		Use:   "submit",
		Short: "Request work",
		Long: `Request work on the files at some URLs, and show its entry. What was requested under the
same key is not requested again: its entry is shown as it stands, with its result.
Without --key the key is made of dataset, group and inputs.`,
		Example: "  accession compute submit --dataset tides --group 2026-03 --input https://data.example.org/a.nc --wait\n" +
			"  accession compute submit --dataset maps --priority 900 --input https://data.example.org/1.tif --key scan/1",
		Args: cobra.NoArgs,
	}
	b := &in.Body
	c.Flags().StringVar(&b.Dataset, "dataset", "", "the `DATASET` that it is about; required")
	_ = c.MarkFlagRequired("dataset") // it is there
	c.Flags().StringVar(&b.Group, "group", "", "the `GROUP` of the dataset (default all of it)")
	c.Flags().IntVar(&priority, "priority", priority, "0 to 999; the higher `PRIORITY` runs first")
	c.Flags().StringVar(&b.Key, "key", "", "the same `KEY` for the same work (default made of dataset, group and inputs)")
	c.Flags().StringArrayVar(&b.Inputs, "input", nil, "`URL` of an input; required, may be repeated")
	_ = c.MarkFlagRequired("input") // it is there
	c.Flags().BoolVar(&wait, "wait", false, "wait for its end")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would happen, and change nothing")
	c.MarkFlagsMutuallyExclusive("wait", "dry-run")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		b.Priority = &priority
		made, err := door.Carry[entries.Work](ctx, d, "compute.submit", &in)
		if err == nil && made.DryRun {
			return e.Show(made, func(w io.Writer) {
				fmt.Fprintf(w, "%s (dry run: nothing was changed)\n", export.Line(strings.Join(made.Effects, "; ")))
			})
		}
		if err != nil || !wait || made.Over() {
			return e.one(made, err)
		}
		return e.watch(ctx, d, made.ID)
	})
	return c
}

// one shows an entry. One that has failed is an error.
func (e Env) one(shown entries.Work, err error) error {
	if err == nil {
		err = e.Show(shown, func(w io.Writer) { write(w, shown) })
	}
	if err == nil {
		err = exit.If(shown.Status == entry.Failed, exit.BatchFailed)
	}
	return err
}

func (e Env) watch(ctx context.Context, d door.Door, id compute.ID) error {
	return e.one(showing.Watch(ctx, func() (entries.Work, error) { return show(ctx, d, id) }))
}

func show(ctx context.Context, d door.Door, id compute.ID) (entries.Work, error) {
	return door.Carry[entries.Work](ctx, d, "compute.show", &operation.EntryID{ID: string(id)})
}

func (e Env) show() *cobra.Command {
	var wait bool
	c := &cobra.Command{
		Use:     "show ENTRY",
		Short:   "Show work, with its result",
		Long:    "Show where an entry stands, and its result: what the worker's command wrote, and the\nfiles that it left beside it.",
		Example: "  accession compute show eid0000000001\n  accession compute show eid0000000001 -o json | jq .result.value",
		Args:    entryID,
	}
	c.Flags().BoolVar(&wait, "wait", false, "wait for its end")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		if id := compute.ID(args[0]); wait {
			return e.watch(ctx, d, id)
		}
		shown, err := show(ctx, d, compute.ID(args[0]))
		if err != nil {
			return err
		}
		return e.Show(shown, func(w io.Writer) { write(w, shown) })
	})
	return c
}

func (e Env) ls() *cobra.Command {
	var in operation.EntryList
	var from app.Cursor
	c := &cobra.Command{
		Use:     "ls",
		Short:   "List work, newest first",
		Long:    "List entries of the compute queue, newest first.",
		Example: "  accession compute ls --dataset tides --state FAILED",
		Args:    cobra.NoArgs,
	}
	c.Flags().StringVar(&in.Dataset, "dataset", "", "only about this `DATASET`")
	flags.InCollection(c, &in.Profile, &in.Collection, "work")
	c.Flags().StringVar(&in.Submitter, "submitter", "", "only those requested by this `NAME`")
	c.Flags().StringVar(&in.Code, "code", "", "only those that failed or wait again for a reason with this `CODE`")
	c.Flags().StringVar(&in.Host, "host", "", "only those with an input of this `HOST`")
	flags.Age(c, &in.Since, &in.OlderThan, "those", "requested")
	states := []string{string(entry.Pending), string(entry.Staging), string(entry.Successful), string(entry.Failed), string(entry.Purged)}
	flags.Parsed(c, &in.State, "state", "", "only those in this `STATE`: "+flags.Joined(states), flags.Optional(flags.Among(states...)))
	flags.Cursor(c, &from)
	flags.Limit(c, &in.Limit, flags.ListLimit, "entries")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, _ []string) error {
		in.Cursor = string(from)
		page, err := door.Carry[app.Page[entries.Work]](ctx, d, "compute.ls", &in)
		if err != nil {
			return err
		}
		return e.Show(page, func(w io.Writer) {
			render.Rows(w, "no entries", render.Row{"entry", "status", "dataset", "group", "priority", "attempt", "requested"}, page.Items, func(x entries.Work) render.Row {
				return render.Row{string(x.ID), string(x.Status), export.Line(x.Dataset), export.Line(x.Group), int(x.Priority), x.Attempt, x.Requested}
			})
			if page.Next != "" {
				fmt.Fprintf(w, "\n%d entries; --limit or --cursor %s for more\n", len(page.Items), page.Next)
			}
		})
	})
	return c
}

func (e Env) retry() *cobra.Command {
	var in operation.EntryChange
	var why string
	c := &cobra.Command{
		Use:     "retry ENTRY",
		Short:   "Let failed work wait again",
		Long:    "Let an entry that has failed wait again, with all its attempts.",
		Example: "  accession compute retry eid0000000001 --reason \"the server is back\"",
		Args:    entryID,
	}
	c.Flags().StringVar(&why, "reason", "", "record this `TEXT` as the reason")
	c.Flags().BoolVar(&in.DryRun, "dry-run", false, "show what would happen, and change nothing")
	c.RunE = e.Over(func(ctx context.Context, d door.Door, args []string) error {
		in.ID = args[0]
		in.Body = &operation.Reason{Reason: why}
		changed, err := door.Carry[app.Changed](ctx, d, "compute.retry", &in)
		if err != nil {
			return err
		}
		return e.Show(changed, func(w io.Writer) {
			would := ""
			if changed.DryRun {
				would = " (dry run: nothing was changed)"
			}
			fmt.Fprintf(w, "%s %s → %s%s\n", args[0], changed.From, changed.State, would)
		})
	})
	return c
}

func entryID(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("give one entry id, not %d arguments", len(args))
	}
	_, err := compute.ParseID(args[0])
	return err
}

// write writes an entry for people.
func write(w io.Writer, x entries.Work) {
	about := export.Line(x.Dataset)
	if x.Group != "" {
		about += ":" + export.Line(x.Group)
	}
	fmt.Fprintf(w, "%s %s, %s, priority %d, attempt %d\n", x.ID, x.Status, about, x.Priority, x.Attempt)
	if x.Progress != "" {
		fmt.Fprintf(w, "its worker says: %s\n", export.Line(x.Progress))
	}
	if x.Reason != "" {
		fmt.Fprintln(w, export.Line(x.Reason))
	}
	if r := x.Result; r != nil {
		fmt.Fprintf(w, "result of %s, exit status %d, sha256 %s\n", render.Size(r.Size), r.ExitStatus, r.SHA256)
		if lines := strings.TrimRight(r.LastLines, "\n"); lines != "" {
			fmt.Fprintln(w, lines)
		}
		for _, o := range r.Outputs {
			fmt.Fprintf(w, "output %s, %s, sha256 %s\n", o.Name, render.Size(o.Size), o.SHA256)
		}
	}
}
