package daemon

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/payload"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// J9: each way in which a download fails, with the name of the file.
func TestDownloadFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row   string // of the manifest; %s is the server
		page  http.HandlerFunc
		class domain.Class
		code  domain.Code
		says  string
	}{
		"not there":    {"%s/f.txt?token=secret", nil, domain.ClassContent, "http_status", "404"},
		"wrong digest": {"%s/f.txt | sha-256 | " + strings.Repeat("0", 64), text("f"), domain.ClassContent, domain.CodeDigestMismatch, hexOf("f")},
		"wrong size":   {"%s/f.txt | | | 2", text("f"), domain.ClassContent, reason.CodeSizeMismatch, "announces 1 bytes, the deposit says 2"},
		"closed":       {"http://169.254.169.254/f.txt", nil, domain.ClassContent, "address_refused", "f.txt"},
		"cut off": {"%s/f.txt", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "f")
		}, domain.ClassContent, "unreachable", "broke"},
		"too large": {"%s/f.txt", text(strings.Repeat("f", 2000)), domain.ClassContent, "too_large", "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords)
			p := w.set[tides]
			p.Limits.MaxFileBytes = 1000
			w.set[tides] = p
			if c.page != nil {
				w.web.on("/f.txt", c.page)
			}
			if strings.Contains(c.row, "%s") {
				c.row = fmt.Sprintf(c.row, w.web.URL)
			}
			w.web.serve("/good.txt", "good")
			w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/good.txt", c.row))
			id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
			w.untilMoved(id, domain.DaemonJobDownloading)
			j := w.wantJob(id, domain.JobFailed, c.code)
			if j.Reason.Class != c.class || !strings.HasPrefix(j.Reason.Message, "f.txt: ") || !strings.Contains(j.Reason.Message, c.says) ||
				strings.Contains(j.Reason.Message, "secret") || j.LastSuccessful != domain.JobProvisioning {
				t.Errorf("job %+v with %+v", j, j.Reason)
			}
			host := fetch.Host(strings.Fields(c.row)[0])
			if f := w.fileStatesOf(id)["f.txt"]; j.Reason.Host != host || f.Reason == nil || f.Reason.Host != host {
				t.Errorf("%q is named in the reasons %+v and %+v", host, j.Reason, f.Reason)
			}
		})
	}
}

// What may pass is tried again, as often as the profile says.
// Shows: P18
func TestDownloadIsTriedAgain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	var n atomic.Int32
	w.web.on("/f.txt", func(rw http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && n.Add(1) == 1 {
			rw.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(rw, "f")
	})
	id := w.jobIn(domain.JobProcessing, domain.TypeFile, "/f.txt")
	if j := w.job(id); n.Load() != 2 || j.SpaceNeeded != 1 || j.LastSuccessful != domain.JobDownloading {
		t.Errorf("%d requests, job %+v", n.Load(), j)
	}
}

// TestOurNetworkUsesNothingUp: an attempt at a file or a callback that this machine could
// not make is given back; one that the network did not carry counts.
// Shows: P18
func TestOurNetworkUsesNothingUp(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.aJobIn(domain.JobDownloading)
	for _, ours := range []bool{true, false} {
		task := &JobTask{task: task{Log: w.cfg.Log, actor: "daemon/test", trace: eventstore.NewTrace()}, Job: w.job(id), Profile: w.set[tides], tries: w.r.tries}
		fs, err := w.r.steps.discovered(t.Context(), task, []payload.File{{Name: "a.txt", URL: w.web.URL + "/a.txt"}})
		if err != nil {
			t.Fatal(err)
		}
		d := download{fileStates: fs}
		end, _ := d.failed(0, &fetch.Error{Code: fetch.CodeUnreachable, Class: domain.ClassSystem, Temporary: true, Ours: ours}).(domain.FailDownload)
		if end.Uncounted != ours || (d.own != nil) != ours {
			t.Errorf("ours: %t: %+v, and the step has the error %v", ours, end, d.own)
		}
		if uncounted(reason.Of(&fetch.Error{Class: domain.ClassSystem, URL: w.web.URL}, "")) || !uncounted(reason.Of(&store.Error{Code: store.CodeDiskFull}, "")) {
			t.Error("another process need not pause before it asks the server, or must before it writes to the disk")
		}
		task.Profile.Fetch.Attempts = 1
		failure := &fetch.Error{Code: fetch.CodeUnreachable, Class: domain.ClassSystem, Temporary: true, Ours: ours}
		if out := task.callbackFailed(failure, domain.StoredObject{}); (out.verb == verbTrouble) != ours || task.more(failure) != ours {
			t.Errorf("ours: %t: a callback that fails is %+v", ours, out)
		}
	}
}

