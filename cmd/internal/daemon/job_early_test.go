package daemon

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
)

// J2, J4, J5: what becomes of a pending job.
func TestPendingJob(t *testing.T) {
	t.Parallel()
	const good = "mrt-ingest-manifest"
	for name, c := range map[string]struct {
		manifest string // "" = not there
		change   func(*domain.Submission)
		state    domain.JobState
		code     domain.Code
		says     []string
	}{
		"good":              {manifestOf(good, "http://files.test/a"), nil, domain.JobEstimating, "", nil},
		"unreachable":       {"", nil, domain.JobEstimating, "", nil},
		"no manifest":       {"hello\n", nil, domain.JobFailed, domain.CodeManifestInvalid, []string{"line 1"}},
		"bad rows":          {manifestOf(good, "http://files.test/a", "ftp://files.test/b", "http://files.test/c | | | | | ../c"), nil, domain.JobFailed, domain.CodeManifestInvalid, []string{"line 4", "line 5"}},
		"manifest of batch": {manifestOf("mrt-batch-manifest", "http://files.test/a"), nil, domain.JobFailed, domain.CodeManifestInvalid, []string{"mrt-ingest-manifest"}},
		"names an upload":   {manifestOf(good, "store:///uploads/aa/bb/x"), nil, domain.JobFailed, domain.CodeManifestInvalid, []string{"upload"}},
		"wrong digest": {manifestOf(good, "http://files.test/a"), func(s *domain.Submission) { s.DigestAlgorithm, s.DigestValue = "md5", strings.Repeat("0", 32) },
			domain.JobFailed, domain.CodeDigestMismatch, []string{"md5", strings.Repeat("0", 32)}},
		"too many files": {manifestOf(good, "http://files.test/a", "http://files.test/b", "http://files.test/c"), nil, domain.JobFailed, domain.CodeManifestInvalid, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords)
			if name == "too many files" {
				p := w.set[tides]
				p.Limits.MaxFiles = 2
				w.set[tides] = p
			}
			if c.manifest != "" {
				w.web.serve("/o.checkm", c.manifest)
			}
			var change []func(*domain.Submission)
			if c.change != nil {
				change = append(change, c.change)
			}
			id := w.jobIn(domain.JobPending, domain.TypeObjectManifest, "/o.checkm", change...)
			w.turn(domain.DaemonJobPending)
			j := w.wantJob(id, c.state, c.code)
			for _, s := range c.says {
				if !strings.Contains(j.Reason.Message, s) {
					t.Errorf("%q does not say %q", j.Reason.Message, s)
				}
			}
			if c.state == domain.JobFailed {
				if j.Reason.Class != domain.ClassContent || j.Reason.Attempt != 1 || j.Reason.Worker == "" || j.LastSuccessful != "" {
					t.Errorf("job %+v with %+v", j, j.Reason)
				}
				if b := w.batch(j.Configuration.BatchID); b.State != domain.BatchReporting {
					t.Errorf("its batch is %s", b.State)
				}
			}
		})
	}
}

// The manifest that pending has seen is the one that all later steps use.
func TestManifestIsKept(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a"})
	id := w.jobIn(domain.JobEstimating, domain.TypeObjectManifest, "/o.checkm")
	w.web.serve("/o.checkm", "gone bad")
	w.walk(domain.DaemonJobEstimating, domain.DaemonJobProvisioning, domain.DaemonJobDownloading, domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobRecording, "")
	if n := w.web.count("GET /o.checkm"); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// An unreachable manifest is fetched again where the job can fail and be requeued.
func TestUnreachableManifestFailsWhereItCanBeRequeued(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobFailed, "http_status")
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a"})
	w.requeue(id)
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
}

