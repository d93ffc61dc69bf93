package daemon

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/accession-ingest/accession/cmd/internal/daemon/limits"
	"github.com/accession-ingest/accession/cmd/internal/daemon/reason"
	"github.com/accession-ingest/accession/cmd/internal/fetch"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/eventstore"
)

// A batch whose manifest is bad gets no job and is reported as failed, with the
// error in the report.
func TestBadBatchManifestIsReported(t *testing.T) {
	t.Parallel()
	good := manifestOf("mrt-batch-manifest", "http://files.test/o.checkm")
	for name, c := range map[string]struct {
		page   http.HandlerFunc
		change func(*domain.Submission)
		code   domain.Code
		says   string
	}{
		"not there":         {nil, nil, "http_status", "404"},
		"unknown profile":   {text(good), func(s *domain.Submission) { s.ProfileName = "nobody" }, domain.CodeProfileUnknown, "nobody"},
		"no manifest":       {text("hello\n"), nil, domain.CodeManifestInvalid, "line 1"},
		"cut off":           {text(strings.TrimSuffix(good, "#%eof\n")), nil, domain.CodeManifestInvalid, "#%eof"},
		"no rows":           {text(manifestOf("mrt-batch-manifest")), nil, domain.CodeManifestInvalid, ""},
		"another profile":   {text(manifestOf("mrt-ingest-manifest", "http://files.test/o")), nil, domain.CodeManifestInvalid, "object_manifest"},
		"wrong digest":      {text(good), func(s *domain.Submission) { s.DigestAlgorithm, s.DigestValue = "SHA-256", hexOf("other") }, domain.CodeDigestMismatch, hexOf(good)},
		"unknown algorithm": {text(good), func(s *domain.Submission) { s.DigestAlgorithm, s.DigestValue = "rot13", "00" }, domain.CodeRowFault, "rot13"},
		"wrong size":        {text(good), func(s *domain.Submission) { s.Size = 7 }, reason.CodeSizeMismatch, "7"},
		"closed address":    {text(good), func(s *domain.Submission) { s.PayloadURL = "http://169.254.169.254/m?token=secret" }, "address_refused", "169.254"},
		"user in the URL": {nil, func(s *domain.Submission) {
			s.PayloadURL = strings.Replace(s.PayloadURL, "http://", "http://anna:secret@", 1)
		}, fetch.CodeBadURL, "user name or password"},
		"lost upload": {text(good), func(s *domain.Submission) { s.PayloadURL = "store:///uploads/aa/bb/x" }, reason.CodeUploadMissing, "upload"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			records := []func(*fixture){noRecords}
			if c.code == domain.CodeProfileUnknown {
				records = nil // they have the mail that cannot be sent
			}
			w := newFixture(t, records...)
			if c.page != nil {
				w.web.on("/b.checkm", c.page)
			}
			id := w.submit(domain.TypeBatchManifest, "/b.checkm", func(s *domain.Submission) {
				if c.change != nil {
					c.change(s)
				}
			})
			w.turn(domain.DaemonBatchPending)
			b := w.batch(id)
			if b.State != domain.BatchReporting || b.Listing != nil || b.Reason == nil || b.Reason.Code != c.code || !strings.Contains(b.Reason.Message, c.says) {
				t.Fatalf("batch is %s, listed %v, with %+v; want reporting with %s: …%s…\n%s", b.State, b.Listing, b.Reason, c.code, c.says, w.log)
			}
			if strings.Contains(b.Reason.Message+b.Reason.Host, "secret") {
				t.Errorf("a query or password is shown: %+v", b.Reason)
			}
			if (c.code == "http_status" || c.code == fetch.CodeBadURL) && "http://"+b.Reason.Host != w.web.URL {
				t.Errorf("the reason %+v is about %s", b.Reason, w.web.URL)
			}
			w.turn(domain.DaemonBatchReporting)
			if r := w.report(id); w.batch(id).State != domain.BatchFailed || r.Problem == nil || r.Problem.Code != c.code {
				t.Errorf("batch is %s, report %+v", w.batch(id).State, r)
			}
		})
	}
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(s)) }
}

// B2, B4: a batch whose collection is on hold waits before anything is fetched.
func TestHeldBatch(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/b.checkm", manifestOf("mrt-batch-manifest", w.web.URL+"/o.checkm"))
	id := w.submit(domain.TypeBatchManifest, "/b.checkm")
	w.hold(true)
	w.turn(domain.DaemonBatchPending)
	if b := w.batch(id); b.State != domain.BatchHeld || b.Reason.Code != domain.CodeCollectionHeld || w.web.count("GET /b.checkm") != 0 {
		t.Fatalf("batch is %s with %+v after %d requests", b.State, b.Reason, w.web.count("GET /b.checkm"))
	}
	w.hold(false)
	w.doBatch(id, domain.ReleaseBatch{})
	w.turn(domain.DaemonBatchPending)
	if b := w.batch(id); b.State != domain.BatchProcessing || b.Listing.Rows != 1 {
		t.Fatalf("batch is %+v", b)
	}
}

