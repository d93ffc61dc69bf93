package domain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/domain"
)

// with changes a file.
func with(s domain.FileState, change func(*domain.File)) domain.File {
	f := fileIn(s)
	change(&f)
	return f
}

func TestFileGuards(t *testing.T) {
	t.Parallel()
	spec := func(change func(*domain.FileSpec)) domain.DiscoverFile {
		s := theSpec
		change(&s)
		return domain.DiscoverFile{Spec: s}
	}
	none, negative := domain.Limits{}, domain.Limits{Max: 1, Delay: -1}
	delayed := domain.Limits{Max: 3, Delay: time.Second}
	justInTime := domain.At(noon.Add(time.Minute))
	usedUp := func(f *domain.File) { f.DownloadAttempts, f.ProcessingAttempts = 3, 3 }
	unknown := func(f *domain.File) {
		f.DownloadStarted, f.ProcessingStarted, f.Failed = domain.Time{}, domain.Time{}, domain.Time{}
	}
	recoverBy := func(now domain.Time, l domain.Limits) domain.RecoverFile {
		return domain.RecoverFile{Now: now, Limits: domain.FileLimits{Download: l, Processing: l}}
	}
	for name, g := range map[string]struct {
		f    domain.File
		cmd  domain.FileCommand
		code domain.Code
	}{
		"no path":                       {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.Path = "" }), domain.CodeBadFile},
		"no source":                     {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.Source = "" }), domain.CodeBadFile},
		"no text":                       {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.Path = "\xff" }), domain.CodeBadFile},
		"NUL":                           {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.URL = "a\x00b" }), domain.CodeBadFile},
		"long path":                     {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.Path = strings.Repeat("a", domain.MaxFileText+1) }), domain.CodeBadFile},
		"negative size":                 {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.Size = -1 }), domain.CodeBadFile},
		"another's hash":                {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.Path = "b.tif" }), domain.CodeBadFile},
		"version's hash":                {fileIn(domain.FileNone), spec(func(s *domain.FileSpec) { s.ByVersion = true }), domain.CodeBadFile},
		"start without a maximum":       {fileIn(domain.FileDiscovered), domain.StartDownload{}, domain.CodeBadLimits},
		"retry without a maximum":       {fileIn(domain.FileDownloadingFailed), domain.StartDownload{Limits: none}, domain.CodeBadLimits},
		"fail without a maximum":        {fileIn(domain.FileDownloading), domain.FailDownload{Fence: theFence, Reason: broken}, domain.CodeBadLimits},
		"validation without a maximum":  {fileIn(domain.FileDownloaded), domain.FailValidation{Reason: broken}, domain.CodeBadLimits},
		"fail with a negative delay":    {fileIn(domain.FileProcessing), domain.FailProcessing{Fence: theFence, Reason: broken, Limits: negative}, domain.CodeBadLimits},
		"corrupt without a reason":      {fileIn(domain.FileProcessed), domain.FailOutput{}, domain.CodeReasonMissing},
		"audit without a maximum":       {fileIn(domain.FileProcessed), domain.AuditFailed{Reason: broken}, domain.CodeBadLimits},
		"retry with a negative delay":   {fileIn(domain.FileProcessingFailed), domain.RetryProcessing{Limits: negative}, domain.CodeBadLimits},
		"recover without a maximum":     {fileIn(domain.FileDownloading), recoverBy(lateOne, domain.Limits{Timeout: 1}), domain.CodeBadLimits},
		"recover without a timeout":     {fileIn(domain.FileProcessing), recoverBy(lateOne, domain.Limits{Max: 1}), domain.CodeBadLimits},
		"download after the last":       {with(domain.FileDownloadingFailed, usedUp), domain.StartDownload{Limits: three}, domain.CodeAttemptsUsedUp},
		"processing after the last":     {with(domain.FileProcessingFailed, usedUp), domain.RetryProcessing{Limits: three}, domain.CodeAttemptsUsedUp},
		"download too soon":             {fileIn(domain.FileDownloadingFailed), domain.StartDownload{Limits: delayed, Now: domain.At(noon.Add(999 * time.Millisecond))}, domain.CodeRetryDelayed},
		"processing too soon":           {fileIn(domain.FileProcessingFailed), domain.RetryProcessing{Limits: delayed, Now: noon}, domain.CodeRetryDelayed},
		"retry without the time":        {with(domain.FileDownloadingFailed, unknown), domain.StartDownload{Limits: delayed, Now: lateOne}, domain.CodeTimeUnknown},
		"retry without now":             {fileIn(domain.FileProcessingFailed), domain.RetryProcessing{Limits: delayed}, domain.CodeTimeUnknown},
		"fence of an earlier download":  {fileIn(domain.FileDownloading), domain.FinishDownload{Fence: 5, SHA256: digest}, domain.CodeFenced},
		"no fence":                      {fileIn(domain.FileDownloading), domain.FinishDownload{SHA256: digest}, domain.CodeFenced},
		"fail an earlier download":      {fileIn(domain.FileDownloading), domain.FailDownload{Fence: 5, Reason: broken, Limits: three}, domain.CodeFenced},
		"fence of earlier processing":   {fileIn(domain.FileProcessing), domain.FinishProcessing{Fence: 5}, domain.CodeFenced},
		"fail earlier processing":       {fileIn(domain.FileProcessing), domain.FailProcessing{Fence: 8, Reason: broken, Limits: three}, domain.CodeFenced},
		"downloaded without a digest":   {fileIn(domain.FileDownloading), domain.FinishDownload{Fence: theFence}, domain.CodeBadFile},
		"already there of no size":      {fileIn(domain.FileDiscovered), domain.FileAlreadyThere{Size: -1, SHA256: digest}, domain.CodeBadFile},
		"download just in time":         {fileIn(domain.FileDownloading), recoverBy(justInTime, three), domain.CodeNotOverdue},
		"processing just in time":       {fileIn(domain.FileProcessing), recoverBy(justInTime, three), domain.CodeNotOverdue},
		"recover without the start":     {with(domain.FileDownloading, unknown), recoverBy(lateOne, three), domain.CodeTimeUnknown},
		"recover without now":           {fileIn(domain.FileProcessing), recoverBy(domain.Time{}, three), domain.CodeTimeUnknown},
		"recover what has attempts":     {fileIn(domain.FileDownloadingFailed), recoverBy(lateOne, three), domain.CodeNotOverdue},
		"skip without a reason":         {fileIn(domain.FileDownloaded), domain.SkipFile{}, domain.CodeReasonMissing},
		"skip without a sentence":       {fileIn(domain.FileDownloaded), domain.SkipFile{Reason: domain.Reason{Class: domain.ClassContent, Code: "old"}}, domain.CodeReasonMissing},
		"fail without a reason":         {fileIn(domain.FileDownloading), domain.FailDownload{Fence: theFence, Limits: three}, domain.CodeReasonMissing},
		"reopen without a reason":       {fileIn(domain.FileIgnore), domain.ReopenFile{}, domain.CodeReasonMissing},
		"slot not open yet":             {fileIn(domain.FileDownloaded), domain.ReadyFile{Slot: domain.SlotPending}, domain.CodeSlotPending},
		"slot of an unknown state":      {fileIn(domain.FileDownloaded), domain.ReadyFile{Slot: "OPEN"}, domain.CodeSlotPending},
		"companions missing":            {fileIn(domain.FileDownloaded), domain.ReadyFile{Slot: domain.SlotActive, Missing: []string{"a.hdr"}}, domain.CodePrerequisites},
		"companions missing, and early": {fileIn(domain.FileDownloaded), domain.ReadyFile{Slot: domain.SlotPending, Missing: []string{"a.hdr"}}, domain.CodeSlotPending},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dec, err := domain.DecideFile(g.f, g.cmd)
			if r := refusal(t, err, g.code); r.Message == "" || r.State != string(g.f.State) || len(dec.Events) > 0 {
				t.Errorf("refused as %+v", r)
			}
		})
	}
}

