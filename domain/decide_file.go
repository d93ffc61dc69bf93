package domain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// FileDecision is what a command about a file leads to: the events, in order, and
// the table row of each. They are written together or not at all.
type FileDecision struct {
	Rows   []string
	Events []Event
}

// DecideFile returns the decision that cmd leads to in state f. If the rules do not allow
// it the error is a *[Refused].
func DecideFile(f File, cmd FileCommand) (FileDecision, error) {
	d := &fileDecider{f: f, name: cmd.fileCommand()}
	if err := d.decide(cmd); err != nil {
		return FileDecision{}, err
	}
	return d.dec, nil
}

// fileDecider collects the steps of one decision; f is the file after those that
// it has.
type fileDecider struct {
	f    File
	name string
	dec  FileDecision
}

func (d *fileDecider) decide(cmd FileCommand) error {
	switch c := cmd.(type) {
	case DiscoverFile:
		return d.discover(c)
	case StartDownload:
		return d.startDownload(c)
	case FinishDownload:
		return d.fetched("F4", c.Fence, c.Size, c.SHA256, nil)
	case FileAlreadyThere:
		why := Reason{Class: ClassWait, Code: CodeAlreadyExists, Message: "a valid copy was there already"}
		return d.fetched("F3", 0, c.Size, c.SHA256, &why)
	case FailDownload:
		return d.fail("F5", failure{c.Fence, c.Reason, c.Limits, "", c.Uncounted})
	case FailValidation:
		return d.fail("F8", failure{why: c.Reason, limits: c.Limits, quarantine: c.Quarantine})
	case SkipFile:
		return d.stepBecause(c.Reason, "F9")
	case ReadyFile:
		return d.ready(c)
	case StartProcessing:
		return d.step(func(m FileMove) EventData { return &FileStarted{m, c.Worker} }, nil, "F11")
	case FinishProcessing:
		if err := d.checkFence("F12", c.Fence); err != nil {
			return err
		}
		return d.step(func(m FileMove) EventData { return &FileDone{m, c.Output, c.Fence} }, nil, "F12")
	case FailProcessing:
		return d.fail("F13", failure{c.Fence, c.Reason, c.Limits, "", c.Uncounted})
	case AuditFailed:
		return d.fail("F16", failure{why: c.Reason, limits: c.Limits})
	case AbandonFile:
		if err := d.decide(StartProcessing{}); err != nil {
			return err
		}
		return d.abandon("F13", c.Reason)
	case FailOutput:
		return d.abandon("F16", c.Reason)
	case RestoreOutput:
		return d.restoreOutput(c)
	case RetryProcessing:
		if err := d.checkRetry("F14", d.f.ProcessingAttempts, c.Limits, c.Now); err != nil {
			return err
		}
		return d.step(fileMoved, nil, "F14")
	case RecoverFile:
		return d.overdue(c)
	case ReopenFile:
		return d.stepBecause(c.Reason, "O1", "O2", "O3")
	default:
		return d.refuse(CodeUnknownCommand, "the command is unknown")
	}
}

func (d *fileDecider) discover(c DiscoverFile) error {
	if d.f.State != FileNone {
		return d.refuse(CodeAlreadyDiscovered, "it is known already")
	}
	if err := c.Spec.Check(); err != nil {
		return d.refuse(CodeBadFile, oneLine(err))
	}
	if h := c.Spec.Hash(); h != d.f.Hash {
		return d.refuse(CodeBadFile, "its source and path have the hash "+string(h))
	}
	d.f.Spec, d.f.Size = c.Spec, c.Spec.Size
	return d.step(func(m FileMove) EventData { return &FileFound{m, c.Spec} }, nil, "F1")
}

func (d *fileDecider) startDownload(c StartDownload) error {
	if err := d.require("F2", "F6"); err != nil {
		return err
	}
	if d.f.State == FileDownloadingFailed {
		if err := d.checkRetry("F6", d.f.DownloadAttempts, c.Limits, c.Now); err != nil {
			return err
		}
	} else if err := d.checkLimits(c.Limits); err != nil {
		return err
	}
	return d.step(func(m FileMove) EventData { return &FileStarted{m, c.Worker} }, nil, "F2", "F6")
}

// fetched takes a file that is there.
func (d *fileDecider) fetched(row string, fence, size int64, sha256 string, why *Reason) error {
	if err := d.checkFence(row, fence); err != nil {
		return err
	}
	if size < 0 || !hexDigest(sha256) {
		return d.refuse(CodeBadFile, "a downloaded file has a size and a SHA-256 of 64 lower-case hexadecimal digits")
	}
	d.f.Size = size
	return d.step(func(m FileMove) EventData { return &FileFetched{m, sha256, fence} }, why, row)
}

