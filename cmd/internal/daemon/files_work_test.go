package daemon

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// upToReady are the rows of a file that was downloaded at once.
const upToReady = "F1 F2 F4 F10"

// dies lets the worker die at an operation of the records, so often.
func (w *fixture) dies(op string, times int) {
	w.r.steps.cfg.Records = faulty(w.cfg.Records, func(asked string) error {
		if asked == op && times > 0 {
			times--
			w.mem.Expire(w.store)
			return away
		}
		return nil
	})
}

// begun lets a worker die right after it began to process the files.
func (w *fixture) begun(id domain.JobID, name string) {
	w.Helper()
	l := w.fileStatesOf(id)[name]
	if l.State == domain.FileProcessing {
		w.operate(id, name, domain.FailProcessing{Fence: l.Fence, Reason: domain.WorkerLost(l.Worker), Limits: domain.Limits{Max: 3}})
		w.operate(id, name, domain.RetryProcessing{Limits: domain.Limits{Max: 3}})
	}
	w.operate(id, name, domain.StartProcessing{Worker: "a worker that died"})
}

// The successor of a worker that died while it processed ends its attempt at once.
// When the attempts are used up the job fails with the file's name, and a requeue
// takes the file up again.
func TestDeadProcessingIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deaths int
		rows   string
	}{
		"once":           {1, " F11 F13 F14 F11 F12"},
		"too many times": {3, " F11 F13 F14 F11 F13 F14 F11 F13 F15"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			id := w.aJobIn(domain.JobProcessing)
			for range c.deaths {
				w.begun(id, "a.txt")
			}
			w.turn(domain.DaemonJobProcessing)
			w.wantRows(id, map[string]string{"a.txt": upToReady + c.rows})
			if c.deaths == 1 {
				w.wantJob(id, domain.JobRecording, "")
				return
			}
			j := w.wantJob(id, domain.JobFailed, domain.CodeAttemptsUsedUp)
			if j.Reason == nil || !strings.Contains(j.Reason.Message, "a.txt: ") {
				t.Fatalf("it failed with %+v", j.Reason)
			}
			w.requeue(id)
			w.turn(domain.DaemonJobProcessing)
			w.wantJob(id, domain.JobRecording, "")
			w.wantRows(id, map[string]string{"a.txt": upToReady + c.rows + " O2 F11 F12"})
		})
	}
}

// A worker that dies after the files were stored leaves nothing to do again.
func TestStoredFilesStayProcessed(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id := w.aJobIn(domain.JobProcessing)
	w.dies("FinishEffect", 1)
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobProcessing, "")
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobRecording, "")
	w.wantRows(id, map[string]string{"a.txt": upToReady + " F11 F12"})
}

// The stored object is read back: a file that differs is sent back, and only that.
func TestReadBackDiffers(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "b.txt": "b"})
	id := w.jobIn(domain.JobProcessing, domain.TypeObjectManifest, "/o.checkm")
	w.dies("FinishEffect", 1)
	w.turn(domain.DaemonJobProcessing)
	put := func(text string) {
		t.Helper()
		if _, err := w.cfg.Objects.Put(t.Context(), w.fileStatesOf(id)["a.txt"].events[5].Data.(*domain.FileDone).Output.Key, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("A")
	w.turn(domain.DaemonJobProcessing)
	// The job says why it waits.
	if j := w.wantJob(id, domain.JobProcessing, reason.CodeStorage); j.Reason != nil && j.Reason.Class != domain.ClassWait {
		t.Errorf("it waits for %+v", j.Reason)
	}
	l := w.wantRows(id, map[string]string{"a.txt": upToReady + " F11 F12 F16", "b.txt": upToReady + " F11 F12"})["a.txt"]
	if l.Reason == nil || l.Reason.Code != reason.CodeStorage || l.Output != nil {
		t.Errorf("a.txt is %+v with %+v", l.File, l.Reason)
	}
	put("a") // restored
	w.clock.Advance(limits.MaxOurs)
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobRecording, "")
	w.wantRows(id, map[string]string{"a.txt": upToReady + " F11 F12 F16 F14 F11 F12", "b.txt": upToReady + " F11 F12"})
}

// A job that fails gives its files up, a step that is tried again does not.
func TestFailedProcessingEndsAttempts(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "b.txt": "b"})
	id := w.jobIn(domain.JobProcessing, domain.TypeObjectManifest, "/o.checkm")
	work, err := w.r.steps.Work(w.set[tides])
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Discard(w.job(id).Configuration.BatchID, id); err != nil {
		t.Fatal(err)
	}
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobFailed, reason.CodeFilesMissing)
	w.wantRows(id, map[string]string{"a.txt": upToReady + " F11 F13 F15", "b.txt": upToReady + " F11 F13 F15"})
}

// A file that an operator skips stays out of the object, and the report names it.
func TestSkippedFile(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "b.txt": "b", "bad.txt": "bad"})
	w.web.serve("/bad.txt", "BAD")
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobFailed, domain.CodeDigestMismatch)
	why := domain.Reason{Class: domain.ClassCancelled, Code: "skipped", Message: "nobody needs it"}
	w.operate(id, "b.txt", domain.SkipFile{Reason: why})
	w.operate(id, "a.txt", domain.SkipFile{Reason: why})
	w.operate(id, "a.txt", domain.ReopenFile{Reason: why})
	w.web.serve("/bad.txt", "bad")
	w.requeue(id)
	w.walk(domain.DaemonJobDownloading, domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify)
	j := w.wantJob(id, domain.JobCompleted, "")
	if j.SpaceNeeded != int64(len("a")+len("bad")) {
		t.Errorf("it needed %d bytes", j.SpaceNeeded)
	}
	w.wantRows(id, map[string]string{"a.txt": "F1 F2 F4 F9 O3 F10 F11 F12", "b.txt": "F1 F2 F4 F9",
		"bad.txt": "F1 F2 F5 F7 O1 F2 F4 F10 F11 F12"})
	m, err := w.cfg.Objects.VerifyVersion(t.Context(), j.Identifiers.Primary, 1)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range m.Files {
		if f.Kind == store.KindProducer {
			names = append(names, f.Name)
		}
	}
	if strings.Join(names, " ") != "a.txt bad.txt" {
		t.Errorf("the object has %q", names)
	}
	batch := j.Configuration.BatchID
	w.wantMails(profile.MailReport)
	w.doBatch(batch, domain.RequestUpdate{})
	w.turn(domain.DaemonBatchUpdateReporting)
	if r := w.report(batch); len(r.Jobs) != 1 || strings.Join(r.Jobs[0].LeftOut, " ") != "b.txt" {
		t.Errorf("the report says %+v", r.Jobs)
	}
	if n := len(w.mail.mails); n != 1 || !strings.Contains(w.mail.mails[n-1].Text, "made without 1 files: b.txt") {
		t.Errorf("mails %+v", w.mail.mails)
	}
}
