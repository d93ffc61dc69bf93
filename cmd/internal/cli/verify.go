package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

func (p *program) verify() *cobra.Command {
	var o app.VerifyOptions
	var repair, yes bool
	c := &cobra.Command{
		Use:   "verify",
		Short: "Compare the history with the live state and the tables",
		Long: `Fold the whole history and compare it with every batch, job, hold and pause in
ZooKeeper, with every row in PostgreSQL, and with the working directories, while work
goes on. Each is compared at the version that it has; what is ahead of the log is
waited for. It also looks for what belongs to nothing: queue entries and references
without a job, locks that nobody alive holds, directories of jobs that are gone; for
events that nobody carries to the log; and whether batches and files add up.

With --repair what can be mended without a person is listed with what would be done;
with --repair --yes it is done: nodes are drawn again from the history, what belongs to
nothing is removed. Each repair is a write of its own with an event of its own, and is
refused when the thing has changed since it was looked at. Tables are not repaired but
made anew, by ` + "`accession rebuild`" + `.

Each difference is a row, with a stable code, and what to do about it. Exit code 0:
there is none; 20: all of them can be mended by --repair; 21: somebody has to look;
22: the check could not be made. After --repair --yes it is that of a second check.`,
		Example: "  accession verify\n  accession verify --repair\n  accession verify --repair --yes\n  accession verify -o json | jq -r '.findings[].code' | sort | uniq -c",
		Args:    cobra.NoArgs,
	}
	c.RunE = p.stoppable(func(ctx context.Context, _ []string) error {
		return p.using(ctx, func(ctx context.Context, a *app.App) error {
			check := a.Verify
			if repair {
				a.DryRun, check = !yes, a.Repair
			} else if yes {
				return &usageError{errors.New("--yes goes with --repair"), c.CommandPath()}
			}
			v, err := progressing(ctx, p, func(ctx context.Context, seen func(app.VerifyProgress)) (app.Verified, error) {
				o.Progress = seen
				return check(ctx, o)
			})
			if err != nil {
				return p.unchecked(ctx, err)
			}
			if err := p.show(v, func(w io.Writer) { showVerified(w, v) }); err != nil {
				return err
			}
			return verdictCode(v)
		})
	})
	f := c.Flags()
	f.BoolVar(&repair, "repair", false, "tell what would be mended; with --yes, mend it")
	f.BoolVarP(&yes, "yes", "y", false, "with --repair: do it")
	f.DurationVar(&o.Wait, "wait", 10*time.Second, "how long something that is ahead of the log, or the tables behind it, is waited for")
	f.DurationVar(&o.OutboxLimit, "outbox-limit", time.Minute, "how long an event may take from ZooKeeper to the log")
	return c
}

// unchecked tells why a check could not be made.
func (p *program) unchecked(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	p.report(err)
	return exitError(exitUnchecked)
}

// verdictCode is the exit code of a check.
func verdictCode(v app.Verified) error {
	switch v.Worst {
	case app.Repairable:
		return exitError(exitRepairable)
	case app.NeedsPerson:
		return exitError(exitPerson)
	}
	return nil
}

// progressing does something long, with a bar at a terminal.
func progressing[R any](ctx context.Context, p *program, do func(context.Context, func(app.VerifyProgress)) (R, error)) (R, error) {
	if !p.Terminal || !p.LogTerminal || p.output != "table" {
		return do(ctx, nil)
	}
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(p.Err), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
	var now atomic.Pointer[app.VerifyProgress]
	now.Store(&app.VerifyProgress{})
	bar := bars.AddBar(0, mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return fmt.Sprintf("%-28s", now.Load().Doing) }), decor.CountersNoUnit("%d of %d", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO)))
	r, err := do(ctx, func(seen app.VerifyProgress) {
		now.Store(&seen)
		bar.SetTotal(int64(max(seen.Total, seen.Done, 1)), false)
		bar.SetCurrent(int64(seen.Done))
	})
	bar.Abort(true)
	bars.Wait()
	return r, err
}

func showVerified(w io.Writer, v app.Verified) {
	fmt.Fprintf(w, "compared %d events, %d batches, %d jobs, %d files and %d settings\n", v.Events, v.Batches, v.Jobs, v.Files, v.Settings)
	showFindings(w, v.Findings)
	if len(v.Repairs) > 0 {
		fmt.Fprintln(w)
	}
	for _, r := range v.Repairs {
		what := fmt.Sprintf("%d mended", len(r.Mended))
		switch {
		case r.Left != "":
			what = "left as it is: " + printable(r.Left)
		case v.DryRun:
			what = fmt.Sprintf("%d would be mended", len(r.Mended))
		}
		fmt.Fprintf(w, "%s: %s%s\n", r.Subject, what, because(r.Event))
	}
	if v.DryRun && len(v.Repairs) > 0 {
		fmt.Fprintln(w, "nothing was done: `accession verify --repair --yes` does it")
	}
}

// because names the event of a repair.
func because(event string) string {
	if event == "" {
		return ""
	}
	return " (event " + event + ")"
}

// showFindings writes a row for each, and what to do for each code once.
func showFindings(w io.Writer, found []app.Finding) {
	lines := make([][]any, len(found))
	var codes []domain.Code
	remedies := map[domain.Code]string{}
	for i, f := range found {
		lines[i] = []any{f.Code, f.In, f.Subject, printable(f.Where), brief(f.Want), brief(f.Got)}
		if _, told := remedies[f.Code]; !told {
			codes = append(codes, f.Code)
		}
		remedies[f.Code] = f.Remedy
	}
	rows(w, "no difference", []any{"code", "in", "about", "where", "expected", "found"}, lines)
	if len(found) == 0 {
		return
	}
	slices.Sort(codes)
	fmt.Fprintln(w)
	for _, code := range codes {
		fmt.Fprintf(w, "%s: %s\n", code, remedies[code])
	}
}

// briefWidth is how much of a value a row shows; -o json has all of it.
const briefWidth = 60

func brief(s string) string {
	if text := []rune(printable(s)); len(text) > briefWidth {
		return string(text[:briefWidth-1]) + "…"
	}
	return printable(s)
}
