package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/diffs"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/door"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/exit"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/config"
)

func (p *program) verify() *cobra.Command {
	var o app.VerifyOptions
	var repair, yes bool
	var object string
	var rate config.Bytes
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare the log with the live state, the tables and the object store",
		Long: `Fold the complete log and compare it with every batch, job, hold and pause in ZooKeeper,
every row in PostgreSQL, the inventory, the storage manifests and files in the object
stores, and the working directories, while work continues. Each is compared at its own
version; what is ahead of the log is waited for. Verify also looks for orphans: queue
entries and references without a job, locks without a live worker, directories of jobs
that are gone; for events that are not relayed to the log; and whether batches and files
add up.

Stored files are compared by existence and size; --deep reads all of them and compares
their SHA-256, in the order of the objects' identifiers. After an interruption, --from
continues with an object. At the end verify says what it looked at and what it did not.

With --repair, what can be repaired without a person is listed with what would be done;
with --repair --yes it is done: nodes are written again from the log, orphans are
removed, rows of the inventory are made again from the storage manifests. Each repair is
a write of its own with an event of its own, and is refused when its object has changed
since it was read. Tables are not repaired but rebuilt, with ` + "`accession rebuild`" + `, which
stops where rows differ, and ` + "`accession rebuild --resume --accept`" + `. What is missing or
corrupt in the object store is copied back from a replica of its profile that has it, and
never changed otherwise.

Each difference is a row, with a stable code and its remedy. Exit code 0: there is none;
20: --repair can repair all of them; 21: a person is needed; 22: the check could not be
made. After --repair --yes it is that of a second check.`,
		Example: "  accession verify\n  accession verify --repair\n  accession verify --repair --yes\n  accession verify --deep --rate 20MiB\n  accession verify --deep --object ark:/99999/fk4c3q2wz8\n  accession verify -o json | jq -r '.findings[].code' | sort | uniq -c",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if yes && !repair {
				return errors.New("--yes needs --repair")
			}
			return nil
		},
		RunE: p.using(func(ctx context.Context, a *app.App, _ []string) error {
			o.Rate = int64(rate)
			if object != "" {
				o.Objects = app.ObjectRange{From: object, To: object}
			}
			check := a.Verify
			if repair {
				a.DryRun, check = !yes, a.Repair
			}
			v, err := verifying(ctx, p, func(report func(app.VerifyProgress)) (app.Verified, error) {
				o.Progress = report
				return check(ctx, o)
			})
			if repair {
				_ = door.Noted(ctx, a, p.Err, "verify.repair", "installation", !yes, err) // it is seen below
			}
			if err != nil {
				if o.Deep && v.Last != "" {
					fmt.Fprintf(p.Err, "all objects up to %s were compared; --from %s continues\n", v.Last, v.Last)
				}
				return p.unchecked(ctx, err)
			}
			if err := show(p, v, diffs.Verified); err != nil {
				return err
			}
			if v.Worst == app.Repairable {
				return exit.Error(exit.Repairable)
			}
			return exit.If(v.Worst == app.NeedsPerson, exit.Person)
		}),
	}
	f := c.Flags()
	f.BoolVar(&repair, "repair", false, "show what would be repaired; with --yes, repair it")
	f.BoolVarP(&yes, "yes", "y", false, "with --repair: do it")
	f.BoolVar(&o.Deep, "deep", false, "read all stored files and compare their SHA-256")
	f.Var(&rate, "rate", "with --deep: read at most `BYTES` per second, such as 20MiB; 0 = no limit")
	f.StringVar(&o.Objects.From, "from", "", "compare stored objects from this identifier on")
	f.StringVar(&o.Objects.To, "to", "", "compare stored objects up to this identifier")
	f.StringVar(&object, "object", "", "compare this stored object only")
	f.DurationVar(&o.Wait, "wait", 10*time.Second, "how long to wait for what is ahead of the log, and for tables behind it")
	f.DurationVar(&o.OutboxLimit, "outbox-limit", time.Minute, "how long an event may take from ZooKeeper to the log")
	return c
}

// unchecked reports why a check could not be made.
func (p *program) unchecked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	p.report(err)
	return exit.Error(exit.Unchecked)
}

// verifying runs a check or a restore with a bar.
func verifying[R any](ctx context.Context, p *program, do func(report func(app.VerifyProgress)) (R, error)) (R, error) {
	return steps(ctx, p, func(render.Step) {}, func(report func(render.Step)) (R, error) {
		return do(func(now app.VerifyProgress) {
			report(render.Step{Doing: now.Doing, Done: uint64(now.Done), Total: uint64(now.Total)})
		})
	})
}