// A manifest whose copy is lost is fetched again, and its server's outage ends no job in
// processing either.
// Shows: P18
func TestLostManifestIsFetchedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a"})
	id := w.jobIn(domain.JobProcessing, domain.TypeObjectManifest, "/o.checkm")
	if err := w.cfg.Objects.Delete(t.Context(), "manifests/"+string(w.job(id).Configuration.BatchID)+"/"+string(id)+".checkm"); err != nil {
		t.Fatal(err)
	}
	w.web.on("/o.checkm", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) })
	w.turn(domain.DaemonJobProcessing)
	if j := w.wantJob(id, domain.JobProcessing, "http_status"); j.Reason.Class != domain.ClassWait {
		t.Errorf("it waits with %+v", j.Reason)
	}
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a"})
	w.clock.Advance(time.Hour)
	w.turn(domain.DaemonJobProcessing)
	w.wantJob(id, domain.JobRecording, "")
}

func TestHeldJob(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/a.txt", "a")
	id := w.jobIn(domain.JobPending, domain.TypeFile, "/a.txt")
	w.hold(true)
	w.turn(domain.DaemonJobPending)
	w.wantJob(id, domain.JobHeld, domain.CodeCollectionHeld)
	w.hold(false)
	w.doJob(id, domain.ReleaseJob{})
	w.turn(domain.DaemonJobPending)
	w.wantJob(id, domain.JobEstimating, "")
}

func TestFaultyRowFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", "http://files.test/a | sha256 | 00"))
	id := w.jobIn(domain.JobPending, domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonJobPending)
	j := w.wantJob(id, domain.JobFailed, domain.CodeRowFault)
	if !strings.Contains(j.Reason.Message, "line 3") {
		t.Errorf("%q names no line", j.Reason.Message)
	}
}

// A job whose profile is gone waits for it, and says so once.
func TestProfileGone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/a.txt", "a")
	id := w.jobIn(domain.JobPending, domain.TypeFile, "/a.txt")
	p := w.set[tides]
	delete(w.set, tides)
	w.turn(domain.DaemonJobPending)
	w.wantJob(id, domain.JobPending, domain.CodeProfileUnknown)
	w.set[tides] = p
	w.clock.Advance(asideDelay)
	w.turn(domain.DaemonJobPending)
	w.wantJob(id, domain.JobEstimating, "")
}

// J6: sizes come from the server, else from the manifest, else they are unknown.
func TestEstimating(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/known", "12345")
	w.web.on("/chunked", func(rw http.ResponseWriter, _ *http.Request) { rw.(http.Flusher).Flush() })
	w.web.on("/nohead", func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusMethodNotAllowed) })
	// Servers of which only a GET learns the size.
	refuses := func(status int, then http.HandlerFunc) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				rw.WriteHeader(status)
				return
			}
			then(rw, r)
		}
	}
	part := func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Range", "bytes 0-0/1000")
		rw.WriteHeader(http.StatusPartialContent)
		_, _ = rw.Write([]byte("x"))
	}
	w.web.on("/signed", refuses(http.StatusForbidden, part))
	w.web.on("/ranged", refuses(http.StatusMethodNotAllowed, part))
	w.web.on("/whole", refuses(http.StatusNotImplemented, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "2000")
	}))
	w.web.on("/lengthless", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			rw.(http.Flusher).Flush()
			return
		}
		part(rw, r)
	})
	w.web.on("/moved", func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/signed", http.StatusFound) })
	w.web.on("/empty", refuses(http.StatusForbidden, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Range", "bytes */0")
		rw.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	}))
	w.web.on("/liar", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "9000000000000000000")
	})
	row := func(path string, size int) string {
		s := ""
		if size > 0 {
			s = fmt.Sprint(size)
		}
		return fmt.Sprintf("%s%s | | | %s", w.web.URL, path, s)
	}
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest",
		row("/known", 0), row("/chunked", 70), row("/nohead", 600), row("/gone", 0), row("/liar", 0),
		row("/signed", 0), row("/ranged", 0), row("/whole", 0), row("/lengthless", 0), row("/moved", 0), row("/empty", 0)))
	p := w.set[tides]
	p.Priority.LargeObject = profile.LargeObject{Bytes: 6675, Priority: 40}
	w.set[tides] = p
	id := w.jobIn(domain.JobEstimating, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobEstimating)
	j := w.wantJob(id, domain.JobProvisioning, "")
	if j.SpaceNeeded != 6675 || j.Priority != 40 || j.LastSuccessful != domain.JobEstimating {
		t.Errorf("job %+v", j)
	}
	for _, e := range w.recorded(id.Aggregate()) {
		if said, is := e.Data.(*domain.JobEstimated); is && (said.Files != 11 || said.Unknown != 2) {
			t.Errorf("%+v", said)
		}
	}
}

