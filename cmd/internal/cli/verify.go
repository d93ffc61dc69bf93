package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) verify() *cobra.Command {
	var o app.VerifyOptions
	var repair, yes bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare the log with the live state and the tables",
		Long: `Fold the complete log and compare it with every batch, job, hold and pause in ZooKeeper,
every row in PostgreSQL, and the working directories, while work continues. Each is
compared at its own version; what is ahead of the log is waited for. Verify also looks
for orphans: queue entries and references without a job, locks without a live worker,
directories of jobs that are gone; for events that are not relayed to the log; and
whether batches and files add up.

With --repair, what can be repaired without a person is listed with what would be done;
with --repair --yes it is done: nodes are written again from the log, orphans are
removed. Each repair is a write of its own with an event of its own, and is
refused when its object has changed since it was read. Tables are not repaired but
rebuilt, with ` + "`accession rebuild`" + `.

Each difference is a row, with a stable code and its remedy. Exit code 0: there is none;
20: --repair can repair all of them; 21: a person is needed; 22: the check could not be
made. After --repair --yes it is that of a second check.`,
		Example: "  accession verify\n  accession verify --repair\n  accession verify --repair --yes\n  accession verify -o json | jq -r '.findings[].code' | sort | uniq -c",
		Args:    cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if yes && !repair {
				return errors.New("--yes needs --repair")
			}
			return nil
		},
		RunE: p.using(func(ctx context.Context, a *app.App, _ []string) error {
			check := a.Verify
			if repair {
				a.DryRun, check = !yes, a.Repair
			}
			v, err := verifying(ctx, p, func(report func(app.VerifyProgress)) (app.Verified, error) {
				o.Progress = report
				return check(ctx, o)
			})
			if err != nil {
				return p.unchecked(ctx, err)
			}
			if err := show(p, v, writeVerified); err != nil {
				return err
			}
			if v.Worst == app.Repairable {
				return exitError(exitRepairable)
			}
			return exitIf(v.Worst == app.NeedsPerson, exitPerson)
		}),
	}
	f := c.Flags()
	f.BoolVar(&repair, "repair", false, "show what would be repaired; with --yes, repair it")
	f.BoolVarP(&yes, "yes", "y", false, "with --repair: do it")
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
	return exitError(exitUnchecked)
}

// verifying runs a check or a restore with a bar.
func verifying[R any](ctx context.Context, p *program, do func(report func(app.VerifyProgress)) (R, error)) (R, error) {
	return steps(ctx, p, func(render.Step) {}, func(report func(render.Step)) (R, error) {
		return do(func(now app.VerifyProgress) {
			report(render.Step{Doing: now.Doing, Done: uint64(now.Done), Total: uint64(now.Total)})
		})
	})
}

func writeVerified(w io.Writer, v app.Verified) {
	fmt.Fprintf(w, "compared %d events, %d batches, %d jobs, %d files and %d settings\n", v.Events, v.Batches, v.Jobs, v.Files, v.Settings)
	writeFindings(w, v.Findings)
	if len(v.Repairs) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, r := range v.Repairs {
		line := fmt.Sprintf("%s: %d repaired", r.Subject, len(r.Mended))
		switch {
		case r.Left != "":
			line = fmt.Sprintf("%s: not repaired: %s", r.Subject, export.Line(r.Left))
		case v.DryRun:
			line = fmt.Sprintf("%s: %d would be repaired", r.Subject, len(r.Mended))
		}
		if r.Event != "" {
			line += " (event " + r.Event + ")"
		}
		fmt.Fprintln(w, line)
	}
	if v.DryRun {
		fmt.Fprintln(w, "nothing was changed: `accession verify --repair --yes` repairs it")
	}
}

// writeFindings writes a row for each finding, then the remedy of each code.
func writeFindings(w io.Writer, found []app.Finding) {
	remedies := map[domain.Code]string{}
	render.Rows(w, "no differences", render.Row{"code", "in", "about", "where", "expected", "found"}, found, func(f app.Finding) render.Row {
		remedies[f.Code] = f.Remedy
		return render.Row{f.Code, f.In, f.Subject, export.Line(f.Where), brief(f.Want), brief(f.Got)}
	})
	for i, code := range slices.Sorted(maps.Keys(remedies)) {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", code, remedies[code])
	}
}
