package sweep_test

import (
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/sweep"
	"github.com/accession-ingest/accession/domain"
)

// The scenarios of a file's life, by the names under which they are documented. In
// each the sweeper looks after every step: it must see what it has to end, and
// nothing else.

func TestScenarioNormal(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.sweep("")
	f := w.download()
	w.clock.Advance(limits.Download.Timeout) // not longer than it
	w.sweep("")
	w.fetched(f)
	w.do(domain.ReadyFile{})
	w.clock.Advance(time.Hour)
	w.sweep("")
	f = w.process()
	w.clock.Advance(limits.Processing.Timeout)
	w.sweep("")
	w.do(domain.FinishProcessing{Fence: f.Fence})
	w.clock.Advance(time.Hour)
	w.sweep("")
	w.went("DISCOVERED DOWNLOADING DOWNLOADED READY PROCESSING PROCESSED")
}

func TestScenarioFailure1DownloadFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	for range limits.Download.Max {
		f := w.download()
		w.do(domain.FailDownload{Fence: f.Fence, Reason: broken(), Limits: limits.Download})
		w.sweep("")
	}
	w.refused(domain.StartDownload{Worker: "w", Limits: limits.Download}, domain.CodeIllegal)
	w.went("DISCOVERED DOWNLOADING DOWNLOADING_FAILED DOWNLOADING DOWNLOADING_FAILED DOWNLOADING DOWNLOADING_FAILED IGNORE")
}

func TestScenarioFailure2Skipped(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.fetched(w.download())
	w.do(domain.ReadyFile{Slot: domain.SlotMissed})
	w.clock.Advance(time.Hour)
	w.sweep("")
	w.went("DISCOVERED DOWNLOADING DOWNLOADED SKIPPED")
}

func TestScenarioFailure3ProcessingFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.fetched(w.download())
	w.do(domain.ReadyFile{})
	for n := range limits.Processing.Max {
		f := w.process()
		w.do(domain.FailProcessing{Fence: f.Fence, Reason: broken(), Limits: limits.Processing})
		if n+1 < limits.Processing.Max {
			w.sweep(domain.FileReady)
		}
	}
	w.sweep("")
	w.went("DISCOVERED DOWNLOADING DOWNLOADED READY PROCESSING PROCESSING_FAILED READY PROCESSING PROCESSING_FAILED ABANDONED")
}

// TestScenarioFailure4DownloadTimeout: the worker is slow and goes on; what it
// brings after its timeout is refused.
func TestScenarioFailure4DownloadTimeout(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	slow := w.download()
	w.clock.Advance(limits.Download.Timeout + time.Millisecond)
	w.sweep(domain.FileDownloadingFailed)
	w.sweep("")
	late := domain.FinishDownload{Fence: slow.Fence, Size: 20, SHA256: digest}
	w.refused(late, domain.CodeIllegal)
	next := w.download()
	w.refused(late, domain.CodeFenced)
	w.fetched(next)
	w.went("DISCOVERED DOWNLOADING DOWNLOADING_FAILED DOWNLOADING DOWNLOADED")
}

func TestScenarioFailure5ProcessingTimeout(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.fetched(w.download())
	w.do(domain.ReadyFile{})
	slow := w.process()
	w.clock.Advance(limits.Processing.Timeout + time.Millisecond)
	w.sweep(domain.FileProcessingFailed)
	w.refused(domain.FinishProcessing{Fence: slow.Fence}, domain.CodeIllegal)
	w.sweep(domain.FileReady)
	next := w.process()
	w.refused(domain.FinishProcessing{Fence: slow.Fence}, domain.CodeFenced)
	w.do(domain.FinishProcessing{Fence: next.Fence})
	w.went("DISCOVERED DOWNLOADING DOWNLOADED READY PROCESSING PROCESSING_FAILED READY PROCESSING PROCESSED")
}

// TestScenarioFailure6CrashWhileDownloading: nobody is left to tell, every time,
// until the attempts are used up: the last one ends in one write.
func TestScenarioFailure6CrashWhileDownloading(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	for n := range limits.Download.Max {
		w.download()
		w.clock.Advance(limits.Download.Timeout + time.Millisecond)
		if n+1 < limits.Download.Max {
			w.sweep(domain.FileDownloadingFailed)
		}
	}
	w.sweep(domain.FileIgnore)
	f, err := w.worker.Load(t.Context(), w.hash)
	if err != nil || f.Reason == nil || f.Reason.Class != domain.ClassTimeout || f.Reason.Worker != "w" {
		t.Errorf("it is %+v, %v", f, err)
	}
	w.went("DISCOVERED DOWNLOADING DOWNLOADING_FAILED DOWNLOADING DOWNLOADING_FAILED DOWNLOADING DOWNLOADING_FAILED IGNORE")
}

