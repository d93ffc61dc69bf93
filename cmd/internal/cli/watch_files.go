package cli

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/app"
)

// manyFiles is from how many files on every tenth of them is worth a line.
const manyFiles = 100

// fileBar draws how far the files are, by number and bytes, how fast it goes and how
// long it will take.
func fileBar(bars *mpb.Progress, now *atomic.Pointer[app.Progress]) *mpb.Bar {
	return bars.AddBar(0,
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return fileStep(now.Load().Files) }, decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string { return paceWithin(now.Load().Files, s.AvailableWidth-barWidth) })))
}

// fileStep tells how far the step is that is under way.
func fileStep(f app.FileProgress) string {
	if f.Processed > 0 {
		return fmt.Sprintf("%d of %d files processed", f.Processed, f.Listed)
	}
	return fmt.Sprintf("%d of %d files downloaded", f.Downloaded, f.Listed)
}

// paceWithin tells of bytes and time in so many columns: the time left is the last to
// be left out.
func paceWithin(f app.FileProgress, columns int) string {
	speed, left := filePace(f)
	for _, parts := range [][]string{{fileBytes(f), speed, left}, {speed, left}, {left}} {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if s := "  " + strings.Join(parts, ", "); len(parts) > 0 && len(s) <= columns {
			return s
		}
	}
	return ""
}

// fileWords tells it in one line, "" when no file is known.
func fileWords(f app.FileProgress) string {
	if f.Listed == 0 {
		return ""
	}
	return fileNumbers(f) + ", " + fileBytes(f)
}

func fileNumbers(f app.FileProgress) string {
	s := fmt.Sprintf("%d of %d files downloaded, %d processed", f.Downloaded, f.Listed, f.Processed)
	if f.GivenUp > 0 {
		s += fmt.Sprintf(", %d given up", f.GivenUp)
	}
	if f.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", f.Skipped)
	}
	return s
}

// fileBytes tells of the bytes of the step that is under way.
func fileBytes(f app.FileProgress) string {
	if f.Processed > 0 {
		return fmt.Sprintf("%s of %s stored", byteSize(f.BytesProcessed), byteSize(f.BytesListed))
	}
	return fmt.Sprintf("%s of %s", byteSize(f.BytesDownloaded), byteSize(f.BytesListed))
}

// filePace tells how fast bytes come, and what time is left at the pace so far; ""
// when nobody can say.
func filePace(f app.FileProgress) (speed, left string) {
	spent := f.Last.Sub(f.Begun.Time)
	if f.Begun.IsZero() || spent <= 0 || f.Done() == 0 {
		return "", ""
	}
	speed = byteSize(int64(float64(f.BytesDownloaded+f.BytesProcessed)/spent.Seconds())) + "/s"
	if n := f.Steps() - f.Done(); n > 0 {
		left = (time.Duration(float64(spent) * float64(n) / float64(f.Done()))).Round(time.Second).String() + " left"
	}
	return speed, left
}

func byteSize(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("% .1f", decor.SizeB1024(n))
}
