package cli

import (
	"context"
	"fmt"
	"io"
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
