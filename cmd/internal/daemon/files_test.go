package daemon

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/domain"
)

// Each file of a deposit goes through its own fileHistory, whatever the deposit's kind.
func TestFileStates(t *testing.T) {
	t.Parallel()
	const whole = "F1 F2 F4 F10 F11 F12"
	for kind, files := range map[domain.SubmissionType][]string{
		domain.TypeFile:              {"a.txt"},
		domain.TypeObjectManifest:    {"a.txt", "data/b.txt", "empty"},
		domain.TypeBatchManifest:     {"a.txt", "data/b.txt", "empty"},
		domain.TypeFileBatchManifest: {"a.txt"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "data/b.txt": "bb", "empty": ""})
			w.web.serve("/"+string(domain.TypeBatchManifest), manifestOf("mrt-batch-manifest", w.web.URL+"/o.checkm"))
			w.web.serve("/"+string(domain.TypeFileBatchManifest), manifestOf("mrt-single-file-batch-manifest", w.web.URL+"/a.txt"))
			path := map[domain.SubmissionType]string{domain.TypeFile: "/a.txt", domain.TypeObjectManifest: "/o.checkm"}[kind]
			if path == "" {
				path = "/" + string(kind)
			}
			id := w.jobIn(domain.JobRecording, kind, path)
			want := map[string]string{}
			for _, name := range files {
				want[name] = whole
			}
			for name, l := range w.wantRows(id, want) {
				spec := l.Spec
				if spec.Source != string(id) || spec.Path != name || spec.JobID != id || spec.BatchID != w.job(id).Configuration.BatchID ||
					l.Output == nil || l.Output.SHA256 != l.SHA256 || l.Output.Size != l.Size || l.DownloadAttempts != 1 || l.ProcessingAttempts != 1 {
					t.Errorf("%s is %+v with %+v", name, l.File, l.Output)
				}
			}
		})
	}
}

// A file was modified when its server says so, else when its manifest does.
func TestModifiedAtTheSource(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	dated := func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Last-Modified", "Mon, 03 Feb 2020 04:05:06 GMT")
		_, _ = io.WriteString(rw, "x")
	}
	w.web.on("/server.txt", dated)
	w.web.on("/both.txt", dated)
	w.web.serve("/manifest.txt", "x")
	w.web.serve("/none.txt", "x")
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/server.txt", w.web.URL+"/both.txt | | | | 1999-12-31T23:59:59Z",
		w.web.URL+"/manifest.txt | | | | 1999-12-31T23:59:59Z", w.web.URL+"/none.txt | | | | last year"))
	id := w.jobIn(domain.JobProvisioning, domain.TypeObjectManifest, "/o.checkm")
	got := w.fileStatesOf(id)
	for name, want := range map[string]string{"server.txt": "2020-02-03T04:05:06.000Z", "both.txt": "2020-02-03T04:05:06.000Z",
		"manifest.txt": "1999-12-31T23:59:59.000Z", "none.txt": ""} {
		if at := got[name].Spec.Modified.String(); at != want {
			t.Errorf("%s was modified %q, want %q", name, at, want)
		}
	}
	// The one file or container of a row of a batch manifest, which says it for its job.
	w.web.serve("/c.zip", "x")
	for _, row := range []struct {
		kind                domain.SubmissionType
		profile, name, want string
	}{
		{domain.TypeFileBatchManifest, "mrt-single-file-batch-manifest", "manifest.txt", "1999-12-31T23:59:59.000Z"},
		{domain.TypeFileBatchManifest, "mrt-single-file-batch-manifest", "both.txt", "2020-02-03T04:05:06.000Z"},
		{domain.TypeContainerBatchManifest, "mrt-container-batch-manifest", "c.zip", "1999-12-31T23:59:59.000Z"},
	} {
		w.web.serve("/"+row.name+".checkm", manifestOf(row.profile, w.web.URL+"/"+row.name+" | | | | 1999-12-31T23:59:59Z"))
		id := w.jobIn(domain.JobProvisioning, row.kind, "/"+row.name+".checkm")
		if at := w.fileStatesOf(id)[row.name].Spec.Modified.String(); at != row.want {
			t.Errorf("%s in a %s was modified %q, want %q", row.name, row.profile, at, row.want)
		}
	}
}

