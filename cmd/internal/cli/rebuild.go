package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

func (p *program) rebuild() *cobra.Command {
	var o app.RebuildOptions
	var drop bool
	c := &cobra.Command{
		Use:   "rebuild",
		Short: "Make the tables anew from the log, beside the live ones",
		Long: `Make all tables and views that follow from the log anew (schemas accession and
report; records are not touched). The live ones go on meanwhile, and so may the
service. Both are compared at one event, and swapped in one transaction.

A difference stops it before the swap, unless the program has newer rules than the
live tables were made by, or events were held (accession poison): then it is told.
An event that cannot be applied ends it. Whatever ends it before the swap, the live
tables are as they were; --resume goes on, --drop removes what was made.

Views, tables and the like that others have built on the tables and views, or put
beside them, cannot come along: they are listed and nothing begins, unless
--drop-dependents says that they may go.`,
		Example: "  accession rebuild\n  accession rebuild --resume\n  accession rebuild --drop",
		Args:    cobra.NoArgs,
		RunE: p.stoppable(func(ctx context.Context, _ []string) error {
			if drop && (o.Resume || o.KeepOld || o.Accept) {
				return &usageError{errors.New("--drop goes alone, or with --drop-dependents"), "rebuild"}
			}
			return p.using(ctx, func(ctx context.Context, a *app.App) error {
				if drop {
					return a.DropRebuild(ctx, o.DropDependents)
				}
				begun := time.Now()
				done, err := p.rebuilding(ctx, a, o)
				if err != nil {
					return err
				}
				return p.show(done, func(w io.Writer) { showRebuilt(w, done, time.Since(begun)) })
			})
		}),
	}
	f := c.Flags()
	f.BoolVar(&o.Resume, "resume", false, "go on with a rebuild that was interrupted")
	f.BoolVar(&drop, "drop", false, "remove what an interrupted rebuild left, and old tables that were kept")
	f.BoolVar(&o.KeepOld, "keep-old", false, "keep the old tables, in schemas accession_old and report_old")
	f.BoolVar(&o.DropDependents, "drop-dependents", false, "drop what others have built on the old tables and views with them")
	f.BoolVar(&o.Accept, "accept", false, "swap even if the new tables differ for no known reason")
	return c
}

func showRebuilt(w io.Writer, done app.Rebuilt, took time.Duration) {
	lines := make([][]any, len(done.Tables))
	for i, t := range done.Tables {
		verdict := "equal"
		if !t.Same() {
			verdict = "DIFFERENT"
		}
		lines[i] = []any{t.Table, t.LiveRows, t.NewRows, verdict}
	}
	if len(lines) > 0 {
		rows(w, "", []any{"table", "rows before", "rows now", ""}, lines)
		fmt.Fprintln(w)
	}
	if done.Compared != "" {
		fmt.Fprintf(w, "%s\n", done.Compared)
	}
	rate := float64(done.Events) / max(done.Took.Seconds(), 0.001)
	fmt.Fprintf(w, "%d events replayed in %s (%.0f events/s); the new tables are live after %s\n", done.Events, lasting(done.Took), rate, lasting(took))
	if done.Kept {
		fmt.Fprintln(w, "the old ones are in accession_old and report_old: `accession rebuild --drop` removes them")
	}
}

// rebuildLines is how often a rebuild tells its progress where there is no
// terminal.
const rebuildLines = 5 * time.Second

// rebuilding runs a rebuild: with a bar on a terminal, else with a line now and
// then.
func (p *program) rebuilding(ctx context.Context, a *app.App, o app.RebuildOptions) (app.Rebuilt, error) {
	if !p.Terminal || !p.LogTerminal || p.output != "table" {
		var told time.Time
		var phase string
		o.Progress = func(now app.RebuildProgress) {
			if now.Phase == phase && time.Since(told) < rebuildLines {
				return
			}
			told, phase = time.Now(), now.Phase
			fmt.Fprintln(p.Err, rebuildLine(now))
		}
		return a.Rebuild(ctx, o)
	}
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(p.Err), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
	var last atomic.Pointer[app.RebuildProgress]
	last.Store(&app.RebuildProgress{})
	bar := bars.AddBar(0, mpb.PrependDecorators(decor.Elapsed(decor.ET_STYLE_GO)),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return rebuildLine(*last.Load()) })))
	o.Progress = func(now app.RebuildProgress) {
		last.Store(&now)
		bar.SetTotal(int64(max(now.Last, 1)), false)
		bar.SetCurrent(int64(now.Seq))
	}
	done, err := a.Rebuild(ctx, o)
	if err != nil {
		bar.Abort(false)
	} else {
		bar.SetTotal(int64(max(last.Load().Last, 1)), true)
	}
	bars.Wait()
	return done, err
}

func rebuildLine(now app.RebuildProgress) string {
	line := fmt.Sprintf("%s: event %d of %d", now.Phase, now.Seq, now.Last)
	if now.Rate > 0 {
		line += fmt.Sprintf(", %.0f events/s, %s left", now.Rate, lasting(now.Left))
	}
	return line
}
