package cli

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

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