func TestScenarioFailure7CrashWhileProcessing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.fetched(w.download())
	w.do(domain.ReadyFile{})
	for n := range limits.Processing.Max {
		w.process()
		w.clock.Advance(limits.Processing.Timeout + time.Millisecond)
		if n+1 < limits.Processing.Max {
			w.sweep(domain.FileProcessingFailed)
			w.sweep(domain.FileReady)
		}
	}
	w.sweep(domain.FileAbandoned)
	w.went("DISCOVERED DOWNLOADING DOWNLOADED READY PROCESSING PROCESSING_FAILED READY PROCESSING PROCESSING_FAILED ABANDONED")
}

func TestScenarioFailure8DuplicateDiscovery(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.do(domain.DiscoverFile{Spec: listed}) // no error, and no event
	if n := w.worker.Duplicates(); n != 1 {
		t.Errorf("%d duplicates were counted, want 1", n)
	}
	w.sweep("")
	w.went("DISCOVERED")
}

func TestScenarioOperationalAlreadyThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, listed)
	w.do(domain.FileAlreadyThere{Size: 20, SHA256: digest})
	w.clock.Advance(time.Hour)
	w.sweep("")
	w.went("DISCOVERED DOWNLOADED")
}

// ofJob is listed as a file of a job.
func ofJob() domain.FileSpec {
	spec := listed
	spec.JobID, spec.BatchID = domain.NewJobID(1), domain.NewBatchID(1)
	return spec
}

// TestMaximumLowered: a failed file has attempts left until the maximum is made
// smaller; then the sweeper gives it up, unless it is for a job's daemon to say.
func TestMaximumLowered(t *testing.T) {
	t.Parallel()
	for _, spec := range []domain.FileSpec{listed, ofJob()} {
		w := newFixture(t, spec)
		f := w.download()
		w.do(domain.FailDownload{Fence: f.Fence, Reason: broken(), Limits: limits.Download})
		w.sweep("")
		fewer := limits
		fewer.Download.Max = 1
		w.sweeper.Limits = always(fewer)
		if spec.JobID != "" {
			w.sweep("")
			continue
		}
		w.sweep(domain.FileIgnore)
		w.went("DISCOVERED DOWNLOADING DOWNLOADING_FAILED IGNORE")
	}
}

// TestRetryDelay: a file of a listing is handed back when its delay is over, one
// of a job is left to the job's daemon.
func TestRetryDelay(t *testing.T) {
	t.Parallel()
	for _, spec := range []domain.FileSpec{listed, ofJob()} {
		w := newFixture(t, spec)
		delayed := limits
		delayed.Processing.Delay = time.Minute
		w.sweeper.Limits = always(delayed)
		w.fetched(w.download())
		w.do(domain.ReadyFile{})
		f := w.process()
		w.do(domain.FailProcessing{Fence: f.Fence, Reason: broken(), Limits: limits.Processing})
		w.clock.Advance(time.Minute - time.Millisecond)
		w.sweep("")
		w.clock.Advance(time.Millisecond)
		if spec.JobID == "" {
			w.sweep(domain.FileReady)
		} else {
			w.sweep("")
		}
	}
}

// TestLimitsOfProfiles: the net is as wide as the strictest profile asks, and each
// file is decided by the limits of its own.
func TestLimitsOfProfiles(t *testing.T) {
	t.Parallel()
	strict, patient := limits, limits
	strict.Download.Timeout, patient.Download.Timeout = time.Minute, time.Hour
	l := sweep.Limits{Default: limits, Profiles: map[string]domain.FileLimits{"strict": strict, "patient": patient}}
	now := domain.At(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))
	net := l.Filter(now)
	if got := now.Sub(net.DownloadBefore.Time); got != time.Minute || net.DownloadAttempts != 3 {
		t.Errorf("the net is %+v", net)
	}
	for profile, want := range map[string]time.Duration{"": limits.Download.Timeout, "unknown": limits.Download.Timeout,
		"strict": time.Minute, "patient": time.Hour} {
		if got := l.Of(profile).Download.Timeout; got != want {
			t.Errorf("%q: %v, want %v", profile, got, want)
		}
	}
}
