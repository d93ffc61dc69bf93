package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/accession-ingest/accession/cmd/internal/daemon/report"
	"github.com/accession-ingest/accession/cmd/internal/profile"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// mixed deposits a batch of one good file, one with a wrong digest and one faulty
// row, and lets all its jobs come to rest.
func (w *fixture) mixed() (domain.BatchID, domain.JobID) {
	w.Helper()
	w.web.serve("/good.txt", "good")
	w.web.serve("/bad.txt", "BAD")
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest",
		w.web.URL+"/good.txt", fmt.Sprintf("%s/bad.txt | sha256 | %s", w.web.URL, hexOf("bad")), "gopher://files.test/x | | | | | named.txt"))
	id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonBatchPending)
	for _, c := range []struct {
		daemon string
		jobs   int
	}{{domain.DaemonJobPending, 3}, {domain.DaemonJobEstimating, 2}, {domain.DaemonJobProvisioning, 2}, {domain.DaemonJobDownloading, 2},
		{domain.DaemonJobProcessing, 1}, {domain.DaemonJobRecording, 1}, {domain.DaemonJobNotify, 1}} {
		for range c.jobs {
			w.turn(c.daemon)
		}
	}
	return id, w.batch(id).Listing.FirstJID
}

// What of a manifest was not taken as it is written is told: in the events, the report and
// the mail.
func TestWarningsAreReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	w.web.serve("/a.txt", "a")
	w.web.serve("/o.checkm", strings.Replace(manifestOf("mrt-ingest-manifest", w.web.URL+"/a.txt | | | | | a.txt | not a type"), "\n", "\n#%columns | x\n", 1))
	w.web.serve("/b.checkm", strings.ReplaceAll(manifestOf("mrt-batch-manifest", w.web.URL+"/o.checkm | | | | | o.checkm | | one;two;one | me | a\u202eb"), "\n", "\r"))
	id := w.submit(domain.TypeBatchManifest, "/b.checkm")
	w.turn(domain.DaemonBatchPending)
	w.walk(upTo(domain.JobCompleted)...)
	w.turn(domain.DaemonBatchReporting)
	job := w.batch(id).Listing.FirstJID
	r, j := w.report(id), w.job(job)
	want := []string{"line 3: the cell mrt:title held characters", "line 1: lines from this one on end in CR alone"}
	wantJob := []string{"line 2: #%columns is not known", `line 4: "not a type" is no media type`}
	has := func(got, want []string) bool {
		return slices.EqualFunc(got, want, strings.HasPrefix)
	}
	if w.batch(id).State != domain.BatchCompleted || !has(r.Warnings, want) || len(r.Jobs) != 1 || !has(r.Jobs[0].Warnings, wantJob) {
		t.Errorf("batch is %s, warnings %q, jobs %+v", w.batch(id).State, r.Warnings, r.Jobs)
	}
	if !slices.Equal(j.Identifiers.LocalID, []string{"one", "two"}) || j.Metadata.ErcWhat != "ab" {
		t.Errorf("job %+v, %+v", j.Identifiers, j.Metadata)
	}
	for _, e := range append(w.recorded(id.Aggregate()), w.recorded(job.Aggregate())...) {
		switch d := e.Data.(type) {
		case *domain.BatchListed:
			if !has(d.Warnings, want) {
				t.Errorf("the event of the batch warns of %q", d.Warnings)
			}
		case *domain.JobAccepted:
			if !has(d.Warnings, wantJob) {
				t.Errorf("the event of the job warns of %q", d.Warnings)
			}
		}
	}
	if n := len(w.mail.mails); n != 1 || !strings.Contains(w.mail.mails[0].Text, "end in CR alone") || !strings.Contains(w.mail.mails[0].Text, "#%columns is not known") {
		t.Errorf("mails %+v", w.mail.mails)
	}
	m, err := w.cfg.Objects.VerifyVersion(t.Context(), j.Identifiers.Primary, 1)
	if err != nil || m.Files[0].MimeType != "application/octet-stream" {
		t.Errorf("%+v, %v", m.Files, err)
	}
}

