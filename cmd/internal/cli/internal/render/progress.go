package render

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/export"
)

// barWidth is how many columns a bar has, with its ends.
const barWidth = 40

// counterStep is how many things pass between two updates of a counter.
const counterStep = 512

// Counter draws the progress of a long run that counts to total, with its rate and
// the time left. at takes the count; end must be called once, after the last count.
func Counter(ctx context.Context, w io.Writer, unit string, total uint64) (at func(uint64), end func()) {
	bars := NewBars(ctx, w)
	b := bars.mpb.AddBar(int64(total), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.CountersNoUnit("%d of %d "+unit, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.AverageSpeed(0, "%.0f/s"), decor.Name("  "), decor.AverageETA(decor.ET_STYLE_GO), decor.Name(" left")))
	return func(n uint64) {
			if n%counterStep == 0 {
				b.SetCurrent(int64(n))
			}
		}, func() {
			b.Abort(true) // SetTotal would do nothing: the bar has a total
			bars.Wait()
		}
}

// Growing draws the progress of a long run whose total grows while it is under way.
func Growing(ctx context.Context, w io.Writer, unit string) (seen func(done, of int), end func()) {
	var at func(uint64)
	stop, total := func() {}, 0
	return func(done, of int) {
		if of = max(of, done); at == nil || of > total {
			stop()
			total = of
			at, stop = Counter(ctx, w, unit, uint64(of))
		}
		at(uint64(done))
	}, func() { stop() }
}

// Bars are bars below each other.
type Bars struct{ mpb *mpb.Progress }

// NewBars draws bars on w until the context ends. It moves the cursor: a writer that
// lets nothing through but text is bypassed, and the texts beside the bars are made safe.
func NewBars(ctx context.Context, w io.Writer) Bars {
	return Bars{mpb.NewWithContext(ctx, mpb.WithOutput(export.Unwrapped(w)), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())}
}

// Wait returns when all bars are complete or removed.
func (b Bars) Wait() { b.mpb.Wait() }

// Gauge is a bar whose length and texts follow progress of type P.
type Gauge[P any] struct {
	bar  *mpb.Bar
	last atomic.Pointer[P] // read by the goroutine that draws
}

// NewGauge adds a gauge with texts on both sides of its bar. The text behind it gets
// the number of columns that are left; timed puts the elapsed time before it.
func NewGauge[P any](bars Bars, timed bool, before func(P) string, after func(now P, columns int) string) *Gauge[P] {
	g := &Gauge[P]{}
	g.last.Store(new(P))
	behind := []decor.Decorator{decor.Any(func(s decor.Statistics) string { return export.Line(after(*g.last.Load(), s.AvailableWidth-barWidth)) })}
	if timed {
		behind = append([]decor.Decorator{decor.Elapsed(decor.ET_STYLE_GO)}, behind...)
	}
	g.bar = bars.mpb.AddBar(0, mpb.AppendDecorators(behind...),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return export.Line(before(*g.last.Load())) }, decor.WCSyncSpaceR)))
	return g
}

// Set draws that done of total are done.
func (g *Gauge[P]) Set(now P, done, total int) {
	g.last.Store(&now)
	g.bar.SetTotal(int64(max(total, done, 1)), false)
	g.bar.SetCurrent(int64(done))
}

// Complete ends the gauge where it is.
func (g *Gauge[P]) Complete() { g.bar.SetTotal(-1, true) }

// Abort ends the gauge, and removes it when asked to.
func (g *Gauge[P]) Abort(remove bool) { g.bar.Abort(remove) }

// Step is how far a long run is.
type Step struct {
	Doing       string
	Unit        string // in front of the numbers
	Done, Total uint64
	More        string // such as the rate and the time left
}

// String returns the step as one line.
func (s Step) String() string {
	return fmt.Sprintf("%s: %s%d of %d%s", s.Doing, s.Unit, s.Done, s.Total, s.More)
}

// Steps runs do and draws the steps that it reports, until it returns.
func Steps[R any](ctx context.Context, w io.Writer, do func(report func(Step)) (R, error)) (R, error) {
	bars := NewBars(ctx, w)
	g := NewGauge(bars, true, Step.String, func(Step, int) string { return "" })
	r, err := do(func(now Step) { g.Set(now, int(now.Done), int(now.Total)) })
	g.Abort(true)
	bars.Wait()
	return r, err
}

// stepInterval is how often progress is written where no bar is drawn.
const stepInterval = 5 * time.Second

// StepLines returns a function that writes a line for each new phase, and one now and
// then.
func StepLines(w io.Writer) func(Step) {
	var last time.Time
	var phase string
	return func(now Step) {
		if now.Doing != phase || time.Since(last) >= stepInterval {
			last, phase = time.Now(), now.Doing
			_, _ = fmt.Fprintln(w, now)
		}
	}
}
