package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// The scenarios of a file's life, by the names under which they are documented, for
// files of a deposited object: each with real processes, servers and a depositor.

// depositor serves an object of some files. How each GET of a file is answered is
// up to the test; n counts them from 1.
type depositor struct {
	*httptest.Server
	mu   sync.Mutex
	gets map[string]int
	came map[string]chan struct{}
}

// answers says how GETs of a file are answered.
type answers map[string]func(w http.ResponseWriter, r *http.Request, n int)

func newDepositor(t *testing.T, files answers) *depositor {
	t.Helper()
	d := &depositor{gets: map[string]int{}, came: map[string]chan struct{}{}}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		switch answer := files[name]; {
		case name == "object.checkm":
			_, _ = w.Write([]byte("#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-ingest-manifest\n"))
			for file := range files {
				fmt.Fprintf(w, "http://%s/%s | | | | | %s\n", r.Host, file, file)
			}
			_, _ = w.Write([]byte("#%eof\n"))
		case answer != nil && r.Method == http.MethodGet && r.Header.Get("Range") != "bytes=0-0": // of which no size is learned
			answer(w, r, d.count(name))
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *depositor) count(name string) int {
	d.mu.Lock()
	d.gets[name]++
	n := d.gets[name]
	d.mu.Unlock()
	close(d.asked(name, n))
	return n
}

// asked is closed by the n-th GET of a file.
func (d *depositor) asked(name string, n int) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := fmt.Sprint(name, n)
	if d.came[key] == nil {
		d.came[key] = make(chan struct{})
	}
	return d.came[key]
}

// content answers with something else each time.
func content(w http.ResponseWriter, _ *http.Request, n int) { fmt.Fprintf(w, "content %d\n", n) }