// TestLastAttempt: whatever ends the last attempt also gives the file up, in one
// decision; one attempt earlier it does not.
func TestLastAttempt(t *testing.T) {
	t.Parallel()
	timeout := domain.RecoverFile{Now: lateOne, Limits: limits}
	lost := domain.WorkerLost("w-1")
	for name, c := range map[string]struct {
		from domain.FileState
		cmd  domain.FileCommand
		rows string
		code domain.Code // of the first step
	}{
		"download fails":         {domain.FileDownloading, domain.FailDownload{Fence: theFence, Reason: broken, Limits: three}, "F5 F7", broken.Code},
		"download too long":      {domain.FileDownloading, timeout, "F5 F7", domain.CodeDownloadTimeout},
		"download worker gone":   {domain.FileDownloading, domain.FailDownload{Fence: theFence, Reason: lost, Limits: three}, "F5 F7", domain.CodeWorkerLost},
		"file damaged":           {domain.FileDownloaded, domain.FailValidation{Reason: broken, Limits: three}, "F8 F7", broken.Code},
		"processing fails":       {domain.FileProcessing, domain.FailProcessing{Fence: theFence, Reason: broken, Limits: three}, "F13 F15", broken.Code},
		"processing too long":    {domain.FileProcessing, timeout, "F13 F15", domain.CodeProcessingTimeout},
		"processing worker gone": {domain.FileProcessing, domain.FailProcessing{Fence: theFence, Reason: lost, Limits: three}, "F13 F15", domain.CodeWorkerLost},
		"result damaged":         {domain.FileProcessed, domain.AuditFailed{Reason: broken, Limits: three}, "F16 F15", broken.Code},
	} {
		for attempts := 1; attempts <= 4; attempts++ {
			t.Run(fmt.Sprintf("%s, attempt %d of 3", name, attempts), func(t *testing.T) {
				t.Parallel()
				f := with(c.from, func(f *domain.File) { f.DownloadAttempts, f.ProcessingAttempts = attempts, attempts })
				rows := c.rows
				if attempts < 3 {
					rows, _, _ = strings.Cut(rows, " ")
				}
				dec, err := domain.DecideFile(f, c.cmd)
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(dec.Rows, " "); got != rows {
					t.Fatalf("rows %s, want %s", got, rows)
				}
				for i, e := range dec.Events {
					m, _ := domain.MoveOfFile(e.Data)
					code := c.code
					if i == 1 {
						code = domain.CodeAttemptsUsedUp
					}
					if m.Reason == nil || m.Reason.Code != code || m.Reason.Attempt == 0 || m.Reason.Message == "" {
						t.Errorf("the reason of %s is %+v", e.Type, m.Reason)
					}
					if f, err = domain.EvolveFile(f, stored(e)); err != nil {
						t.Fatal(err)
					}
				}
				if f.State.Terminal() != (attempts >= 3) {
					t.Errorf("it ends %s after attempt %d", f.State, attempts)
				}
			})
		}
	}
}

