package e2e

import (
	"strings"
	"testing"

	"github.com/accession-ingest/accession/domain"
)

// TestRollingRestart restarts three processes with different roles one after the
// other while two hundred jobs run: each job completes, and nothing is counted.
// Shows: P1
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	const jobs = 200
	in := newForProcesses(t, "attempts: 20, timeout: 60s", "listen_ops=127.0.0.1:0", "zookeeper_session_timeout=4s", "stop_grace=30s")
	roles := []string{"daemons", "daemons", "relay,projector,sweeper"}
	running := make([]*service, len(roles))
	for i, r := range roles {
		running[i] = in.serve("--roles", r)
	}
	for _, s := range running {
		s.until(200, "ok")
	}
	all := append([]*service(nil), running...)
	f := newFiles(t, jobs, -1)
	id := in.submitFiles(f)
	for i, r := range roles {
		completed, want := 0, (i+1)*jobs/6
		in.await("so many jobs to be completed", 0, func(r domain.Recorded) bool {
			if r.Type == domain.EventJobCompleted {
				completed++
			}
			return completed == want
		})
		next := in.serve("--roles", r)
		next.until(200, "ok")
		running[i].stop()
		running[i], all = next, append(all, next)
	}
	in.ended(id, jobs)
	// The projector stops last, with everything applied.
	for _, s := range running {
		s.stop()
	}
	in.proven()
	in.whole(jobs)
	for what, query := range map[string]string{
		"failures":              `select count(*) from accession.retry`,
		"downloads tried again": `select count(*) from accession.file where download_attempts > 1 or processing_attempts > 1`,
	} {
		if got := in.count(query); got != 0 {
			t.Errorf("%s: %d", what, got)
		}
	}
	for _, s := range all {
		for _, bad := range []string{`"level":"ERROR"`, "session lost", "cut off"} {
			if text := s.log.tail(10 << 20); strings.Contains(text, bad) {
				t.Errorf("a process logged %s", bad)
			}
		}
	}
}