// Estimating never fails, also not when nothing can be had.
func TestEstimatingKnowsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.jobIn(domain.JobProvisioning, domain.TypeObjectManifest, "/o.checkm")
	if j := w.job(id); j.SpaceNeeded != 0 || j.Priority != domain.PriorityDefault {
		t.Errorf("job %+v", j)
	}
}

// A job of which some file has no known size gets the priority that its profile has for that,
// also when its files cannot be listed; without one in the profile it keeps its own.
func TestEstimatingOfUnknownSize(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/known", "12345")
	list := func(path string, files ...string) string {
		for i, f := range files {
			files[i] = w.web.URL + f
		}
		w.web.serve(path, manifestOf("mrt-ingest-manifest", files...))
		return path
	}
	some, none := list("/some.checkm", "/known", "/gone"), list("/none.checkm", "/known")
	for _, c := range []struct {
		path    string
		unknown *int
		want    int
	}{
		{some, nil, domain.PriorityDefault}, {none, new(30), domain.PriorityDefault}, {some, new(30), 30}, {"/missing.checkm", new(30), 30},
	} {
		p := w.set[tides]
		p.Priority.UnknownSize = c.unknown
		w.set[tides] = p
		if j := w.job(w.jobIn(domain.JobProvisioning, domain.TypeObjectManifest, c.path)); j.Priority != c.want {
			t.Errorf("%+v: priority %d", c, j.Priority)
		}
	}
}

// J7: a job waits while there is no space, says so once, and a smaller one passes.
func TestProvisioningWaitsForSpace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords, func(w *fixture) { w.cfg.SpaceCycle = time.Second })
	free, err := w.cfg.Work.Free()
	if err != nil {
		t.Fatal(err)
	}
	w.web.on("/large", func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", fmt.Sprint(free+1<<30)) // more than is free, less than could ever be
	})
	large := w.jobIn(domain.JobProvisioning, domain.TypeFile, "/large", func(s *domain.Submission) { s.FileName = "large" })
	for range 3 {
		w.turn(domain.DaemonJobProvisioning)
		w.clock.Advance(time.Second)
	}
	j := w.wantJob(large, domain.JobProvisioning, domain.CodeSpaceShort)
	if n := count(w.events(large.Aggregate()), domain.EventJobWaiting); n != 1 || j.Reason.Class != domain.ClassWait {
		t.Errorf("told %d times, reason %+v", n, j.Reason)
	}
	w.turn(domain.DaemonJobProvisioning) // set aside again, for a second
	w.web.serve("/small", "s")
	small := w.jobIn(domain.JobProvisioning, domain.TypeFile, "/small")
	w.turn(domain.DaemonJobProvisioning)
	w.wantJob(small, domain.JobDownloading, "")
}

// Jobs of unknown size wait while less than the reserve is free.
func TestProvisioningOfUnknownSize(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords, func(w *fixture) { w.cfg.SpaceReserve = 1 << 60 })
	id := w.jobIn(domain.JobProvisioning, domain.TypeFile, "/gone")
	w.turn(domain.DaemonJobProvisioning)
	if j := w.wantJob(id, domain.JobProvisioning, domain.CodeSpaceShort); !strings.Contains(j.Reason.Message, "unknown") {
		t.Errorf("%q", j.Reason.Message)
	}
}