// TestUncounted: an attempt that is given back uses none up, but one of those before it
// may have been one too many since the maximum was lowered.
// Shows: P18
func TestUncounted(t *testing.T) {
	t.Parallel()
	for attempts, rows := range map[int][2]string{1: {"F5", "F13"}, 3: {"F5", "F13"}, 4: {"F5 F7", "F13 F15"}} {
		for i, c := range []struct {
			from domain.FileState
			cmd  domain.FileCommand
		}{
			{domain.FileDownloading, domain.FailDownload{Fence: theFence, Reason: broken, Limits: three, Uncounted: true}},
			{domain.FileProcessing, domain.FailProcessing{Fence: theFence, Reason: broken, Limits: three, Uncounted: true}},
		} {
			f := with(c.from, func(f *domain.File) { f.DownloadAttempts, f.ProcessingAttempts = attempts, attempts })
			dec, err := domain.DecideFile(f, c.cmd)
			if err != nil || strings.Join(dec.Rows, " ") != rows[i] {
				t.Fatalf("%s after %d attempts: %v, %v; want %s", c.from, attempts, dec.Rows, err, rows[i])
			}
			if f, err = domain.EvolveFile(f, stored(dec.Events[0])); err != nil || f.DownloadAttempts+f.ProcessingAttempts != 2*attempts-1 ||
				!dec.Events[0].Data.(*domain.FileFailed).Uncounted || f.Reason.Attempt != attempts {
				t.Errorf("%s after %d attempts: %+v, %v", c.from, attempts, f, err)
			}
		}
	}
}

