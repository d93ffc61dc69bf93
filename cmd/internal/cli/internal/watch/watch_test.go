package watch

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/app/progress"
	"github.com/accession-ingest/accession/domain"
)

// drawn keeps what was drawn and signals every drawing.
type drawn struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func (d *drawn) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	select {
	case d.news <- struct{}{}:
	default:
	}
	return d.text.Write(b)
}

// TestBarIsDrawnWhileTheBatchMoves has the two goroutines meet: the one that draws
// and the one that follows the batch.
func TestBarIsDrawnWhileTheBatchMoves(t *testing.T) {
	t.Parallel()
	w := &drawn{news: make(chan struct{}, 1)}
	jobs := map[domain.JobState]int{domain.JobPending: 1, domain.JobEstimating: 12, domain.JobProvisioning: 13, domain.JobDownloading: 14, domain.JobProcessing: 15}
	end, err := watchBar(t.Context(), w, "bid0000000001", func(seen func(app.Event, app.Progress)) (app.Progress, error) {
		p := app.Progress{Batch: "bid0000000001", State: domain.BatchProcessing, Listed: 55, Jobs: jobs}
		for range 3 {
			<-w.news
			for n := range 50 {
				p.Completed = n
				seen(app.Event{}, p)
			}
		}
		<-w.news
		<-w.news
		p.State, p.Completed = domain.BatchCompleted, 55
		return p, nil
	})
	if err != nil || end.Completed != 55 {
		t.Errorf("%+v, %v", end, err)
	}
	text := w.text.String()
	for _, want := range []string{"bid0000000001", "49 of 55 jobs", "[=", "55 of 55 jobs"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not drawn:\n%s", want, text)
		}
	}
}

func TestPhasesLeaveRoomForTheBar(t *testing.T) {
	t.Parallel()
	now := app.Progress{Jobs: map[domain.JobState]int{domain.JobPending: 3, domain.JobEstimating: 12, domain.JobCompleted: 7}}
	for _, c := range []struct {
		columns int
		want    string
	}{
		{80, "  3 pending, 12 estimating, 7 completed"},
		{39, "  3 pending, 12 estimating, 7 completed"},
		{38, "  …, 12 estimating, 7 completed"},
		{30, "  …, 7 completed"},
		{15, ""},
		{-20, ""},
	} {
		if got := phasesWithin(now, c.columns); got != c.want {
			t.Errorf("in %d columns: %q, want %q", c.columns, got, c.want)
		}
	}
	if got := phasesWithin(app.Progress{}, 80); strings.TrimSpace(got) != "" {
		t.Errorf("nothing is %q", got)
	}
}

