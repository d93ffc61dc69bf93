package cli

import (
	"context"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// barStep is how many things pass between two looks of the bar: telling it of each
// would cost more than the work.
const barStep = 512

// bar draws how far a long run is, with its rate and the time that is left, when
// somebody sits there and out goes elsewhere. at is told the count so far; end must
// be called once, after the last. unit is what is counted.
func (p *program) bar(ctx context.Context, out bool, unit string, total uint64) (at func(uint64), end func()) {
	if !p.LogTerminal || out && p.Terminal || total == 0 {
		return func(uint64) {}, func() {}
	}
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(p.Err), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
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
