package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// fetched is how the life of a file begins that was downloaded at once.
const fetched = `
		DISCOVERED        0/0 job-estimating  -  -
		DOWNLOADING       1/0 job-downloading w1 -
		DOWNLOADED        1/0 job-downloading w1 -
		READY             1/0 job-downloading -  -`

// TestScenarioFailure3ProcessingFails: the object store is broken, every time, more
// often than a file may be processed. The job says why it waits, uses nothing up, and
// completes by itself when the store is repaired.
func TestScenarioFailure3ProcessingFails(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": content})
	inTheWay := filepath.Join(s.dir, "store", "objects")
	s.must(os.MkdirAll(filepath.Dir(inTheWay), 0o755))
	s.must(os.WriteFile(inTheWay, nil, 0o600))
	s.serve()
	s.event(domain.EventJobWaiting, "")
	for range 4 {
		s.event(domain.EventFileProcessingFailed, "a.txt")
	}
	if shown := s.run("job", "show", string(s.job)); !strings.Contains(shown, "storage_error") || !strings.Contains(shown, "store the object") {
		t.Errorf("the job does not say why it waits:\n%s", shown)
	}
	s.must(os.Remove(inTheWay))
	s.completes()
	s.usedUp("a.txt", "1/1")
}

// usedUp checks how many attempts at downloading and processing a file has used up, and
// that its job waited once for all.
func (s *scenario) usedUp(path, want string) {
	s.t.Helper()
	var got string
	s.must(s.db.QueryRow(s.t.Context(), `select concat(download_attempts, '/', processing_attempts) from accession.file where raw_file_hash = $1`,
		domain.HashFile(string(s.job), path)).Scan(&got))
	if got != want {
		s.t.Errorf("%s has used up %s attempts, want %s", path, got, want)
	}
	var waited int
	s.must(s.db.QueryRow(s.t.Context(), `select count(*) from accession.event where type = 'job.waiting' and aggregate_id = $1`, s.job).Scan(&waited))
	if waited != 1 {
		s.t.Errorf("%d events say that the job waits", waited)
	}
}

// TestScenarioFailure5ProcessingTimeout: a worker stops when it has stored the
// object and has not said so. The sweeper ends its attempt by the timeout;
// continued, the worker brings its result, which is refused, and makes another
// attempt.
func TestScenarioFailure5ProcessingTimeout(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": content}, "processing_timeout=1s")
	s.serve(looking)
	worker := s.serveAt("ACCESSION_STOP=daemon/processing/store/after", working)
	worker.stopped()
	s.event(domain.EventFileProcessingFailed, "a.txt")
	worker.signal(syscall.SIGCONT)
	s.completes()
	s.lived("a.txt", fetched+`
		PROCESSING        1/1 job-processing w1 -
		PROCESSING_FAILED 1/1 sweeper        w1 processing_timeout
		READY             1/1 job-processing -  -
		PROCESSING        1/2 job-processing w1 -
		PROCESSED         1/2 job-processing w1 -`)
	s.failedAttempts("a.txt", "1 PROCESSING processing_timeout succeeded")
	worker.says("a file was moved by another process")
	s.storedOnce()
}

// storedOnce checks that the object has one version, whichever worker stored it.
func (s *scenario) storedOnce() {
	s.t.Helper()
	for _, table := range []string{"object", "object_version", "identifier"} {
		if n := s.count("select count(*) from record." + table); n != 1 {
			s.t.Errorf("record.%s has %d rows", table, n)
		}
	}
}

// TestScenarioFailure7CrashWhileProcessing: the worker is killed. Who takes over
// its job ends its attempt at once.
func TestScenarioFailure7CrashWhileProcessing(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 3", answers{"a.txt": content})
	s.serve(rest)
	first := s.serveAt("ACCESSION_STOP=daemon/processing/store/before", working, dying)
	first.stopped()
	first.kill()
	s.serve(working)
	s.completes()
	s.lived("a.txt", fetched+`
		PROCESSING        1/1 job-processing w1 -
		PROCESSING_FAILED 1/1 job-processing w1 worker_lost
		READY             1/1 job-processing -  -
		PROCESSING        1/2 job-processing w2 -
		PROCESSED         1/2 job-processing w2 -`)
	s.failedAttempts("a.txt", "1 PROCESSING worker_lost succeeded")
	s.storedOnce()
}

// TestScenarioFailure7NobodyLeft: the worker is killed and no other takes over. What
// cron calls ends the attempt by the timeout; the second time that was the last
// one. How often a file may be fetched does not matter.
func TestScenarioFailure7NobodyLeft(t *testing.T) {
	t.Parallel()
	s := newScenario(t, "attempts: 1", answers{"a.txt": content}, "processing_timeout=1s", "max_processing_attempts=2")
	s.serve(rest)
	const killed = "ACCESSION_CRASH=daemon/processing/start/after"
	s.serveAt(killed, working, dying).died()
	s.swept(domain.FileProcessingFailed)
	s.serveAt(killed, working, dying).died()
	s.swept(domain.FileAbandoned)
	s.serve(working)
	s.fails(domain.CodeAttemptsUsedUp)
	s.lived("a.txt", fetched+`
		PROCESSING        1/1 job-processing w1 -
		PROCESSING_FAILED 1/1 sweeper        w1 processing_timeout
		READY             1/1 job-processing -  -
		PROCESSING        1/2 job-processing w2 -
		PROCESSING_FAILED 1/2 sweeper        w2 processing_timeout
		ABANDONED         1/2 sweeper        -  attempts_used_up`)
	s.mailed("failed 1", "a.txt: given up after 2 of 2 attempts")
}