// ready lets a file be processed when its slot and its companions allow it.
func (d *fileDecider) ready(c ReadyFile) error {
	if err := d.require("F10"); err != nil {
		return err
	}
	switch c.Slot {
	case SlotNone, SlotActive:
	case SlotDone, SlotMissed:
		return d.stepBecause(Reason{Class: ClassTimeout, Code: CodeSlotClosed, Message: "its slot is " + string(c.Slot)}, "F9")
	default:
		return d.refuse(CodeSlotPending, "its slot is "+string(c.Slot)+", not "+string(SlotActive))
	}
	if len(c.Missing) > 0 {
		return d.refuse(CodePrerequisites, "it waits for "+strings.Join(c.Missing, ", "))
	}
	return d.step(fileMoved, nil, "F10")
}

// overdue ends what is overdue. The caller finds candidates in tables that may be
// behind: that there is nothing to do is an ordinary answer.
func (d *fileDecider) overdue(c RecoverFile) error {
	if err := d.require("F5", rowIgnore, "F13", rowAbandon); err != nil {
		return err
	}
	row, l, started, code := "F5", c.Limits.Download, d.f.DownloadStarted, CodeDownloadTimeout
	if d.f.State == FileProcessing || d.f.State == FileProcessingFailed {
		row, l, started, code = "F13", c.Limits.Processing, d.f.ProcessingStarted, CodeProcessingTimeout
	}
	if err := d.checkLimits(l); err != nil {
		return err
	}
	switch {
	case !d.f.State.Running():
		if !l.Exhausted(d.attempts()) {
			return d.refuse(CodeNotOverdue, "it has attempts left")
		}
		return d.giveUp(l)
	case l.Timeout <= 0:
		return d.refuse(CodeBadLimits, "its timeout is not set")
	case started.IsZero() || c.Now.IsZero():
		return d.refuse(CodeTimeUnknown, "the log's time of its start is not known here; load it from the log")
	case !l.Overdue(started, c.Now):
		return d.refuse(CodeNotOverdue, fmt.Sprintf("its attempt began at %s and may take %s", started, l.Timeout))
	}
	return d.fail(row, failure{fence: d.f.Fence, limits: l, why: Reason{Class: ClassTimeout, Code: code,
		Message: fmt.Sprintf("the attempt that began at %s took longer than %s", started, l.Timeout)}})
}

// abandon undoes a success, or ends an attempt that began in this decision and does not count, and
// gives the file up for the same reason.
func (d *fileDecider) abandon(row string, why Reason) error {
	failed := FileFailed{}
	if d.f.State == FileProcessing {
		failed.Fence, failed.Uncounted = d.f.Version, true
		d.giveBack()
	}
	if err := cmp.Or(d.require(row), d.checkReason(why)); err != nil {
		return err
	}
	if err := d.step(func(m FileMove) EventData { failed.FileMove = m; return &failed }, &why, row); err != nil {
		return err
	}
	return d.step(fileMoved, &why, rowAbandon)
}

// restoreOutput undoes FailOutput. What was given up for another reason stays so.
func (d *fileDecider) restoreOutput(c RestoreOutput) error {
	if why := d.f.Reason; d.f.State != FileAbandoned || why == nil || why.Code != CodeObjectCorrupt {
		return d.refuse(CodeIllegal, "it was not given up because its stored result was corrupt")
	}
	why := Reason{Class: ClassWait, Code: CodeObjectSound, Message: "a sound copy of its stored result is there again"}
	if err := d.step(fileMoved, &why, "O2"); err != nil {
		return err
	}
	if err := d.step(func(m FileMove) EventData { return &FileStarted{m, c.Worker} }, nil, "F11"); err != nil {
		return err
	}
	out := FileOutput{Key: c.Key, SHA256: d.f.SHA256, Size: d.f.Size}
	fence := d.f.Version
	return d.step(func(m FileMove) EventData { return &FileDone{m, &out, fence} }, nil, "F12")
}

// failure is the end of an attempt, or the undoing of a success.
type failure struct {
	fence      int64 // of the attempt, 0 = there is none
	why        Reason
	limits     Limits
	quarantine string
	uncounted  bool // the attempt is given back
}