// The size that the server tells is known from estimating on, and estimating again
// discovers nothing twice.
func TestEstimatingDiscovers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/a.txt", "four")
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/a.txt?token=secret"))
	id := w.jobIn(domain.JobEstimating, domain.TypeObjectManifest, "/o.checkm")
	w.turnOf(w.dying(domain.DaemonJobEstimating))
	w.turn(domain.DaemonJobEstimating)
	w.wantJob(id, domain.JobProvisioning, "")
	l := w.wantRows(id, map[string]string{"a.txt": "F1"})["a.txt"]
	if l.Size != 4 || strings.Contains(l.Spec.URL, "secret") || w.cfg.Files.Duplicates() != 1 {
		t.Errorf("%+v after %d duplicates", l.Spec, w.cfg.Files.Duplicates())
	}
}

// The successor of a worker that died while it downloaded takes its files over at
// once: the attempt that had begun counts, and what was there is not fetched again.
func TestDeadDownloadIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.one()
	died := false
	w.web.serve("/a.txt", "a")
	w.web.on("/b.txt", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && !died {
			died = true
			w.mem.Expire(w.store)
			<-r.Context().Done()
			return
		}
		_, _ = rw.Write([]byte("b"))
	})
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/a.txt", w.web.URL+"/b.txt"))
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobDownloading, "")
	w.turn(domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobProcessing, "")
	b := w.wantRows(id, map[string]string{"a.txt": "F1 F2 F4 F10", "b.txt": "F1 F2 F5 F6 F4 F10"})["b.txt"]
	m, _ := domain.MoveOfFile(b.events[2].Data)
	if m.Reason.Code != domain.CodeWorkerLost || b.DownloadAttempts != 2 {
		t.Errorf("the attempt ended with %+v, %d attempts", m.Reason, b.DownloadAttempts)
	}
	if n := w.web.count("GET /a.txt"); n != 1 {
		t.Errorf("a.txt was fetched %d times", n)
	}
	if left, err := os.ReadDir(j.Configuration.WorkingDir); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// Trouble of our own with the working directory is not held against the files.
func TestClaimDirectoryIsGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.one()
	var id domain.JobID
	w.web.on("/a.txt", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && w.web.count("GET /a.txt") == 1 {
			left, err := w.cfg.Work.Left(w.job(id).Configuration.BatchID, id, "")
			if err != nil || len(left) != 1 {
				t.Errorf("%v, %v", left, err)
			}
			for _, l := range left {
				if err := errors.Join(l.Remove(), l.Close()); err != nil {
					t.Error(err)
				}
			}
		}
		_, _ = rw.Write([]byte("a"))
	})
	w.web.serve("/b.txt", "b")
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/a.txt", w.web.URL+"/b.txt"))
	id = w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobDownloading, reason.CodeStorage)
	w.clock.Advance(limits.MaxOurs)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	const rows = "F1 F2 F5 F6 F4 F10"
	for name, f := range w.wantRows(id, map[string]string{"a.txt": rows, "b.txt": rows}) {
		if f.DownloadAttempts != 1 {
			t.Errorf("%s has %d attempts", name, f.DownloadAttempts)
		}
	}
}

// one lets a job's files be fetched one after the other.
func (w *fixture) one() {
	p := w.set[tides]
	p.Fetch.Parallel = 1
	w.set[tides] = p
}

// A file whose attempts are used up is given up and its job fails with its name; a
// requeue takes it up again, fetches nothing else, and may fail again.
func TestAttemptsAreUsedUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	broken := func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }
	w.web.serve("/a.txt", "a")
	w.web.on("/b.txt", broken)
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/a.txt", w.web.URL+"/b.txt"))
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.untilMoved(id, domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobFailed, "http_status")
	if !strings.HasPrefix(j.Reason.Message, "b.txt: ") {
		t.Errorf("it failed with %q", j.Reason.Message)
	}
	const lost = "F1 F2 F5 F6 F5 F7"
	w.wantRows(id, map[string]string{"a.txt": "F1 F2 F4", "b.txt": lost})
	w.requeue(id)
	w.untilMoved(id, domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobFailed, "http_status")
	const again = lost + " O1 F2 F5 F6 F5 F7"
	w.wantRows(id, map[string]string{"a.txt": "F1 F2 F4", "b.txt": again})
	w.web.serve("/b.txt", "b")
	w.doJob(id, domain.RequeueJob{})
	w.untilMoved(id, domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	l := w.wantRows(id, map[string]string{"a.txt": "F1 F2 F4 F10", "b.txt": again + " O1 F2 F4 F10"})
	if n := w.web.count("GET /a.txt"); n != 1 || l["b.txt"].DownloadAttempts != 1 {
		t.Errorf("a.txt was fetched %d times; b.txt has %d attempts", n, l["b.txt"].DownloadAttempts)
	}
}

