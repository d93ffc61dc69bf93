// Package watch shows people how a batch goes on: with bars at a terminal, or else with
// lines.
package watch

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/cli/internal/render"
	"github.com/accession-ingest/accession/cmd/internal/export"
	"github.com/accession-ingest/accession/domain"
)

// Batch shows on w the progress that follow reports, until the batch is at rest: with
// bars if it draws, or else with a line for events that are worth one, one a second at most.
func Batch(ctx context.Context, w io.Writer, draw bool, id domain.BatchID, follow func(seen func(app.Event, app.Progress)) (app.Progress, error)) (app.Progress, error) {
	if draw {
		return watchBar(ctx, w, id, follow)
	}
	l, p := lines{seen: map[domain.JobState]bool{}, tenth: map[string]int{}}, pace{w: w, every: linesEvery}
	defer p.flush()
	return follow(func(e app.Event, now app.Progress) {
		reason := reasonLine(e) + versionLine(e)
		if news := l.worth(now); !news && reason == "" {
			return
		}
		if l.begun.IsZero() {
			l.begun = e.Time.Time
		}
		p.show(fmt.Sprintf("%9s  %s", render.Duration(e.Time.Sub(l.begun)), Line(now)), reason)
	})
}

// lines decides which events are worth a line: a change of the batch, the first
// job in a state, the end of a job, every tenth of many files.
type lines struct {
	begun time.Time
	state domain.BatchState
	ended int
	seen  map[domain.JobState]bool
	tenth map[string]int // of files downloaded and processed
}

// manyFiles is the number of files from which on their tenths are worth a line.
const manyFiles = 100

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

// watchBar draws bars for the jobs and files of a batch on w while follow reports its
// progress.
func watchBar(ctx context.Context, w io.Writer, id domain.BatchID, follow func(seen func(app.Event, app.Progress)) (app.Progress, error)) (app.Progress, error) {
	bars := render.NewBars(ctx, w)
	jobs := render.NewGauge(bars, true, func(now app.Progress) string {
		return fmt.Sprintf("%s  %d of %d jobs ", id, now.Ended(), max(now.Listed, now.Ended(), 1))
	}, phasesWithin)
	var files *render.Gauge[app.FileProgress] // from the first file on
	end, err := follow(func(_ app.Event, seen app.Progress) {
		jobs.Set(seen, seen.Ended(), seen.Listed)
		if files == nil && seen.Files.Listed > 0 {
			files = render.NewGauge(bars, false, fileStep, paceWithin)
		}
		if files != nil {
			files.Set(seen.Files, seen.Files.Done(), seen.Files.Steps())
		}
	})
	if files != nil {
		files.Complete()
	}
	if err != nil {
		jobs.Abort(false)
	} else {
		jobs.Set(end, end.Ended(), end.Listed)
		jobs.Complete()
	}
	bars.Wait()
	return end, err
}

// Line formats the state of a batch as one line.
func Line(now app.Progress) string {
	line := fmt.Sprintf("%s is %s", now.Batch, now.State)
	if now.Listed > 0 {
		line += fmt.Sprintf(": %d of %d jobs ended", now.Ended(), now.Listed)
	}
	if s := phases(now); s != "" {
		line += " (" + s + ")"
	}
	if f := now.Files; f.Listed > 0 {
		line += fmt.Sprintf("; %d of %d files downloaded, %d processed%s%s, %s", f.Downloaded, f.Listed, f.Processed,
			counted(f.GivenUp, "given up"), counted(f.Skipped, "skipped"), fileBytes(f))
	}
	return line
}

// counted formats one more number of a list, nothing for 0.
func counted(n int, what string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d %s", n, what)
}

// phases lists how many jobs are in each state, in the order of the workflow.
func phases(now app.Progress) string {
	list := ""
	for _, s := range domain.JobStates {
		list += counted(now.Jobs[s], string(s))
	}
	return strings.TrimPrefix(list, ", ")
}

