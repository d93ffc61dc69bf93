package cli

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// barWidth is how many columns a bar has, with its ends.
const barWidth = 40

func newBars(ctx context.Context, w io.Writer) *mpb.Progress {
	return mpb.NewWithContext(ctx, mpb.WithOutput(w), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
}

// draws reports whether progress is drawn as a bar: for people at a terminal who wait
// for a table.
func (p *program) draws() bool { return p.Terminal && p.LogTerminal && p.output == "table" }

// barStep is how many things pass between two updates of a bar.
const barStep = 512

// bar draws the progress of a long run that counts to total, with its rate and the
// time left, when Err is a terminal and the output goes elsewhere. at takes the
// count; end must be called once, after the last count.
func (p *program) bar(ctx context.Context, toOut bool, unit string, total uint64) (at func(uint64), end func()) {
	if !p.LogTerminal || toOut && p.Terminal || total == 0 {
		return func(uint64) {}, func() {}
	}
	bars := newBars(ctx, p.Err)
	b := bars.AddBar(int64(total), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d "+unit, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.AverageSpeed(0, "%.0f/s"), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
	return func(n uint64) {
			if n%barStep == 0 {
				b.SetCurrent(int64(n))
			}
		}, func() {
			b.Abort(true) // SetTotal would do nothing: the bar has a total
			bars.Wait()
		}
}

// gauge is a bar whose length and texts follow progress of type P.
type gauge[P any] struct {
	bar  *mpb.Bar
	last atomic.Pointer[P] // read by the goroutine that draws
}

// newGauge adds a gauge with texts on both sides of its bar; the one behind it is
// told how many columns are left.
func newGauge[P any](bars *mpb.Progress, before func(P) string, after func(now P, columns int) string, more ...decor.Decorator) *gauge[P] {
	g := &gauge[P]{}
	g.last.Store(new(P))
	g.bar = bars.AddBar(0,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return before(*g.last.Load()) }, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(append(more, decor.Any(func(s decor.Statistics) string { return after(*g.last.Load(), s.AvailableWidth-barWidth) }))...))
	return g
}

// set draws that done of total are done.
func (g *gauge[P]) set(now P, done, total int) {
	g.last.Store(&now)
	g.bar.SetTotal(int64(max(total, done, 1)), false)
	g.bar.SetCurrent(int64(done))
}

// step is how far a long run is.
type step struct {
	doing       string
	unit        string // in front of the numbers
	done, total uint64
	more        string // such as the rate and the time left
}

// String returns the step as one line.
func (s step) String() string {
	return fmt.Sprintf("%s: %s%d of %d%s", s.doing, s.unit, s.done, s.total, s.more)
}

// stepping runs do, which reports its steps: they are drawn as a bar, or else written
// with write.
func stepping[R any](ctx context.Context, p *program, write func(step), do func(report func(step)) (R, error)) (R, error) {
	if !p.draws() {
		return do(write)
	}
	bars := newBars(ctx, p.Err)
	g := newGauge(bars, step.String, func(step, int) string { return "" }, decor.Elapsed(decor.ET_STYLE_GO))
	r, err := do(func(now step) { g.set(now, int(now.done), int(now.total)) })
	g.bar.Abort(true)
	bars.Wait()
	return r, err
}