// One job a row, each with what its row says; a faulty row becomes a job as well.
func TestRowsBecomeJobs(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest",
		"http://files.test/a.txt | md5 | 0cc175b9c0f1b6a831c399e269772661 | 1 | 1923-05-06 | b.txt | ark:/99999/fk4x | l1;l2 | Ana | Tides | 1923",
		"http://files.test/c%20d.txt",
		"ftp://files.test/e.txt | | | | | | | l3 | Ben",
		"http://files.test/g.txt | | | many",
		"http://files.test/h.txt | | | | | | | | | "+strings.Repeat("x", 9<<10)))
	id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonBatchPending)
	b := w.batch(id)
	if b.State != domain.BatchProcessing || b.Listing.Rows != 5 || b.Listing.ManifestURL == "" {
		t.Fatalf("batch %+v %+v\n%s", b, b.Listing, w.log)
	}
	job := func(i int) domain.Job { return w.job(b.Listing.FirstJID.Plus(i)) }
	j := job(0)
	want := domain.Configuration{BatchID: id, ProfileName: tides, Submitter: "ana", PayloadURL: "http://files.test/a.txt", PayloadType: domain.TypeFile,
		ResponseType: "json", SubmissionMode: "add", WorkingDir: w.cfg.Work.Path(id, j.ID), DigestAlgorithm: "md5",
		DigestValue: "0cc175b9c0f1b6a831c399e269772661", FileName: "b.txt", Size: 1, FileModified: domain.At(time.Date(1923, 5, 6, 0, 0, 0, 0, time.UTC)), Host: "files.test"}
	keys := []domain.ObjectKey{domain.KeyOfPrimary(tides, "ark:/99999/fk4x"), domain.KeyOfLocalID("Harbour Office", tides, "l1"), domain.KeyOfLocalID("Harbour Office", tides, "l2")}
	want.ObjectKey = string(keys[0])
	if !slices.Equal(j.Identifiers.ObjectKeys, keys) || len(job(2).Identifiers.ObjectKeys) > 0 {
		t.Errorf("the keys of job 0 are %v, of the faulty row %v", j.Identifiers.ObjectKeys, job(2).Identifiers.ObjectKeys)
	}
	if j.Configuration != want || j.Priority != domain.PriorityDefault || j.Identifiers.Primary != "ark:/99999/fk4x" ||
		!slices.Equal(j.Identifiers.LocalID, []string{"l1", "l2"}) || j.Metadata != (domain.Metadata{ErcWho: "Ana", ErcWhat: "Tides", ErcWhen: "1923"}) {
		t.Errorf("job 0 is %+v", j)
	}
	if j := job(1); j.Configuration.FileName != "c d.txt" || j.Configuration.Row != 1 || j.Metadata.ErcWhat != "Tide tables" || j.Configuration.RowFault != nil {
		t.Errorf("job 1 is %+v", j)
	}
	for i, says := range map[int]string{2: "line 5", 3: "line 6", 4: "shorten"} {
		j := job(i)
		if f := j.Configuration.RowFault; f == nil || f.Code != domain.CodeRowFault || f.Class != domain.ClassContent || !strings.Contains(f.Message, says) {
			t.Errorf("job %d has the fault %+v, want …%s…", i, f, says)
		}
	}
	if j := job(2); j.Metadata.ErcWho != "Ben" || j.Identifiers.LocalID[0] != "l3" {
		t.Errorf("a faulty row lost what it says: %+v", j)
	}
}

// A job says the name under which its payload will be kept, also when only the URL
// names it.
func TestJobIsNamedAsItsPayload(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	id := w.submit(domain.TypeFile, "/a/tide%20table.csv", func(s *domain.Submission) { s.FileName = "" })
	w.turn(domain.DaemonBatchPending)
	if j := w.job(w.batch(id).Listing.FirstJID); j.Configuration.FileName != "tide table.csv" {
		t.Errorf("the job's file is named %q", j.Configuration.FileName)
	}
}

// cutter ends the session of a store after each write of jobs, or loses its
// answer.
type cutter struct {
	*fixture
	eventstore.Live
	lose  bool
	every int // writes of jobs until it strikes
	n     int
}

