package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

func TestScenarioNormal(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": content})
	s.serve()
	s.completes()
	s.lived("a.txt", `
		DISCOVERED  0/0 job-estimating  -  -
		DOWNLOADING 1/0 job-downloading w1 -
		DOWNLOADED  1/0 job-downloading w1 -
		READY       1/0 job-downloading -  -
		PROCESSING  1/1 job-processing  w1 -
		PROCESSED   1/1 job-processing  w1 -`)
	s.failedAttempts("a.txt")
	s.mailed("Listed 1, completed 1, failed 0, deleted 0.")
}

// TestScenarioFailure1DownloadFails: the depositor's server fails, every time.
func TestScenarioFailure1DownloadFails(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"good.txt": content, "bad.txt": func(w http.ResponseWriter, _ *http.Request, _ int) {
		http.Error(w, "out of order", http.StatusServiceUnavailable)
	}})
	s.serve()
	s.fails("http_status")
	s.lived("bad.txt", `
		DISCOVERED         0/0 job-estimating  -  -
		DOWNLOADING        1/0 job-downloading w1 -
		DOWNLOADING_FAILED 1/0 job-downloading w1 http_status
		DOWNLOADING        2/0 job-downloading w1 -
		DOWNLOADING_FAILED 2/0 job-downloading w1 http_status
		DOWNLOADING        3/0 job-downloading w1 -
		DOWNLOADING_FAILED 3/0 job-downloading w1 http_status
		IGNORE             3/0 job-downloading -  attempts_used_up`)
	s.failedAttempts("bad.txt", "1 DOWNLOADING http_status failed_again", "2 DOWNLOADING http_status failed_again", "3 DOWNLOADING http_status given_up")
	s.mailed("completed 0, failed 1", "bad.txt", "503")
}

// TestScenarioFailure2Skipped: an operator leaves out a file that is downloaded
// while the others still are being so.
func TestScenarioFailure2Skipped(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	s := newScenario(t, "attempts: 3", answers{"thumbnail.png": content, "slow.txt": func(w http.ResponseWriter, r *http.Request, n int) {
		select {
		case <-open:
		case <-r.Context().Done():
		}
		content(w, r, n)
	}})
	s.serve()
	s.event(domain.EventFileDownloaded, "thumbnail.png")
	s.run("file", "skip", string(domain.HashFile(string(s.job), "thumbnail.png")), "--reason", "nobody needs it")
	close(open)
	s.completes()
	s.lived("thumbnail.png", `
		DISCOVERED  0/0 job-estimating  -  -
		DOWNLOADING 1/0 job-downloading w1 -
		DOWNLOADED  1/0 job-downloading w1 -
		SKIPPED     1/0 user            -  skipped_by_operator`)
	s.mailed("completed 1, failed 0", "made without 1 files: thumbnail.png")
	if n := s.count(`select files from record.object_version`); n != 3 { // two are the descriptions
		t.Errorf("the object has %d files", n)
	}
}

// TestScenarioFailure4DownloadTimeout: the depositor's server hangs.
func TestScenarioFailure4DownloadTimeout(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3, timeout: 1s", answers{"a.txt": func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			hang(w, r)
		}
		content(w, r, n)
	}}, "sweep_interval=24h")
	s.serve()
	s.completes()
	s.lived("a.txt", `
		DISCOVERED         0/0 job-estimating  -  -
		DOWNLOADING        1/0 job-downloading w1 -
		DOWNLOADING_FAILED 1/0 job-downloading w1 timeout
		DOWNLOADING        2/0 job-downloading w1 -
		DOWNLOADED         2/0 job-downloading w1 -
		READY              2/0 job-downloading -  -
		PROCESSING         2/1 job-processing  w1 -
		PROCESSED          2/1 job-processing  w1 -`)
	s.failedAttempts("a.txt", "1 DOWNLOADING timeout succeeded")
}

// TestScenarioFailure4StoppedWorker: a worker stops when it has the file and has
// not said so. The sweeper ends its attempt by the timeout; continued, the worker
// brings its result, which is refused, and the file is fetched again.
func TestScenarioFailure4StoppedWorker(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3, timeout: 1s", answers{"a.txt": content}, "download_timeout=1s")
	s.serve(looking)
	worker := s.serveAt("ACCESSION_STOP=daemon/downloading/end/before", working)
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
	s.failedAttempts("a.txt", "1 DOWNLOADING download_timeout succeeded")
	worker.says("a file was moved by another process")
}

// TestScenarioFailure4Overtaken: while a worker is stopped its session ends, and
// another is at work when it goes on. What it brings is not taken for the other's.
// Shows: P5
func TestScenarioFailure4Overtaken(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": content})
	s.serve(rest)
	const beforeEnd = "ACCESSION_STOP=daemon/downloading/end/before"
	late := s.serveAt(beforeEnd, working, dying)
	late.stopped()
	second := s.serveAt(beforeEnd, working)
	second.stopped()
	info, err := s.log.Info(t.Context())
	s.must(err)
	late.signal(syscall.SIGCONT)
	late.stop() // it has said all that it had to say
	for r, err := range s.log.Read(t.Context(), eventstore.ReadOptions{From: info.Last + 1}) {
		s.must(err)
		if r.Aggregate.Kind == domain.KindFile {
			t.Errorf("written by the worker that was stopped: %s %s", r.ID(), r.Type)
		}
	}
	second.signal(syscall.SIGCONT)
	s.completes()
	s.lived("a.txt", `
		DISCOVERED         0/0 job-estimating  -  -
		DOWNLOADING        1/0 job-downloading w1 -
		DOWNLOADING_FAILED 1/0 job-downloading w1 worker_lost
		DOWNLOADING        2/0 job-downloading w2 -
		DOWNLOADED         2/0 job-downloading w2 -
		READY              2/0 job-downloading -  -
		PROCESSING         2/1 job-processing  w2 -
		PROCESSED          2/1 job-processing  w2 -`)
}

