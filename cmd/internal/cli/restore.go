package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) restore() *cobra.Command {
	c := &cobra.Command{
		Use:   "restore",
		Short: "Make a lost server's data anew from the others",
		Long: `Make anew what a server has lost: the live state in ZooKeeper from the log, or events
of the log from the tables and from what ZooKeeper still holds of them. Stop every
` + "`accession serve`" + ` first, and keep what is left of the old data until
` + "`accession verify`" + ` has found no difference.`,
		Example: "  accession restore zookeeper --dry-run",
	}
	c.AddCommand(p.restoreZooKeeper(), p.restoreLog())
	return c
}

func (p *program) restoreZooKeeper() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "zookeeper",
		Short: "Make the live state anew from the log, in an empty root",
		Long: `Fold the log and draw in ZooKeeper what it gives: batches, jobs, queues, references,
holds and pauses as they were, ids above every one that was ever used, and a new epoch.
Locks are gone, so that work that was under way is queued again and done once more from
its last state. Events that had not reached the log when the tree was lost are lost.

It is refused when the root holds anything, or when another process uses it. While it
runs, nobody can open the tree; interrupted, it is begun again by the same command.`,
		Example: "  accession restore zookeeper --dry-run\n  accession restore zookeeper\n  accession --set zookeeper_root=/accession2 restore zookeeper",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				a.DryRun = dry
				r, err := progressing(ctx, p, a.RestoreZooKeeper)
				if err != nil {
					return err
				}
				return p.show(r, func(w io.Writer) { showRestored(w, r) })
			})
		}),
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would be made, and do nothing")
	return c
}

func showRestored(w io.Writer, r app.Restored) {
	verb := "made"
	if r.DryRun {
		verb = "would be made"
	}
	fmt.Fprintf(w, "%d batches, %d jobs and %d settings %s from %d events; epoch %d begins\n", r.Batches, r.Jobs, r.Settings, verb, r.Events, r.Epoch)
	if r.RecordUnasked != "" {
		fmt.Fprintf(w, "PostgreSQL was not asked which ids it has, only the log: %s\n", printable(r.RecordUnasked))
	}
	if !r.DryRun {
		fmt.Fprintln(w, "now start `accession serve`, and look with `accession verify`")
	}
}

func (p *program) restoreLog() *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use:   "log",
		Short: "Put events back that the log has lost",
		Long: `Compare the log with the history in PostgreSQL and with what the outbox in ZooKeeper
still keeps, and append to the log what it has lost, in its order, under its ids and
versions and with the times at which it was first taken: the end of a stream that lost
its tail, or all of a stream that was lost. When the stream is a new one, a new epoch
begins.

When the log and its copies tell different things of one event, nothing is written.
Events that are nowhere stay lost; what is known of them is told. The tables go on by
themselves, unless the log had already gone on without the lost events: then
` + "`accession rebuild`" + ` makes them anew.

It is refused when another process uses the installation; nobody can open it meanwhile.
Interrupted, it is done again by the same command.`,
		Example: "  accession restore log --dry-run\n  accession restore log",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				a.DryRun = dry
				r, err := progressing(ctx, p, a.RestoreLog)
				if err != nil {
					return err
				}
				return p.show(r, func(w io.Writer) { showPutBack(w, r) })
			})
		}),
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "tell what would be put back, and do nothing")
	return c
}

func showPutBack(w io.Writer, r app.Restored) {
	switch {
	case r.DryRun:
		fmt.Fprintf(w, "%d events would be put back\n", r.Events)
	case r.Events == 0:
		fmt.Fprintln(w, "the log has lost nothing that is known of")
	default:
		fmt.Fprintf(w, "%d events were put back\n", r.Events)
	}
	if r.Epoch > 0 {
		fmt.Fprintf(w, "the stream is a new one; epoch %d begins\n", r.Epoch)
	}
	for _, id := range r.Missing {
		fmt.Fprintf(w, "%s cannot be put back: an event before it is nowhere\n", printable(id))
	}
	if r.Rebuild {
		fmt.Fprintln(w, "events stand at other places than before: make the tables anew with `accession rebuild`")
	}
	if r.TreeLost {
		fmt.Fprintln(w, "the tree in ZooKeeper is lost too: now make it anew with `accession restore zookeeper`")
	} else if !r.DryRun && r.Events > 0 {
		fmt.Fprintln(w, "now start `accession serve`, and look with `accession verify`")
	}
}