// B5, B7, B8, B9: a failed batch, mended, is reported a second time.
func TestReportAndUpdate(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	id, first := w.mixed()
	if b := w.batch(id); b.State != domain.BatchReporting {
		t.Fatalf("batch is %s", b.State)
	}
	w.turn(domain.DaemonBatchReporting)
	b, r := w.batch(id), w.report(id)
	if b.State != domain.BatchFailed || !slices.Equal(b.Report.SuccessfulJobs, []domain.JobID{first}) ||
		!slices.Equal(b.Report.FailedJobs, []domain.JobID{first.Plus(1), first.Plus(2)}) {
		t.Fatalf("batch %s, report %+v", b.State, b.Report)
	}
	if r.Kind != "report" || r.Listed != 3 || r.Completed != 1 || r.Failed != 2 || r.Deleted != 0 || len(r.Jobs) != 3 ||
		r.Jobs[1].Name != "bad.txt" || r.Jobs[1].Reason.Code != domain.CodeDigestMismatch || r.Jobs[2].Name != "named.txt" || r.Jobs[2].Reason.Code != domain.CodeRowFault {
		t.Errorf("whole report %+v", r)
	}

	w.web.serve("/bad.txt", "bad")
	w.doJob(first.Plus(1), domain.RequeueJob{})
	w.walk(domain.DaemonJobDownloading, domain.DaemonJobProcessing, domain.DaemonJobRecording, domain.DaemonJobNotify)
	w.doJob(first.Plus(2), domain.DeleteJob{Reason: &domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "listed by mistake"}})
	w.doBatch(id, domain.RequestUpdate{})
	w.turn(domain.DaemonBatchUpdateReporting)
	b, r = w.batch(id), w.report(id)
	if b.State != domain.BatchCompleted || !slices.Equal(b.Report.NewlySuccessfulJobs, []domain.JobID{first.Plus(1)}) || len(b.Report.UnresolvedJobs) != 0 {
		t.Errorf("batch %s, report %+v", b.State, b.Report)
	}
	if r.Kind != "update-report" || r.Listed != 3 || r.Completed != 2 || r.Deleted != 1 || len(r.Unexplained) != 0 || len(r.Jobs) != 3 || r.Jobs[0].New || !r.Jobs[1].New ||
		r.Jobs[2].State != domain.JobDeleted || r.Jobs[2].Name != "named.txt" || r.Jobs[2].Reason.Message != "listed by mistake" {
		t.Errorf("whole report %+v", r)
	}
	if mail := w.mail.mails[1].Text; !strings.Contains(mail, "Listed 3, completed 2, failed 0, deleted 1.") || !strings.Contains(mail, "Deleted\n  "+string(first.Plus(2))+"  named.txt\n    asked: listed by mistake") {
		t.Errorf("the mail does not name what was deleted:\n%s", mail)
	}
	if len(w.mail.mails) != 2 || w.mail.mails[0].Key == w.mail.mails[1].Key ||
		!strings.Contains(w.mail.mails[0].Text, "bad.txt") || !strings.Contains(w.mail.mails[0].Text, "digest_mismatch") {
		t.Errorf("mails %+v", w.mail.mails)
	}
	if n := count(w.events(id.Aggregate()), domain.EventBatchReported); n != 2 {
		t.Errorf("%d events tell of mails", n)
	}
}

// B10: what stays failed is reported as failed again.
func TestUpdateOfNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	id, first := w.mixed()
	w.turn(domain.DaemonBatchReporting)
	w.doBatch(id, domain.RequestUpdate{})
	w.turn(domain.DaemonBatchUpdateReporting)
	if b := w.batch(id); b.State != domain.BatchFailed || !slices.Equal(b.Report.UnresolvedJobs, []domain.JobID{first.Plus(1), first.Plus(2)}) {
		t.Errorf("batch %s, report %+v", b.State, b.Report)
	}
}

// A report that is made again, because its worker died before it was written, is
// one mail.
// Shows: P6
func TestOneMailAReport(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	id, _ := w.mixed()
	d := daemonNamed(domain.DaemonBatchReporting)
	step := d.batchStep
	d.batchStep = func(s *steps, ctx context.Context, t *BatchTask) Outcome {
		defer w.mem.Expire(w.store)
		return step(s, ctx, t)
	}
	w.turnOf(d)
	w.doBatch(id, domain.NoteDelivery{Channel: "mail", About: "queued", Delivery: "x", Delivered: true})
	if b := w.batch(id); b.State != domain.BatchReporting || len(w.mail.mails) != 1 {
		t.Fatalf("batch is %s after %d mails", b.State, len(w.mail.mails))
	}
	w.turn(domain.DaemonBatchReporting)
	if b := w.batch(id); b.State != domain.BatchFailed || len(w.mail.mails) != 1 {
		t.Errorf("batch is %s after %d mails", b.State, len(w.mail.mails))
	}
}