// fail ends an attempt or undoes a success, and gives the file up when that was the
// last attempt.
func (d *fileDecider) fail(row string, c failure) error {
	if err := cmp.Or(d.checkFence(row, c.fence), d.checkLimits(c.limits), d.checkReason(c.why)); err != nil {
		return err
	}
	if c.why.Attempt == 0 {
		c.why.Attempt = d.attempts()
	}
	if c.why.Worker == "" {
		c.why.Worker = d.f.Worker
	}
	if c.uncounted {
		d.giveBack()
	}
	if err := d.step(func(m FileMove) EventData {
		return &FileFailed{FileMove: m, Fence: c.fence, Quarantine: c.quarantine, Uncounted: c.uncounted}
	}, &c.why, row); err != nil {
		return err
	}
	d.f.Reason = &c.why
	return d.giveUp(c.limits)
}

// giveBack takes the open attempt out of the count.
func (d *fileDecider) giveBack() {
	if d.f.State == FileProcessing {
		d.f.ProcessingAttempts = max(d.f.ProcessingAttempts-1, 0)
	} else {
		d.f.DownloadAttempts = max(d.f.DownloadAttempts-1, 0)
	}
}

// giveUp takes the second step after the last attempt, or none.
func (d *fileDecider) giveUp(l Limits) error {
	n := d.attempts()
	if !l.Exhausted(n) {
		return nil
	}
	why := Reason{Class: ClassSystem, Code: CodeAttemptsUsedUp, Message: fmt.Sprintf("given up after %d of %d attempts", n, l.Max), Attempt: n}
	if last := d.f.Reason; last != nil {
		why.Class, why.Worker, why.Host = last.Class, last.Worker, last.Host
		why.Message += ": " + last.Message
	}
	return d.step(fileMoved, &why, rowIgnore, rowAbandon)
}

// attempts counts those of the step that the file is in or behind.
func (d *fileDecider) attempts() int {
	switch d.f.State {
	case FileProcessing, FileProcessed, FileProcessingFailed:
		return d.f.ProcessingAttempts
	default:
		return d.f.DownloadAttempts
	}
}

// require refuses a file that none of the rows starts from.
func (d *fileDecider) require(rows ...string) error {
	if _, ok := d.row(rows); !ok {
		return d.refuse(CodeIllegal, "")
	}
	return nil
}

func (d *fileDecider) row(rows []string) (FileTransition, bool) {
	return rowWhere(FileTransitions, func(t FileTransition) bool { return t.From == d.f.State && slices.Contains(rows, t.Row) })
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
		Data: data(d.f.base(t, why))})
	return nil
}

// base returns what every event of the file has; the file is as it is after the row.
func (f File) base(t FileTransition, why *Reason) FileMove {
	if t.To == FileIgnore || t.To == FileAbandoned {
		why = why.Final()
	}
	s := f.Spec
	return FileMove{From: t.From, To: t.To, Reason: why, JobID: s.JobID, Collection: s.Collection, Profile: s.Profile,
		Dataset: s.Dataset, Group: s.Group, Host: s.Host, Modified: s.Modified, Path: s.Path, Size: f.Size,
		DownloadAttempts: f.DownloadAttempts, ProcessingAttempts: f.ProcessingAttempts}
}

func fileMoved(m FileMove) EventData { return &FileMoved{m} }

// stepBecause is step for rows that need a reason.
func (d *fileDecider) stepBecause(why Reason, rows ...string) error {
	if err := cmp.Or(d.require(rows...), d.checkReason(why)); err != nil {
		return err
	}
	return d.step(fileMoved, &why, rows...)
}

func (d *fileDecider) checkReason(why Reason) error {
	if why.Class == "" || why.Code == "" || why.Message == "" {
		return d.refuse(CodeReasonMissing, "it needs a reason: a class, a code and a sentence")
	}
	return nil
}

// checkFence refuses a worker that does not hold the open attempt.
func (d *fileDecider) checkFence(row string, fence int64) error {
	if err := d.require(row); err != nil {
		return err
	}
	if fence != d.f.Fence {
		return d.refuse(CodeFenced, fmt.Sprintf("the attempt with the fence %d is over; the one under way has %d", fence, d.f.Fence))
	}
	return nil
}

// checkRetry refuses a further attempt that is not allowed, or not yet.
func (d *fileDecider) checkRetry(row string, attempts int, l Limits, now Time) error {
	if err := cmp.Or(d.require(row), d.checkLimits(l)); err != nil {
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

func (d *fileDecider) checkLimits(l Limits) error {
	if err := l.Check(); err != nil {
		return d.refuse(CodeBadLimits, oneLine(err))
	}
	return nil
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func (d *fileDecider) refuse(code Code, why string) error {
	var possible []string
	for _, t := range FileTransitions {
		if t.From == d.f.State {
			possible = append(possible, string(t.To))
		}
	}
	return refuse(d.f.Hash.Aggregate(), d.name, string(d.f.State), code, why, possible)
}
