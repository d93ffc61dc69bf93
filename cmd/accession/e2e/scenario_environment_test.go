package e2e

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
	"github.com/accession-ingest/accession/internal/crash"
)

// TestScenarioDiskFull: the disk of the working directory is full while files are
// downloaded. The job waits and says so, uses no attempts up, and completes by itself
// when there is room again; nothing half written stays.
// Shows: P1 P8 P18
func TestScenarioDiskFull(t *testing.T) {
	t.Parallel()
	full := filepath.Join(t.TempDir(), "full")
	s := newScenario(t, "attempts: 3", answers{"a.txt": content, "b.txt": content})
	s.must(os.WriteFile(full, []byte(crash.WorkDisk), 0o600))
	worker := s.serveAt("ACCESSION_FULL=" + full)
	s.event(domain.EventJobWaiting, "")
	for range 4 {
		s.event(domain.EventFileDownloadFailed, "b.txt")
	}
	waitFor(t, "the job to say why it waits", func() bool { // when its events are in the tables
		_, shown, _ := s.call("job", "show", string(s.job)) // it may not even be there
		return strings.Contains(shown, string(domain.CodeSpaceShort)) && strings.Contains(shown, "no space left on device")
	})
	s.must(os.Remove(full))
	s.completes()
	s.usedUp("b.txt", "1/1")
	worker.stop()
	s.mailed("completed 1, failed 0")
	if found := s.found(); len(found) > 0 {
		t.Errorf("in the end: %v", found)
	}
	for _, name := range s.inWorkDir() {
		t.Errorf("%s is left in the working directory", name)
	}
}

// TestScenarioStoreFull: the object store is full when the first file was downloaded,
// with more deposits behind. Each job waits and says so, for more attempts than a file has,
// none is used up, and all complete by themselves when there is room again.
// Shows: P1 P18
func TestScenarioStoreFull(t *testing.T) {
	t.Parallel()
	full := filepath.Join(t.TempDir(), "full")
	s := newScenario(t, "attempts: 3", answers{"a.txt": func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			if err := os.WriteFile(full, []byte(crash.StoreDisk), 0o600); err != nil {
				t.Error(err)
			}
		}
		content(w, r, n)
	}}, "retry_max_delay=500ms")
	worker := s.serveAt("ACCESSION_FULL=" + full)
	s.event(domain.EventFileProcessingFailed, "a.txt")
	later := []domain.BatchID{s.submit(app.Deposit{Payload: s.web.URL + "/a.txt", Type: domain.TypeFile}),
		s.submit(app.Deposit{Payload: s.web.URL + "/object.checkm", Type: domain.TypeObjectManifest})}
	tries := 0
	s.await("more attempts than a file has", 0, func(r domain.Recorded) bool {
		if r.Type == domain.EventJobFailed {
			t.Fatalf("%s has failed: %+v", r.Aggregate.ID, r.Data)
		}
		if m, _ := domain.MoveOfFile(r.Data); r.Type == domain.EventFileProcessingFailed && m.Path == "a.txt" {
			tries++
		}
		return tries == 8
	})
	waitFor(t, "all jobs to say that they wait for space", func() bool {
		return s.count("select count(*) from accession.job where status in ('pending', 'processing') and reason_code = 'space_short'") == 1+len(later)
	})
	if n := s.count("select count(*) from accession.event where type = 'job.failed'"); n != 0 {
		t.Errorf("%d jobs have failed", n)
	}
	s.must(os.Remove(full))
	for _, id := range append(later, s.batch) {
		if v := s.rest(id); v.JobsCompleted != 1 {
			t.Errorf("%s has ended: %+v", id, v)
		}
	}
	s.usedUp("a.txt", "1/1")
	if n := s.count("select count(*) from accession.file where download_attempts <> 1 or processing_attempts <> 1"); n != 0 {
		t.Errorf("%d files have used up attempts", n)
	}
	worker.stop()
}

// inWorkDir lists the files that jobs have in the working directory.
func (s *scenario) inWorkDir() (names []string) {
	s.t.Helper()
	s.must(filepath.WalkDir(filepath.Join(s.dir, "work"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "jid") {
			names = append(names, path)
		}
		return err
	}))
	return names
}

// TestScenarioWrongClocks: a worker's clock is an hour wrong, and the sweeper's an
// hour to the other side. A worker that stops in an attempt has as long as it may
// by the log's clock, no shorter and not for ever, and all else is as ever.
// Shows: P3
func TestScenarioWrongClocks(t *testing.T) {
	t.Parallel()
	const may, wrong = 2 * time.Second, time.Hour
	for name, ahead := range map[string]time.Duration{"worker ahead": wrong, "worker behind": -wrong} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScenario(t, fmt.Sprintf("attempts: 3, timeout: %v", may), answers{"a.txt": content}, "download_timeout="+may.String())
			s.serveAt("ACCESSION_CLOCK="+(-ahead).String(), looking)
			worker := s.serveAt("ACCESSION_CLOCK="+ahead.String()+" ACCESSION_STOP=daemon/downloading/end/before", working)
			worker.stopped()
			s.event(domain.EventFileDownloadFailed, "a.txt")
			worker.signal(syscall.SIGCONT)
			s.completes()
			s.lived("a.txt", `
				DISCOVERED         0/0 job-estimating  -  -
				DOWNLOADING        1/0 job-downloading w1 -
				DOWNLOADING_FAILED 1/0 sweeper         w1 download_timeout
				DOWNLOADING        2/0 job-downloading w1 -
				DOWNLOADED         2/0 job-downloading w1 -
				READY              2/0 job-downloading -  -
				PROCESSING         2/1 job-processing  w1 -
				PROCESSED          2/1 job-processing  w1 -`)
			var began time.Time
			var last time.Time
			for r, err := range s.log.Read(t.Context(), eventstore.ReadOptions{}) {
				s.must(err)
				if r.Stored.Before(last) {
					t.Errorf("%s was stored before the event before it", r.ID())
				}
				last = r.Stored
				switch off := r.Time.Sub(r.Stored); {
				case r.Type == domain.EventFileDownloadStarted && began.IsZero():
					if began = r.Stored; (off - ahead).Abs() > wrong/2 {
						t.Errorf("the worker's clock was wrong by %v", off)
					}
				case r.Type == domain.EventFileDownloadFailed:
					if took := r.Stored.Sub(began); took < may || took > wrong/2 {
						t.Errorf("the attempt was ended after %v, and may take %v", took, may)
					}
					if (off + ahead).Abs() > wrong/2 {
						t.Errorf("the sweeper's clock was wrong by %v", off)
					}
				}
			}
		})
	}
}