// TestScenarioFailure6CrashWhileDownloading: the worker is killed. Who takes over
// its job ends its attempt at once.
func TestScenarioFailure6CrashWhileDownloading(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 1 {
			hang(w, r)
		}
		content(w, r, n)
	}})
	first := s.serve(dying)
	s.waits("a.txt", 1)
	first.kill()
	s.serve()
	s.completes()
	s.lived("a.txt", `
		DISCOVERED         0/0 job-estimating  -  -
		DOWNLOADING        1/0 job-downloading w1 -
		DOWNLOADING_FAILED 1/0 job-downloading w1 worker_lost
		DOWNLOADING        2/0 job-downloading w2 -
		DOWNLOADED         2/0 job-downloading w2 -
		READY              2/0 job-downloading -  -
		PROCESSING         2/1 job-processing  w2 -
		PROCESSED          2/1 job-processing  w2 -`)
	s.failedAttempts("a.txt", "1 DOWNLOADING worker_lost succeeded")
}

// TestScenarioFailure6NobodyLeft: the worker is killed and no other takes over. What
// cron calls ends the attempt by the timeout, and returns the file up with it since
// it was the last one.
func TestScenarioFailure6NobodyLeft(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 1, timeout: 1s", answers{"a.txt": content}, "download_timeout=1s")
	s.serve(rest)
	s.serveAt("ACCESSION_CRASH=daemon/downloading/start/after", working, dying).died()
	s.swept(domain.FileIgnore)
	s.serve(working)
	s.fails(domain.CodeAttemptsUsedUp)
	life := `
		DISCOVERED         0/0 job-estimating  -  -
		DOWNLOADING        1/0 job-downloading w1 -
		DOWNLOADING_FAILED 1/0 sweeper         w1 download_timeout
		IGNORE             1/0 sweeper         -  attempts_used_up`
	s.lived("a.txt", life)
	s.mailed("failed 1", "attempts_used_up: a.txt: given up after 1 of 1 attempts")
	s.requeued()
	s.lived("a.txt", life+`
		DISCOVERED         0/0 job-downloading -  requeued
		DOWNLOADING        1/0 job-downloading w2 -
		DOWNLOADED         1/0 job-downloading w2 -
		READY              1/0 job-downloading -  -
		PROCESSING         1/1 job-processing  w2 -
		PROCESSED          1/1 job-processing  w2 -`)
	s.mailed("Completed since the report before")
}

// swept calls the sweeper as cron does until it has brought the file to a state.
func (s *scenario) swept(to domain.FileState) {
	s.t.Helper()
	waitFor(s.t, "the sweeper to bring the file to "+string(to), func() bool {
		var sum struct {
			Recovered map[domain.FileState]int `json:"recovered"`
		}
		s.must(json.Unmarshal([]byte(s.run("sweep", "-o", "json")), &sum))
		if len(sum.Recovered) > 0 && sum.Recovered[to] != 1 {
			s.t.Fatalf("the sweeper did %v, want one %s", sum.Recovered, to)
		}
		return sum.Recovered[to] == 1
	})
}

// TestScenarioFailure8DuplicateDiscovery: the worker dies when the files are known
// and the job does not know it, so that the next one finds them again.
func TestScenarioFailure8DuplicateDiscovery(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": content, "b.txt": content})
	s.serve(rest)
	s.serveAt("ACCESSION_CRASH=daemon/estimating/discover/after", working, dying).died()
	second := s.serve(working)
	s.completes()
	second.says(`"msg":"files discovered"`, `"files":2,"new":0`)
	for _, name := range []string{"a.txt", "b.txt"} {
		s.lived(name, `
			DISCOVERED  0/0 job-estimating  -  -
			DOWNLOADING 1/0 job-downloading w1 -
			DOWNLOADED  1/0 job-downloading w1 -
			READY       1/0 job-downloading -  -
			PROCESSING  1/1 job-processing  w1 -
			PROCESSED   1/1 job-processing  w1 -`)
	}
	if n := s.count(`select count(*) from accession.file`); n != 2 {
		t.Errorf("%d files are known", n)
	}
	// The tables refuse it too.
	_, err := s.db.Exec(t.Context(), `insert into accession.file select * from accession.file`)
	if want := "SQLSTATE 23505"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a file twice in the tables gives %v, want %s", err, want)
	}
}

// TestScenarioOperationalAlreadyThere: a copy is there before the file is fetched:
// a worker had it, and died with the last attempt. The operator sends the job back;
// nothing is fetched again.
func TestScenarioOperationalAlreadyThere(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 1", answers{"a.txt": func(w http.ResponseWriter, _ *http.Request, n int) {
		if n > 1 {
			t.Errorf("a.txt was fetched %d times", n)
		}
		fmt.Fprintln(w, "its content")
	}})
	s.serve(rest)
	s.serveAt("ACCESSION_CRASH=daemon/downloading/end/before", working, dying).died()
	s.serve(working)
	s.fails(domain.CodeAttemptsUsedUp)
	s.requeued()
	s.lived("a.txt", `
		DISCOVERED         0/0 job-estimating  -  -
		DOWNLOADING        1/0 job-downloading w1 -
		DOWNLOADING_FAILED 1/0 job-downloading w1 worker_lost
		IGNORE             1/0 job-downloading -  attempts_used_up
		DISCOVERED         0/0 job-downloading -  requeued
		DOWNLOADED         0/0 job-downloading -  already_exists
		READY              0/0 job-downloading -  -
		PROCESSING         0/1 job-processing  w2 -
		PROCESSED          0/1 job-processing  w2 -`)
}
