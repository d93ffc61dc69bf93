package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
)

// watch follows a batch until it is at rest: with a bar on a terminal, else with a
// line for each thing worth telling.
func (p *program) watch(ctx context.Context, a *app.App, id domain.BatchID, from uint64) (app.Progress, error) {
	if p.Terminal && p.LogTerminal && p.output == "table" {
		return watchBar(ctx, p.Err, id, func(seen func(app.Event, app.Progress)) (app.Progress, error) { return a.Watch(ctx, id, from, seen) })
	}
	l := lines{seen: map[domain.JobState]bool{}, tenth: map[string]int{}}
	return a.Watch(ctx, id, from, func(e app.Event, now app.Progress) {
		why := reasonOf(e)
		if news := l.worth(now); !news && why == "" {
			return
		}
		if l.begun.IsZero() {
			l.begun = e.Time.Time
		}
		fmt.Fprintf(p.Err, "%9s  %s%s\n", lasting(e.Time.Sub(l.begun)), progressLine(now), why)
	})
}

// lines decides which events are worth a line: a change of the batch, the first
// job in a state, the end of a job, a tenth more of many files.
type lines struct {
	begun time.Time
	state domain.BatchState
	ended int
	seen  map[domain.JobState]bool
	tenth map[string]int // by what was done with the files
}

func (l *lines) worth(now app.Progress) bool {
	news := now.State != l.state || now.Ended() != l.ended
	l.state, l.ended = now.State, now.Ended()
	for s := range now.Jobs {
		news = news || !l.seen[s]
		l.seen[s] = true
	}
	if f := now.Files; f.Listed >= manyFiles {
		for what, n := range map[string]int{"downloaded": f.Downloaded, "processed": f.Processed} {
			if tenth := 10 * n / f.Listed; tenth > l.tenth[what] {
				l.tenth[what], news = tenth, true
			}
		}
	}
	return news
}

// barWidth is how many columns the bar itself has, with its ends.
const barWidth = 40

// watchBar draws a bar on w while follow tells of a batch's progress.
func watchBar(ctx context.Context, w io.Writer, id domain.BatchID, follow func(seen func(app.Event, app.Progress)) (app.Progress, error)) (app.Progress, error) {
	bars := mpb.NewWithContext(ctx, mpb.WithOutput(w), mpb.WithWidth(barWidth), mpb.WithAutoRefresh())
	var now atomic.Pointer[app.Progress] // read by the goroutine that draws
	now.Store(&app.Progress{})
	var files *mpb.Bar // from the first file on
	bar := bars.AddBar(0,
		mpb.PrependDecorators(decor.Name(string(id)+"  "), decor.CountersNoUnit("%d of %d jobs", decor.WCSyncSpaceR)),
		mpb.AppendDecorators(decor.Elapsed(decor.ET_STYLE_GO), decor.Any(func(s decor.Statistics) string { return phasesWithin(*now.Load(), s.AvailableWidth-barWidth) })))
	end, err := follow(func(_ app.Event, seen app.Progress) {
		now.Store(&seen)
		bar.SetTotal(int64(max(seen.Listed, 1)), false)
		bar.SetCurrent(int64(seen.Ended()))
		if files == nil && seen.Files.Listed > 0 {
			files = fileBar(bars, &now)
		}
		if files != nil {
			files.SetTotal(int64(max(seen.Files.Steps(), 1)), false)
			files.SetCurrent(int64(seen.Files.Done()))
		}
	})
	if files != nil {
		files.SetTotal(-1, true) // as far as it came
	}
	if err != nil {
		bar.Abort(false)
	} else {
		bar.SetTotal(int64(max(end.Listed, end.Ended())), true)
	}
	bars.Wait()
	return end, err
}

// progressLine tells where a batch is in one line.
func progressLine(now app.Progress) string {
	line := fmt.Sprintf("%s is %s", now.Batch, now.State)
	if now.Listed > 0 {
		line += fmt.Sprintf(": %d of %d jobs ended", now.Ended(), now.Listed)
	}
	if s := phases(now); s != "" {
		line += " (" + s + ")"
	}
	if s := fileWords(now.Files); s != "" {
		line += "; " + s
	}
	return line
}

// phases tells how many jobs are in each state, in the order of the workflow.
func phases(now app.Progress) string {
	var parts []string
	for _, s := range domain.JobStates {
		if n := now.Jobs[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}

// phasesWithin is phases behind a gap, in so many columns: what does not fit is left
// out, the first states first, since the last ones tell how far the batch is.
func phasesWithin(now app.Progress, columns int) string {
	parts := strings.Split(phases(now), ", ")
	for i := range parts {
		s := "  " + strings.Join(parts[i:], ", ")
		if i > 0 {
			s = "  …, " + s[2:]
		}
		if utf8.RuneCountInString(s) <= columns {
			return s
		}
	}
	return ""
}

// reasonOf gives, for a line of its own words, why something failed or waits.
func reasonOf(e app.Event) string {
	_, _, why := e.Move()
	if why == nil || e.Type == domain.EventBatchReporting || e.Type == domain.EventJobCleaned {
		return ""
	}
	return fmt.Sprintf("\n           %s: %s: %s", strings.TrimPrefix(e.Subject, "job/"), why.Code, printable(why.Message))
}

// summary tells how a batch ended.
func summary(end app.Progress) string {
	s := fmt.Sprintf("%s %s: %d jobs listed, %d completed, %d failed", end.Batch, end.State, end.Listed, end.Completed, end.Failed)
	if end.Held > 0 {
		s += fmt.Sprintf(", %d held", end.Held)
	}
	if end.Deleted > 0 {
		s += fmt.Sprintf(", %d deleted", end.Deleted)
	}
	if end.Reason != nil {
		s += "\n" + string(end.Reason.Code) + ": " + printable(end.Reason.Message)
	}
	return s
}

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