// hang answers with a beginning, and never goes on.
func hang(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1000000")
	_, _ = w.Write([]byte("a beginning"))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// scenario is an installation in which one object is deposited.
type scenario struct {
	*installation
	web   *depositor
	batch domain.BatchID
	job   domain.JobID
	seen  map[string]int // how many events of a kind were waited for
}

// Roles of processes that work on files, and of those that look after them.
const (
	working = "--roles=daemons"
	looking = "--roles=relay,projector,sweeper"
	rest    = "--roles=relay,projector"
)

// dying is how long the session of a process lasts that is killed.
const dying = "--set=zookeeper_session_timeout=4s"

func newScenario(t *testing.T, fetch string, files answers, set ...string) *scenario {
	t.Helper()
	program, err := crashing()
	if err != nil {
		t.Fatal(err)
	}
	// A session outlasts every stop.
	s := &scenario{installation: newForProcesses(t, fetch, append([]string{"zookeeper_session_timeout=60s", "sweep_interval=10ms",
		"max_processing_attempts=3"}, set...)...), web: newDepositor(t, files), job: domain.NewJobID(1), seen: map[string]int{}}
	s.program = program
	s.set(without()...)
	var answer struct {
		BatchID domain.BatchID `json:"id"`
	}
	out := s.run("submit", s.web.URL+"/object.checkm", "--type", "object_manifest", "--profile", "test", "-o", "json")
	s.must(json.Unmarshal([]byte(out), &answer))
	s.batch = answer.BatchID
	return s
}

// waits waits for a GET of a file.
func (s *scenario) waits(name string, n int) {
	s.t.Helper()
	select {
	case <-s.web.asked(name, n):
	case <-time.After(patience):
		s.t.Fatalf("%s was not asked for %d times", name, n)
	}
}

// event waits for the next event of a type, of the file with the path or, "" = of
// anything else.
func (s *scenario) event(kind domain.EventType, path string) {
	s.t.Helper()
	key, n := string(kind)+" "+path, 0
	s.seen[key]++
	s.await(key, 0, func(r domain.Recorded) bool {
		if m, _ := domain.MoveOfFile(r.Data); r.Type == kind && m.Path == path {
			n++
		}
		return n == s.seen[key]
	})
}

// stopped waits until the service has stopped at its point.
func (s *service) stopped() {
	s.in.t.Helper()
	done := make(chan string, 1)
	go func() {
		var ws syscall.WaitStatus
		_, err := syscall.Wait4(s.cmd.Process.Pid, &ws, syscall.WUNTRACED, nil)
		if err != nil || !ws.Stopped() {
			done <- fmt.Sprintf("the service ended instead of stopping: %v, %x", err, ws)
		}
		close(done)
	}()
	select {
	case why := <-done:
		if why != "" {
			s.in.t.Fatal(why)
		}
	case <-time.After(patience):
		s.in.t.Fatal("the service did not stop")
	}
}

// says checks that the service's log says all of it.
func (s *service) says(all ...string) {
	s.in.t.Helper()
	for _, want := range all {
		if !strings.Contains(s.log.tail(1<<20), want) {
			s.in.t.Errorf("the service does not say %q", want)
		}
	}
}

// died waits until the service has killed itself at its point.
func (s *service) died() {
	s.in.t.Helper()
	s.once.Do(func() {
		_ = s.cmd.Wait()
		if ws, _ := s.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGKILL {
			s.in.t.Errorf("the service was to be killed and ended with %v", s.cmd.ProcessState)
		}
	})
}

// completes waits until the job has completed and the batch was reported so.
func (s *scenario) completes() {
	s.t.Helper()
	s.event(domain.EventJobCompleted, "")
	s.event(domain.EventBatchReported, "")
	s.ends("completed", "", "completed")
}

// fails waits until the job has failed with a code and the batch was reported so.
func (s *scenario) fails(code domain.Code) {
	s.t.Helper()
	s.event(domain.EventJobFailed, "")
	s.event(domain.EventBatchReported, "")
	s.ends("failed", code, "failed")
}

// requeued sends the failed job back; when it has completed, the batch is reported
// once more.
func (s *scenario) requeued() {
	s.t.Helper()
	s.run("job", "requeue", string(s.job), "--reason", "mended")
	s.event(domain.EventJobCompleted, "")
	s.installation.shown()
	s.says(0, []string{"batch", "show", string(s.batch)}, "`accession batch update-report "+string(s.batch)+"` reports it once more")
	s.run("batch", "update-report", string(s.batch), "--reason", "mended")
	s.event(domain.EventBatchReported, "")
	s.ends("completed", "", "completed")
}

// ends checks what became of job and batch, in the servers and in SQL.
func (s *scenario) ends(job string, code domain.Code, batch string) {
	s.t.Helper()
	if job == "completed" {
		s.await("the clean-up", 0, func(r domain.Recorded) bool { return r.Type == domain.EventJobCleaned })
	}
	s.proven()
	var gotJob, gotCode, gotBatch string
	s.must(s.db.QueryRow(s.t.Context(), `select j.status, coalesce(j.reason_code, ''), b.status from accession.job j join accession.batch b on b.id = j.batch_id
		where j.id = $1 and b.id = $2`, s.job, s.batch).Scan(&gotJob, &gotCode, &gotBatch))
	if gotJob != job || gotBatch != batch || job == "failed" && gotCode != string(code) {
		s.t.Errorf("the job is %s (%s) and the batch %s, want %s (%s) and %s", gotJob, gotCode, gotBatch, job, code, batch)
	}
}

// mailed checks that the last report mail says all of it.
func (s *scenario) mailed(says ...string) {
	s.t.Helper()
	mails, err := filepath.Glob(filepath.Join(s.dir, "mail", "*"))
	s.must(err)
	last, at := "", time.Time{}
	for _, name := range mails {
		info, err := os.Stat(name)
		s.must(err)
		if text, err := os.ReadFile(name); err == nil && info.ModTime().After(at) {
			last, at = strings.ReplaceAll(strings.ReplaceAll(string(text), "=\r\n", ""), "\r\n", "\n"), info.ModTime()
		}
	}
	for _, want := range says {
		if !strings.Contains(last, want) {
			s.t.Errorf("of %d mails the last does not say %q:\n%s", len(mails), want, last)
		}
	}
}

// lived checks a file's history. Each line is: the state, the attempts begun at
// downloading and processing, who moved it, the worker of the attempt that began or
// ended, and the code of the reason; - = none. Processes are w1, w2 … as they come.
// The tables must say it, the log the same, and the command line must tell it.
func (s *scenario) lived(path, want string) {
	s.t.Helper()
	hash := domain.HashFile(string(s.job), path)
	workers := map[string]string{}
	line := func(to, from string, d, p int, actor, worker, code string) string {
		short := "-"
		if worker != "" {
			if workers[worker] == "" {
				workers[worker] = fmt.Sprint("w", len(workers)+1)
			}
			short = workers[worker]
		}
		return fmt.Sprintf("%s %d/%d %s %s %s", to, d, p, strings.TrimPrefix(actor, "daemon/"), short, or(code, "-"))
	}
	var lines, moves []string
	out := s.run("file", "history", string(hash), "-o", "json")
	var list app.Page[app.FileTransition]
	s.must(json.Unmarshal([]byte(out), &list))
	history := list.Items
	for _, m := range history {
		code := ""
		if m.ReasonCode != nil {
			code = *m.ReasonCode
		}
		actor := m.Actor
		if !strings.HasPrefix(actor, "daemon/") {
			actor = "user"
		}
		lines = append(lines, line(m.ToStatus, m.FromStatus, int(m.DownloadAttempts), int(m.ProcessingAttempts), actor, m.Worker, code))
		moves = append(moves, or(m.FromStatus, "–")+" → "+m.ToStatus)
	}
	var wanted []string
	for l := range strings.Lines(strings.TrimSpace(want)) {
		wanted = append(wanted, strings.Join(strings.Fields(l), " "))
	}
	if !slices.Equal(lines, wanted) {
		s.t.Errorf("%s lived\n%s\nwant\n%s", path, strings.Join(lines, "\n"), strings.Join(wanted, "\n"))
	}
	s.logged(hash, history)
	text := s.run("file", "history", string(hash))
	for _, move := range moves {
		_, after, ok := strings.Cut(text, move)
		if !ok {
			s.t.Errorf("`file history` of %s does not tell %s, or not in order", path, move)
		}
		text = after
	}
	s.shown(path, hash, history[len(history)-1])
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// logged checks that the log says of a file what the tables do.
func (s *scenario) logged(hash domain.FileHash, history []app.FileTransition) {
	s.t.Helper()
	a, n, f := hash.Aggregate(), 0, domain.File{Hash: hash}
	for r, err := range s.log.Read(s.t.Context(), eventstore.ReadOptions{Aggregate: &a}) {
		s.must(err)
		f, err = domain.EvolveFile(f, r)
		s.must(err)
		m, _ := domain.MoveOfFile(r.Data)
		if n >= len(history) {
			s.t.Fatalf("the log has more of %s: %s", m.Path, r.Type)
		}
		h, code := history[n], ""
		if m.Reason != nil {
			code = string(m.Reason.Code)
		}
		if r.Version != h.Version || string(m.From) != h.FromStatus || string(m.To) != h.ToStatus || m.DownloadAttempts != int(h.DownloadAttempts) ||
			m.ProcessingAttempts != int(h.ProcessingAttempts) || string(r.Actor) != h.Actor || r.BatchID != s.batch ||
			(h.ReasonCode == nil) != (m.Reason == nil) || h.ReasonCode != nil && *h.ReasonCode != code || !domain.At(r.Stored).Equal(domain.At(h.At).Time) {
			s.t.Errorf("%s: the log says %s %+v, the tables %+v", m.Path, r.Type, m, h)
		}
		n++
	}
	if n != len(history) {
		s.t.Errorf("the log has %d events of %s, the tables %d", n, hash, len(history))
	}
}

// shown checks that `job show` lists the file as it stands, and `file show` lists
// its failed attempts.
func (s *scenario) shown(path string, hash domain.FileHash, last app.FileTransition) {
	s.t.Helper()
	code := ""
	if last.ReasonCode != nil && last.ToStatus != string(domain.FileProcessed) {
		code = *last.ReasonCode
	}
	found := false
	for l := range strings.Lines(s.run("job", "show", string(s.job))) {
		if f := strings.Fields(l); strings.HasPrefix(l, string(hash)) && len(f) > 7 {
			found = f[2] == path && f[3] == last.ToStatus && f[4] == fmt.Sprint(last.DownloadAttempts) && f[5] == fmt.Sprint(last.ProcessingAttempts) &&
				f[6] == fmt.Sprint(last.Size) && strings.Contains(l, code)
		}
	}
	if !found {
		s.t.Errorf("`job show` does not list %s as %s %d/%d with %d bytes %s:\n%s", path, last.ToStatus, last.DownloadAttempts, last.ProcessingAttempts,
			last.Size, code, s.run("job", "show", string(s.job)))
	}
	text := s.run("file", "show", string(hash))
	for _, r := range s.retries(path) {
		if !strings.Contains(text, strings.Fields(r)[2]) {
			s.t.Errorf("`file show` does not tell %s:\n%s", r, text)
		}
	}
}

// retries returns the failed attempts of a file as the tables have them: which one,
// in which state, the code and what became of it.
func (s *scenario) retries(path string) (all []string) {
	s.t.Helper()
	rows, err := s.db.Query(s.t.Context(), `select attempt || ' ' || status || ' ' || code || ' ' || outcome from accession.retry
		where raw_file_hash = $1 order by number`, domain.HashFile(string(s.job), path))
	s.must(err)
	for rows.Next() {
		var r string
		s.must(rows.Scan(&r))
		all = append(all, r)
	}
	s.must(rows.Err())
	return all
}

func (s *scenario) failedAttempts(path string, want ...string) {
	s.t.Helper()
	if got := s.retries(path); !slices.Equal(got, want) {
		s.t.Errorf("failed attempts of %s: %q, want %q", path, got, want)
	}
}