// A job whose worker died between the end of a file and its own fails with it; that
// is no second fileHistory for the file.
func TestGivenUpStaysSo(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/b.txt", "b")
	id := w.jobIn(domain.JobDownloading, domain.TypeFile, "/b.txt")
	w.web.on("/b.txt", http.NotFound)
	w.turnOf(w.dying(domain.DaemonJobDownloading))
	w.wantJob(id, domain.JobDownloading, "")
	w.turn(domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobFailed, domain.CodeAttemptsUsedUp)
	if !strings.HasPrefix(j.Reason.Message, "b.txt: ") || j.Reason.Class != domain.ClassContent {
		t.Errorf("it failed with %+v", j.Reason)
	}
	w.wantRows(id, map[string]string{"b.txt": "F1 F2 F5 F7"})
}

// A copy that an earlier claim has left is taken without an attempt; one that was
// damaged after that is sent back and fetched again.
func TestCopiesThatAreThere(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "b.txt": "b", "c.txt": "c"})
	w.web.serve("/c.txt", "C")
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	dir := w.wantJob(id, domain.JobFailed, domain.CodeDigestMismatch).Configuration.WorkingDir
	for name, text := range map[string]string{"b.txt": "B", "c.txt": "c"} { // one is damaged, one is mended
		if err := os.WriteFile(filepath.Join(dir, "files", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.requeue(id)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	w.wantRows(id, map[string]string{"a.txt": "F1 F2 F4 F10", "b.txt": "F1 F2 F4 F8 F6 F4 F10", "c.txt": "F1 F2 F5 F7 O1 F3 F10"})
}

// While the log is away the steps wait: nothing is counted, and an attempt under
// way ends well once it is back.
func TestLogIsAway(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state     domain.JobState
		after     int32
		handsBack bool
	}{
		"estimating":            {domain.JobEstimating, 0, true},
		"downloading, starting": {domain.JobDownloading, 0, true},
		"downloading, ending":   {domain.JobDownloading, 1, false},
		"downloading, ready":    {domain.JobDownloading, 2, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords)
			id := w.aJobIn(c.state)
			d := map[domain.JobState]string{domain.JobEstimating: domain.DaemonJobEstimating, domain.JobDownloading: domain.DaemonJobDownloading}[c.state]
			w.away(c.after, 2)
			for range 2 {
				if !c.handsBack {
					break
				}
				w.turn(d)
				w.wantJob(id, c.state, "")
				w.clock.Advance(limits.MaxOurs)
			}
			w.turn(d)
			if j := w.job(id); j.State == c.state {
				t.Fatalf("still in %s\n%s", j.State, w.log)
			}
			want := "F1"
			if c.state == domain.JobDownloading {
				want = "F1 F2 F4 F10"
			}
			w.wantRows(id, map[string]string{"a.txt": want})
		})
	}
}

// Ten thousand files are fetched and made ready in a few large writes, with
// progress in the log.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	const n = 10_000
	w := newFixture(t, noRecords)
	p := w.set[tides]
	p.Fetch.Parallel, p.Limits.MaxFiles = 16, n
	w.set[tides] = p
	rows := make([]string, n)
	w.web.serve("/a", "abc")
	for i := range rows {
		rows[i] = fmt.Sprintf("%s/a | | | | | dir-%d/%d.txt", w.web.URL, i%100, i)
	}
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", rows...))
	id := w.submit(domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonBatchPending)
	job := w.batch(id).Listing.FirstJID
	log := w.away(0, 0)
	for _, name := range upTo(domain.JobProcessing) {
		w.turn(name)
	}
	if j := w.wantJob(job, domain.JobProcessing, ""); j.SpaceNeeded != 3*n {
		t.Fatalf("job %+v", j)
	}
	states := map[string]int{}
	for _, l := range w.fileStatesOf(job) {
		states[l.rows]++
	}
	if states["F1 F2 F4 F10"] != n || log.n.Load() > 2*n/chunkFiles+100 {
		t.Errorf("%v in %d writes", states, log.n.Load())
	}
	if told := strings.Count(w.log.String(), `"msg":"downloading"`); told < 9 || told > 11 {
		t.Errorf("progress was told %d times", told)
	}
}