// TestSlots: only an active slot, or none, makes a file ready; a closed one skips
// it, companions or not.
func TestSlots(t *testing.T) {
	t.Parallel()
	for slot, want := range map[domain.SlotState]string{domain.SlotNone: "F10", domain.SlotActive: "F10", domain.SlotDone: "F9", domain.SlotMissed: "F9"} {
		cmd := domain.ReadyFile{Slot: slot}
		if want == "F9" {
			cmd.Missing = []string{"a.hdr"}
		}
		dec, err := domain.DecideFile(fileIn(domain.FileDownloaded), cmd)
		if err != nil || len(dec.Rows) != 1 || dec.Rows[0] != want {
			t.Fatalf("slot %q: rows %v, %v; want %s", slot, dec.Rows, err, want)
		}
		if m, _ := domain.MoveOfFile(dec.Events[0].Data); want == "F9" && m.Reason.Code != domain.CodeSlotClosed {
			t.Errorf("slot %q: %+v", slot, m.Reason)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	l := domain.Limits{Max: 9, Delay: time.Second, MaxDelay: 5 * time.Second}
	for attempt, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 5 * time.Second, 5000: 5 * time.Second} {
		if got := l.Wait(attempt); got != want {
			t.Errorf("after attempt %d: %s, want %s", attempt, got, want)
		}
	}
	l.MaxDelay = 0
	if got := l.Wait(5000); got < 365*24*time.Hour {
		t.Errorf("an unbounded delay ran over to %s", got)
	}
	if got := (domain.Limits{Max: 1}).Wait(7); got != 0 {
		t.Errorf("no delay became %s", got)
	}
	// Exactly at the end of the delay the retry is allowed.
	at := domain.At(noon.Add(time.Second))
	if _, err := domain.DecideFile(fileIn(domain.FileDownloadingFailed), domain.StartDownload{Limits: domain.Limits{Max: 3, Delay: time.Second}, Now: at}); err != nil {
		t.Error(err)
	}
}

// TestFileFacts: what a step found out is kept, and what is no longer true is not.
func TestFileFacts(t *testing.T) {
	t.Parallel()
	f := domain.File{Hash: theFile}
	do := func(cmd domain.FileCommand) {
		t.Helper()
		dec, err := domain.DecideFile(f, cmd)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range dec.Events {
			if f, err = domain.EvolveFile(f, stored(e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(domain.DiscoverFile{Spec: theSpec})
	do(domain.FileAlreadyThere{Size: 5, SHA256: digest})
	if f.Size != 5 || f.SHA256 != digest || f.DownloadAttempts != 0 || f.Reason == nil || f.Reason.Code != domain.CodeAlreadyExists || f.Reason.Failure() {
		t.Errorf("already there: %+v, %+v", f, f.Reason)
	}
	do(domain.FailValidation{Reason: broken, Quarantine: "q", Limits: three})
	if f.SHA256 != "" || f.Failed != noon || f.Reason.Code != broken.Code {
		t.Errorf("damaged: %+v", f)
	}
	do(domain.StartDownload{Worker: "w", Limits: three})
	if f.DownloadStarted != noon || f.Fence != 4 || f.DownloadAttempts != 1 || f.Reason != nil {
		t.Errorf("again: %+v", f)
	}
	do(domain.FinishDownload{Fence: 4, Size: 6, SHA256: digest})
	do(domain.ReadyFile{})
	do(domain.StartProcessing{Worker: "v"})
	if f.ProcessingStarted != noon || f.Fence != 7 || f.Size != 6 {
		t.Errorf("in processing: %+v", f)
	}
	do(domain.FinishProcessing{Fence: 7, Output: theOutput})
	if f.Output == nil || *f.Output != *theOutput || f.SHA256 != digest {
		t.Errorf("processed: %+v", f)
	}
	do(domain.AuditFailed{Reason: broken, Limits: three})
	if f.Output != nil || f.SHA256 != digest {
		t.Errorf("after the audit: %+v", f)
	}
}

// A file whose stored result is corrupt is given up whatever its attempts, and both
// events say why.
func TestFailOutput(t *testing.T) {
	t.Parallel()
	f := fileIn(domain.FileProcessed)
	for f.ProcessingAttempts = range 4 {
		d, err := domain.DecideFile(f, domain.FailOutput{Reason: broken})
		if err != nil || strings.Join(d.Rows, " ") != "F16 F15" {
			t.Fatalf("%v, %v", d.Rows, err)
		}
		for _, e := range d.Events {
			if m, _ := domain.MoveOfFile(e.Data); m.Reason == nil || m.Reason.Code != broken.Code {
				t.Errorf("the reason of %s is %+v", e.Type, m.Reason)
			}
		}
	}
}

// A file that is ready can be given up, and no other file: in one decision, and no attempt is
// counted.
func TestAbandonFile(t *testing.T) {
	t.Parallel()
	why := domain.Reason{Class: domain.ClassCancelled, Code: "abandoned_by_operator", Message: "it is not needed"}
	for _, state := range domain.FileStates {
		f := fileIn(state)
		attempts := f.ProcessingAttempts
		d, err := domain.DecideFile(f, domain.AbandonFile{Reason: why})
		if (state == domain.FileReady) != (err == nil) {
			t.Fatalf("%s: %v, %v", state, d.Rows, err)
		}
		if err != nil {
			continue
		}
		if rows := strings.Join(d.Rows, " "); rows != "F11 F13 F15" {
			t.Errorf("rows %s", rows)
		}
		for _, e := range d.Events {
			if f, err = domain.EvolveFile(f, domain.Recorded{Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		if f.State != domain.FileAbandoned || f.Fence != 0 || f.ProcessingAttempts != attempts || f.Reason == nil || f.Reason.Code != why.Code {
			t.Errorf("given up: %+v", f)
		}
		if failed, _ := d.Events[1].Data.(*domain.FileFailed); !failed.Uncounted || failed.Fence != d.Events[0].Version {
			t.Errorf("the attempt that began with event %d failed as %+v", d.Events[0].Version, failed)
		}
		if _, err := domain.DecideFile(fileIn(state), domain.AbandonFile{}); err == nil {
			t.Error("given up without a reason")
		}
	}
}

// A file that was given up because its stored result was corrupt is taken back when a
// sound copy is there, and no other file is.
func TestRestoreOutput(t *testing.T) {
	t.Parallel()
	back := domain.RestoreOutput{Worker: "w", Key: "k"}
	for _, state := range domain.FileStates {
		f := fileIn(state)
		f.Reason = &domain.Reason{Class: domain.ClassSystem, Code: domain.CodeObjectCorrupt, Message: "damaged"}
		d, err := domain.DecideFile(f, back)
		if (state == domain.FileAbandoned) != (err == nil) {
			t.Fatalf("%s: %v, %v", state, d.Rows, err)
		}
		if err != nil {
			continue
		}
		if rows := strings.Join(d.Rows, " "); rows != "O2 F11 F12" {
			t.Errorf("rows %s", rows)
		}
		for _, e := range d.Events {
			if f, err = domain.EvolveFile(f, domain.Recorded{Event: e}); err != nil {
				t.Fatal(err)
			}
		}
		if f.Output == nil || *f.Output != (domain.FileOutput{Key: "k", SHA256: f.SHA256, Size: f.Size}) || f.ProcessingAttempts != 1 {
			t.Errorf("taken back: %+v", f)
		}
		if done, _ := d.Events[2].Data.(*domain.FileDone); done.Fence != d.Events[1].Version {
			t.Errorf("the fence is %d, the attempt began with event %d", done.Fence, d.Events[1].Version)
		}
		if m, ok := domain.MoveOfFile(d.Events[0].Data); !ok || m.Reason == nil || m.Reason.Code != domain.CodeObjectSound || m.Reason.Failure() {
			t.Errorf("taken back because of %+v", m.Reason)
		}
		f = fileIn(state)
		f.Reason = &broken
		if d, err := domain.DecideFile(f, back); err == nil {
			t.Errorf("given up because of %s, and then %v", broken.Code, d.Rows)
		}
	}
}