// A mail that cannot be sent is noted, and stops nothing.
func TestMailFails(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport, profile.MailQueued)
	w.mail.fails = true
	id, _ := w.mixed()
	w.turn(domain.DaemonBatchReporting)
	if b := w.batch(id); b.State != domain.BatchFailed || count(w.events(id.Aggregate()), domain.EventBatchReported) != 2 {
		t.Errorf("batch is %s with the events %v", b.State, w.events(id.Aggregate()))
	}
}

// The report of a large batch is cut in ZooKeeper and whole in the object store, and
// the update after it knows the whole.
func TestLongReport(t *testing.T) {
	t.Parallel()
	const rows = domain.ReportListLimit + 10
	w := newFixture(t, noRecords)
	lines := make([]string, rows)
	for i := range lines {
		lines[i] = "gopher://files.test/x"
	}
	w.web.serve("/f.checkm", manifestOf("mrt-single-file-batch-manifest", lines...))
	id := w.submit(domain.TypeFileBatchManifest, "/f.checkm")
	w.turn(domain.DaemonBatchPending)
	for range rows {
		w.turn(domain.DaemonJobPending)
	}
	w.turn(domain.DaemonBatchReporting)
	b := w.batch(id)
	if b.Report == nil || !b.Report.Truncated || b.Report.Failed != rows || len(b.Report.FailedJobs) >= rows || b.State != domain.BatchFailed {
		t.Fatalf("batch is %s, report %+v", b.State, b.Report)
	}
	if r := w.report(id); len(r.Jobs) != rows || r.Failed != rows {
		t.Errorf("the whole report has %d jobs", len(r.Jobs))
	}
	w.doBatch(id, domain.RequestUpdate{})
	w.turn(domain.DaemonBatchUpdateReporting)
	if b := w.batch(id); b.State != domain.BatchFailed || b.Report.Failed != rows {
		t.Errorf("batch is %s, report of %d", b.State, b.Report.Failed)
	}
}

// A report that was cut is read in full before the next one is compared with it,
// and only if it is the one that was kept.
func TestPreviousReportInFull(t *testing.T) {
	t.Parallel()
	w := newFixture(t, noRecords)
	a, b, c := domain.NewJobID(1), domain.NewJobID(2), domain.NewJobID(3)
	data, err := json.Marshal(report.Body{Jobs: []report.Job{{ID: a, State: domain.JobCompleted}, {ID: b, State: domain.JobFailed}, {ID: c, State: domain.JobCompleted}}})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := w.cfg.Objects.Put(t.Context(), "reports/x.json", bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	cut := domain.NewReport([]domain.JobID{a, c}, []domain.JobID{b}, nil, domain.Time{}).Cut(store.URL(kept.Key), kept.SHA256)
	cut.SuccessfulJobs = nil
	prev, err := report.Previous(t.Context(), w.r.steps.Read, domain.Batch{Report: &cut})
	if err != nil || !slices.Equal(prev.SuccessfulJobs, []domain.JobID{a, c}) {
		t.Errorf("%v, %v", prev.SuccessfulJobs, err)
	}
	cut.ReportSHA256 = hexOf("another")
	if _, err := report.Previous(t.Context(), w.r.steps.Read, domain.Batch{Report: &cut}); err == nil {
		t.Error("another report was taken for it")
	}
}

// A job that adds a version to an object that was there says so in the report and in the
// mail; the one that made the object does not.
func TestReportNamesAddedVersions(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.wantMails(profile.MailReport)
	for n := 1; n <= 3; n++ {
		path := fmt.Sprintf("/%d.txt", n)
		w.web.serve(path, path)
		w.web.serve(path+".checkm", manifestOf("mrt-single-file-batch-manifest", w.web.URL+path+" | | | | | | | tide-1"))
		id := w.submit(domain.TypeFileBatchManifest, path+".checkm")
		w.turn(domain.DaemonBatchPending)
		w.walk(upTo(domain.JobCompleted)...)
		w.turn(domain.DaemonBatchReporting)
		want, says := n, fmt.Sprintf("version %d of ark:/99999/fk4", n)
		if n == 1 {
			want = 0
		}
		if r := w.report(id); len(r.Jobs) != 1 || r.Jobs[0].Version != want {
			t.Errorf("deposit %d: %+v, want version %d", n, r.Jobs, want)
		}
		if mail := w.mail.mails[len(w.mail.mails)-1].Text; strings.Contains(mail, says) != (n > 1) {
			t.Errorf("deposit %d: the mail is\n%s", n, mail)
		}
	}
}
