package domain

import (
	"fmt"
	"slices"
	"strings"
)

// at refuses a file that none of the rows starts from.
func (d *fileDecider) at(rows ...string) error {
	if _, ok := d.row(rows); !ok {
		return d.refuse(CodeIllegal, "")
	}
	return nil
}

func (d *fileDecider) row(rows []string) (FileTransition, bool) {
	for _, t := range FileTransitions {
		if t.From == d.f.State && slices.Contains(rows, t.Row) {
			return t, true
		}
	}
	return FileTransition{}, false
}

// step takes the row among those given that starts from the file's state.
func (d *fileDecider) step(data func(FileMove) EventData, why *Reason, rows ...string) error {
	t, ok := d.row(rows)
	if !ok {
		return d.refuse(CodeIllegal, "")
	}
	switch t.Count {
	case CountDownload:
		d.f.DownloadAttempts++
	case CountProcessing:
		d.f.ProcessingAttempts++
	case ResetDownload:
		d.f.DownloadAttempts = 0
	case ResetProcessing:
		d.f.ProcessingAttempts = 0
	case CountNothing:
	}
	d.f.Version++
	d.f.State = t.To
	d.dec.Rows = append(d.dec.Rows, t.Row)
	d.dec.Events = append(d.dec.Events, Event{Type: t.Event, Aggregate: d.f.Hash.Aggregate(), Version: d.f.Version,
		Data: data(FileMove{From: t.From, To: t.To, Reason: why, JobID: d.f.Spec.JobID, Path: d.f.Spec.Path, Size: d.f.Size,
			DownloadAttempts: d.f.DownloadAttempts, ProcessingAttempts: d.f.ProcessingAttempts})})
	return nil
}

func fileMoved(m FileMove) EventData { return &FileMoved{m} }

// because is a step that needs a reason.
func (d *fileDecider) because(why Reason, rows ...string) error {
	if err := d.at(rows...); err != nil {
		return err
	}
	if err := d.reasoned(why); err != nil {
		return err
	}
	return d.step(fileMoved, &why, rows...)
}

func (d *fileDecider) reasoned(why Reason) error {
	if why.Class == "" || why.Code == "" || why.Message == "" {
		return d.refuse(CodeReasonMissing, "it needs a reason: a class, a code and a sentence")
	}
	return nil
}

// fenced refuses whoever does not make the attempt under way.
func (d *fileDecider) fenced(row string, fence int64) error {
	if err := d.at(row); err != nil {
		return err
	}
	if fence != d.f.Fence {
		return d.refuse(CodeFenced, fmt.Sprintf("the attempt with the fence %d is over; the one under way has %d", fence, d.f.Fence))
	}
	return nil
}

// retry refuses a further attempt that is not allowed, or not yet.
func (d *fileDecider) retry(row string, attempts int, l Limits, now Time) error {
	if err := d.at(row); err != nil {
		return err
	}
	if err := d.limits(l); err != nil {
		return err
	}
	if l.Exhausted(attempts) {
		return d.refuse(CodeAttemptsUsedUp, fmt.Sprintf("%d of %d attempts are used up; the sweeper gives it up", attempts, l.Max))
	}
	wait := l.Wait(attempts)
	if wait <= 0 {
		return nil
	}
	if d.f.Failed.IsZero() || now.IsZero() {
		return d.refuse(CodeTimeUnknown, "the log's time of its failure is not known here; load it from the log")
	}
	if again := d.f.Failed.Add(wait); now.Before(again) {
		return d.refuse(CodeRetryDelayed, "its next attempt may begin at "+At(again).String())
	}
	return nil
}

func (d *fileDecider) limits(l Limits) error {
	if err := l.Check(); err != nil {
		return d.refuse(CodeBadLimits, oneLine(err))
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (d *fileDecider) refuse(code Code, why string) error {
	r := &Refused{Aggregate: d.f.Hash.Aggregate(), Command: d.name, State: string(d.f.State), Code: code}
	if why != "" {
		r.Message = r.Aggregate.String() + " cannot " + d.name + ": " + why
	}
	for _, t := range FileTransitions {
		if t.From == d.f.State && code == CodeIllegal {
			r.Possible = append(r.Possible, string(t.To))
		}
	}
	return r
}