func (c *cutter) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	done, err := c.Live.Commit(ctx, changes...)
	if changes[0].NextRow == nil || err != nil {
		return done, err
	}
	if c.n++; c.n%c.every != 0 {
		return done, nil
	}
	if c.lose {
		return nil, eventstore.ErrUnknown
	}
	c.mem.Expire(c.store)
	return done, nil
}

// However often the making of jobs is cut off, each row has exactly one job, and
// the manifest is fetched once.
func TestJobCreationIsResumed(t *testing.T) {
	t.Parallel()
	const rows = 3*eventstore.MaxJobsPerCommit + 7
	for name, cut := range map[string]cutter{
		"session lost after each write":        {every: 1},
		"session lost after each second write": {every: 2},
		"answer lost after each write":         {every: 1, lose: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, noRecords, func(w *fixture) {
				c := cut
				c.fixture, c.Live = w, w.h.Live
				w.h.Live = &c
			})
			lines := make([]string, rows)
			for i := range lines {
				lines[i] = "http://files.test/same.txt" // rows are not known by their URLs
			}
			w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", lines...))
			id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
			for turns := 0; w.batch(id).State == domain.BatchPending; turns++ {
				if turns > 10 {
					t.Fatalf("still pending after %d turns: %+v\n%s", turns, w.batch(id), w.log)
				}
				w.turn(domain.DaemonBatchPending)
				w.clock.Advance(limits.MaxOurs)
			}
			b := w.batch(id)
			jobs, err := w.store.BatchJobs(t.Context(), id, domain.SubProcessing)
			if err != nil || len(jobs) != rows || b.NextRow != rows || b.State != domain.BatchProcessing {
				t.Fatalf("%d jobs, batch %+v, %v", len(jobs), b, err)
			}
			for i, jid := range jobs {
				if jid != b.Listing.FirstJID.Plus(i) || w.job(jid).Configuration.Row != i {
					t.Fatalf("place %d has %s of row %d", i, jid, w.job(jid).Configuration.Row)
				}
			}
			if n := w.web.count("GET /f.checkm"); n != 1 {
				t.Errorf("the manifest was fetched %d times", n)
			}
		})
	}
}

// Large rows do not make a write too large.
func TestWritesOfJobsAreBounded(t *testing.T) {
	t.Parallel()
	seen := 0
	w := newFixture(t, noRecords, func(w *fixture) {
		w.h.Live = &watcher{Live: w.h.Live, see: func(changes []eventstore.Change) {
			size := 0
			for _, c := range changes {
				if c.Job != nil {
					seen++
					size += 2 * len(fmt.Sprintf("%+v", c.Job.To.Configuration))
				}
			}
			if size > maxCommitBytes {
				t.Errorf("a write of %d jobs holds about %d bytes", len(changes), size)
			}
		}}
	})
	lines := make([]string, 150)
	for i := range lines {
		lines[i] = "http://files.test/" + strings.Repeat("u", 3000)
	}
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", lines...))
	w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonBatchPending)
	if seen != len(lines) {
		t.Errorf("%d jobs were made", seen)
	}
}

// watcher looks at each write.
type watcher struct {
	eventstore.Live
	see func([]eventstore.Change)
}

func (l *watcher) Commit(ctx context.Context, changes ...eventstore.Change) ([]eventstore.Committed, error) {
	l.see(changes)
	return l.Live.Commit(ctx, changes...)
}

// Large batches are less urgent.
func TestLargeBatchesAreLessUrgent(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	p := w.set[tides]
	p.Priority.LargeBatch = profile.LargeBatch{Jobs: 2, Priority: 30}
	w.set[tides] = p
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", "http://files.test/a", "http://files.test/b"))
	id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonBatchPending)
	if j := w.job(w.batch(id).Listing.FirstJID); j.Priority != 30 {
		t.Errorf("priority %d", j.Priority)
	}
}

// The depositor is told once that the batch was accepted.
func TestQueuedMail(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailQueued)
	w.web.serve("/a.txt", "a")
	id := w.submit(domain.TypeFile, "/a.txt")
	w.turn(domain.DaemonBatchPending)
	if len(w.mail.mails) != 1 || w.mail.mails[0].Key != string(id)+"/queued" || w.mail.mails[0].Date.IsZero() {
		t.Errorf("mails %+v", w.mail.mails)
	}
	if n := count(w.events(id.Aggregate()), domain.EventBatchReported); n != 1 {
		t.Errorf("%d events tell of the mail", n)
	}
}

func (w *fixture) wantMails(kinds ...profile.Mail) {
	p := w.set[tides]
	p.Notify = profile.Notify{From: "ingest@harbour.test", To: []string{"ana@harbour.test"}, On: kinds}
	w.set[tides] = p
}