// After a requeue only the bad file is fetched again, and a file of the earlier
// attempt that was damaged meanwhile.
func TestGoodFilesAreNotFetchedTwice(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.objectManifest("/o.checkm", map[string]string{"good.txt": "good", "damaged.txt": "damaged", "bad.txt": "bad"})
	w.web.serve("/bad.txt", "BAD")
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobFailed, domain.CodeDigestMismatch)

	if err := os.WriteFile(filepath.Join(j.Configuration.WorkingDir, "files", "damaged.txt"), []byte("DAMAGED"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.web.serve("/bad.txt", "bad")
	w.requeue(id)
	w.turn(domain.DaemonJobDownloading)
	j = w.wantJob(id, domain.JobProcessing, "")
	if j.SpaceNeeded != int64(len("good")+len("damaged")+len("bad")) || j.RetryCount != 1 {
		t.Errorf("job %+v", j)
	}
	for path, want := range map[string]int{"/good.txt": 1, "/damaged.txt": 2, "/bad.txt": 2} {
		if n := w.web.count("GET " + path); n != want {
			t.Errorf("%s was fetched %d times, want %d", path, n, want)
		}
	}
	got, err := os.ReadFile(filepath.Join(j.Configuration.WorkingDir, "files", "damaged.txt"))
	if err != nil || string(got) != "damaged" {
		t.Errorf("%q, %v", got, err)
	}
}

// A worker that died after its files were put into place leaves the next one
// nothing to fetch.
func TestFilesOfADeadWorkerAreUsed(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.objectManifest("/o.checkm", map[string]string{"a.txt": "a", "b.txt": "b"})
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	d := daemonNamed(domain.DaemonJobDownloading)
	step := d.jobStep
	d.jobStep = func(s *steps, ctx context.Context, t *JobTask) Outcome {
		out := step(s, ctx, t)
		w.mem.Expire(w.store)
		return out
	}
	w.turnOf(d)
	j := w.wantJob(id, domain.JobDownloading, "")
	stat := func() os.FileInfo {
		t.Helper()
		info, err := os.Stat(filepath.Join(j.Configuration.WorkingDir, "files", "a.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	before := stat()
	w.turn(domain.DaemonJobDownloading)
	w.wantJob(id, domain.JobProcessing, "")
	if n := w.web.count("GET /a.txt"); n != 1 || !os.SameFile(before, stat()) {
		t.Errorf("fetched %d times, the same file %v", n, os.SameFile(before, stat()))
	}
}

// A payload that was uploaded comes out of the object store.
func TestUploadIsDeposited(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	url, blob, err := w.cfg.Objects.KeepUpload(t.Context(), "tide.csv", strings.NewReader("1,2\n"))
	if err != nil {
		t.Fatal(err)
	}
	id := w.jobIn(domain.JobRecording, domain.TypeFile, "", func(s *domain.Submission) {
		s.PayloadURL, s.DigestAlgorithm, s.DigestValue = url, "sha256", blob.SHA256
	})
	if j := w.job(id); j.SpaceNeeded != 4 {
		t.Errorf("job %+v", j)
	}
}

// A worker that lost its claim puts nothing into place, although it has some of the
// files.
func TestLostClaimPutsNothingIntoPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	p := w.set[tides]
	p.Fetch.Parallel = 1
	w.set[tides] = p
	w.web.serve("/a.txt", "a")
	w.web.on("/b.txt", unlessHead(func(_ http.ResponseWriter, r *http.Request) {
		w.mem.Expire(w.store)
		<-r.Context().Done()
	}))
	w.web.serve("/o.checkm", manifestOf("mrt-ingest-manifest", w.web.URL+"/a.txt", w.web.URL+"/b.txt"))
	id := w.jobIn(domain.JobDownloading, domain.TypeObjectManifest, "/o.checkm")
	w.turn(domain.DaemonJobDownloading)
	j := w.wantJob(id, domain.JobDownloading, "")
	if _, err := os.Stat(filepath.Join(j.Configuration.WorkingDir, "files")); !os.IsNotExist(err) || w.web.count("GET /a.txt") != 1 {
		t.Errorf("files are in place after %d requests: %v", w.web.count("GET /a.txt"), err)
	}
}