// TestManyFilesAreToldByNumberAndBytes: a line for every tenth, and a second bar.
func TestManyFilesAreToldByNumberAndBytes(t *testing.T) {
	t.Parallel()
	begun := domain.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	at := func(downloaded, processed int, after time.Duration) app.Progress {
		return app.Progress{Batch: "bid0000000001", State: domain.BatchProcessing, Listed: 1, Files: app.FileProgress{
			Listed: 1000, Downloaded: downloaded, Processed: processed, BytesListed: 1000 << 20, BytesDownloaded: int64(downloaded) << 20,
			BytesProcessed: int64(processed) << 20, Begun: begun, Last: domain.At(begun.Add(after))}}
	}
	l, told := lines{seen: map[domain.JobState]bool{}, tenth: map[string]int{}}, []string{}
	for n := range 1000 {
		if now := at(n+1, 0, time.Second); l.worth(now) {
			told = append(told, Line(now))
		}
	}
	want := "bid0000000001 is processing: 0 of 1 jobs ended; 500 of 1000 files downloaded, 0 processed, 500.0 MiB of 1000.0 MiB"
	if len(told) != 11 || told[5] != want {
		t.Errorf("%d lines: %q, want %q", len(told), told, want)
	}
	for _, c := range []struct {
		now     app.Progress
		columns int
		want    string
	}{
		{at(500, 0, 10*time.Second), 80, "  500.0 MiB of 1000.0 MiB, 50.0 MiB/s, 30s left"},
		{at(500, 0, 10*time.Second), 30, "  50.0 MiB/s, 30s left"},
		{at(500, 0, 10*time.Second), 12, "  30s left"},
		{at(500, 0, 10*time.Second), 5, ""},
		{at(1000, 500, 15*time.Second), 80, "  500.0 MiB of 1000.0 MiB stored, 100.0 MiB/s, 5s left"},
		{at(0, 0, 0), 80, "  0 B of 1000.0 MiB"},
	} {
		if got := paceWithin(c.now.Files, c.columns); got != c.want {
			t.Errorf("in %d columns: %q, want %q", c.columns, got, c.want)
		}
	}
	w := &drawn{news: make(chan struct{}, 1)}
	_, err := watchBar(t.Context(), w, "bid0000000001", func(seen func(app.Event, app.Progress)) (app.Progress, error) {
		for range 3 {
			<-w.news
			seen(app.Event{}, at(1000, 250, time.Second))
		}
		return at(1000, 1000, time.Second), nil
	})
	if text := w.text.String(); err != nil || !strings.Contains(text, "250 of 1000 files processed") || !strings.Contains(text, "0 of 1 jobs") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestLinesAreWorthTelling(t *testing.T) {
	t.Parallel()
	l := lines{seen: map[domain.JobState]bool{}}
	now := func(s domain.BatchState, jobs map[domain.JobState]int) app.Progress {
		return app.Progress{State: s, Listed: 3, Completed: jobs[domain.JobCompleted], Jobs: jobs}
	}
	for i, c := range []struct {
		p    app.Progress
		want bool
	}{
		{now("pending", nil), true},
		{now("pending", nil), false},
		{now("pending", map[domain.JobState]int{"pending": 1}), true},
		{now("pending", map[domain.JobState]int{"pending": 2}), false},
		{now("processing", map[domain.JobState]int{"pending": 2}), true},
		{now("processing", map[domain.JobState]int{"estimating": 1, "pending": 1}), true},
		{now("processing", map[domain.JobState]int{"estimating": 2}), false},
		{now("processing", map[domain.JobState]int{"estimating": 1, "completed": 1}), true},
		{now("processing", map[domain.JobState]int{"completed": 2}), true},
	} {
		if got := l.worth(c.p); got != c.want {
			t.Errorf("%d: %v, want %v", i, got, c.want)
		}
	}
	p := now("failed", map[domain.JobState]int{"completed": 2, "failed": 1})
	p.Batch, p.Failed = "bid0000000001", 1
	if got := Summary(p); got != "bid0000000001 failed: 3 jobs listed, 2 completed, 1 failed" {
		t.Error(got)
	}
}

// TestLinesAreApart: lines that come at once become the first and the newest, with the first
// remark and the number of the others; each is written at last.
func TestLinesAreApart(t *testing.T) {
	t.Parallel()
	w := &drawn{news: make(chan struct{}, 1)}
	p := pace{w: w, every: time.Hour}
	p.show("1", "")
	p.show("2", "\n  jid1: digest_mismatch")
	p.show("3", "\n  jid2: digest_mismatch")
	p.show("4", "")
	if got := w.text.String(); got != "1\n" {
		t.Errorf("within the time %q is written", got)
	}
	p.flush()
	p.flush()
	if got := w.text.String(); got != "1\n4\n  jid1: digest_mismatch (and 1 more)\n" {
		t.Errorf("at the end %q is written", got)
	}
	<-w.news
	p = pace{w: w, every: time.Millisecond}
	p.show("5", "")
	<-w.news
	p.show("6", "")
	<-w.news // also when nothing else comes
}

// TestReasonsAreThoseOfJobs: while a deposit is followed, why a file cannot be had is said by its
// job, which names the file. That a container was unpacked, and its files were there, is no reason
// for anything; the container is not among the bytes that are to be stored.
func TestReasonsAreThoseOfJobs(t *testing.T) {
	t.Parallel()
	w := &drawn{news: make(chan struct{}, 1)}
	const hash = "6eee8208f9fa6dc60baee8560c752074575e55c684638990815832f385203be7"
	file := func(typ domain.EventType, to domain.FileState, code domain.Code) app.Event {
		return app.Event{Type: typ, Subject: "file/" + hash, Data: &domain.FileMove{To: to, Path: "none.txt", Reason: &domain.Reason{Code: code, Message: "of the file"}}}
	}
	now := progress.New("bid0000000001")
	_, err := Batch(t.Context(), w, false, "bid0000000001", func(seen func(app.Event, app.Progress)) (app.Progress, error) {
		for _, e := range []app.Event{
			file(domain.EventFileDownloaded, domain.FileDownloaded, domain.CodeAlreadyExists), file(domain.EventFileSkipped, domain.FileSkipped, "container_unpacked"),
			file(domain.EventFileDownloadFailed, domain.FileDownloadingFailed, "http_status"),
			{Type: domain.EventJobFailed, Subject: "job/jid0000000007", Data: &domain.JobFailure{JobMove: domain.JobMove{To: domain.JobFailed, Reason: &domain.Reason{Code: "http_status", Message: "none.txt: 404"}}}},
		} {
			seen(e, now.Now)
		}
		return now.Now, nil
	})
	if got := w.text.String(); err != nil || strings.Contains(got, hash) || strings.Contains(got, "exists") || !strings.Contains(got, "jid0000000007: http_status: none.txt: 404\n") {
		t.Errorf("%v\n%s", err, got)
	}
	for hash, m := range map[domain.FileHash]domain.FileMove{"box": {From: domain.FileDownloaded, To: domain.FileSkipped, Size: 5 << 10}, "a": {From: domain.FileProcessing, To: domain.FileProcessed, Size: 14}} {
		for _, m := range []domain.FileMove{{To: domain.FileDiscovered, Size: m.Size}, m} {
			now.Add(domain.Recorded{Event: domain.Event{Aggregate: hash.Aggregate(), Data: &m}})
		}
	}
	if got := fileBytes(now.Now.Files) + ", " + fileStep(now.Now.Files); got != "14 B of 14 B stored, 1 of 1 files processed" {
		t.Errorf("%s: %+v", got, now.Now.Files)
	}
}

// moments are the times at which lines were ended.
type moments []time.Time

func (m *moments) Write(b []byte) (int, error) {
	if strings.HasSuffix(string(b), "\n") {
		*m = append(*m, time.Now())
	}
	return len(b), nil
}

// TestOneLineASecond: a batch that moves ten times a second is told once a second, and at its end.
func TestOneLineASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var written moments
		_, err := Batch(t.Context(), &written, false, "bid0000000001", func(seen func(app.Event, app.Progress)) (app.Progress, error) {
			now := app.Progress{Batch: "bid0000000001", State: domain.BatchProcessing, Listed: 55}
			for now.Completed < 55 {
				now.Completed++
				seen(app.Event{}, now)
				<-time.After(100 * time.Millisecond)
			}
			return now, nil
		})
		if err != nil || len(written) != 7 {
			t.Errorf("%d lines in 5.5 seconds, %v", len(written), err)
		}
		for i := 1; i < len(written)-1; i++ { // the last one is that of the end
			if apart := written[i].Sub(written[i-1]); apart != time.Second {
				t.Errorf("lines are %v apart", apart)
			}
		}
	})
}
