package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/views"
)

func (p *program) restore() *cobra.Command {
	return group(&cobra.Command{
		Use:   "restore",
		Short: "Restore the lost data of a server from the others",
		Long: `Restore what a server has lost: the live state in ZooKeeper from the log, or events of
the log from the tables and from the outbox in ZooKeeper. Stop every
` + "`accession serve`" + ` first, and keep what is left of the old data until
` + "`accession verify`" + ` finds no differences.`,
		Example: "  accession restore zookeeper --dry-run",
	}, p.restoring((*app.App).RestoreZooKeeper, views.Restored, &cobra.Command{
		Use:   "zookeeper",
		Short: "Restore the live state from the log",
		Long: `Fold the log and write its state to ZooKeeper: batches, jobs, queues, references, holds
and pauses as they were, ids above every id that was ever used, and a new epoch. Locks
are gone: running work is queued again and repeated from its last state. Events that had
not reached the log when the tree was lost are lost.

The root must be empty, or hold an older copy of this live state, which is replaced after
the events that wait in its outbox were appended to the log. It is refused otherwise, and
when another process uses it.
No process can open
the tree meanwhile. After an interruption, run the same command again.`,
		Example: "  accession restore zookeeper --dry-run\n  accession restore zookeeper\n  accession --set zookeeper_root=/accession2 restore zookeeper",
	}), p.restoring((*app.App).RestoreLog, views.RestoredLog, &cobra.Command{
		Use:   "log",
		Short: "Restore events that the log has lost",
		Long: `Compare the log with the history in PostgreSQL and with the outbox in ZooKeeper, and
append the events that it has lost, in their order, with their ids, versions and original
times: the end of a stream that lost its tail, or all of a stream that was lost. When the
stream is a new one, a new epoch begins.

When the log and its copies contradict each other about an event, nothing is written.
Events without any copy stay lost; what is known of them is reported. The tables follow
by themselves, unless the log had already continued without the lost events: then rebuild
them with ` + "`accession rebuild`" + `.

Refused when another process uses the installation; no process can open it meanwhile.
After an interruption, run the same command again.`,
		Example: "  accession restore log --dry-run\n  accession restore log",
	}))
}

// restoring completes a command that restores.
func (p *program) restoring(do func(a *app.App, ctx context.Context, report func(app.VerifyProgress)) (app.Restored, error), write func(io.Writer, app.Restored), c *cobra.Command) *cobra.Command {
	var dryRun bool
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be restored, and change nothing")
	c.Args = cobra.NoArgs
	c.RunE = answer(p, func(ctx context.Context, a *app.App, _ []string) (app.Restored, error) {
		a.DryRun = dryRun
		done, err := verifying(ctx, p, func(report func(app.VerifyProgress)) (app.Restored, error) { return do(a, ctx, report) })
		return done, door.Noted(ctx, a, p.Err, "restore."+c.Name(), "installation", dryRun, err)
	}, write)
	return c
}