// phasesWithin is phases behind a gap, in so many columns: what does not fit is left
// out, the first states first.
func phasesWithin(now app.Progress, columns int) string {
	all := phases(now)
	for s := "  " + all; ; s = "  …, " + all {
		if utf8.RuneCountInString(s) <= columns {
			return s
		}
		var more bool
		if _, all, more = strings.Cut(all, ", "); !more {
			return ""
		}
	}
}

// reasonLine returns, as a line of its own, why something failed or waits. The reason of a file is
// said with that of its job, which has the name of the file; some are of no trouble at all, as that a
// container was unpacked.
func reasonLine(e app.Event) string {
	_, _, why := e.Move()
	if why == nil || e.Type == domain.EventBatchReporting || e.Type == domain.EventJobCleaned || strings.HasPrefix(e.Subject, "file/") {
		return ""
	}
	return fmt.Sprintf("\n           %s: %s: %s", strings.TrimPrefix(e.Subject, "job/"), why.Code, export.Line(why.Message))
}

// versionLine returns, as a line of its own, which version a job has added to an object
// that was there.
func versionLine(e app.Event) string {
	d, ok := e.Data.(*domain.JobProcessed)
	if !ok || d.Object.Version < 2 {
		return ""
	}
	return fmt.Sprintf("\n           %s: %s", strings.TrimPrefix(e.Subject, "job/"), render.Version(d.Object.Version, d.Object.Primary))
}

// Summary formats how a batch ended.
func Summary(end app.Progress) string {
	s := fmt.Sprintf("%s %s: %d jobs listed, %d completed, %d failed%s%s", end.Batch, end.State, end.Listed, end.Completed, end.Failed,
		counted(end.Held, "held"), counted(end.Deleted, "deleted"))
	if end.Added > 1 {
		s += fmt.Sprintf("; %d added a version to an object", end.Added)
	} else if end.Added == 1 {
		s += "; it is " + render.Version(end.Versions[0].Version, end.Versions[0].Primary)
		if end.Listed > 1 {
			s = strings.Replace(s, "; it is ", "; one is ", 1)
		}
	}
	if end.Reason != nil {
		s += "\n" + string(end.Reason.Code) + ": " + export.Line(end.Reason.Message)
	}
	return s
}

// fileStep formats how far the files are in their current step.
func fileStep(f app.FileProgress) string {
	if f.Processed > 0 {
		return fmt.Sprintf("%d of %d files processed", f.Processed, f.Listed-f.Skipped)
	}
	return fmt.Sprintf("%d of %d files downloaded", f.Downloaded, f.Listed)
}

// fileBytes formats the bytes of the current step. What is skipped, as a container is that was
// unpacked, is not to be stored.
func fileBytes(f app.FileProgress) string {
	if f.Processed > 0 {
		return fmt.Sprintf("%s of %s stored", render.Size(f.BytesProcessed), render.Size(f.BytesListed-f.BytesSkipped))
	}
	return fmt.Sprintf("%s of %s", render.Size(f.BytesDownloaded), render.Size(f.BytesListed))
}

// paceWithin formats bytes, speed and the time left in so many columns; the time left
// is left out last.
func paceWithin(f app.FileProgress, columns int) string {
	parts := []string{fileBytes(f)}
	if spent := f.Last.Sub(f.Begun.Time); !f.Begun.IsZero() && spent > 0 && f.Done() > 0 {
		parts = append(parts, render.Size(int64(float64(f.BytesDownloaded+f.BytesProcessed)/spent.Seconds()))+"/s")
		if n := f.Steps() - f.Done(); n > 0 {
			parts = append(parts, time.Duration(float64(spent)*float64(n)/float64(f.Done())).Round(time.Second).String()+" left")
		}
	}
	for ; len(parts) > 0; parts = parts[1:] {
		if s := "  " + strings.Join(parts, ", "); len(s) <= columns {
			return s
		}
	}
	return ""
}
