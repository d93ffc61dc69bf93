package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/cmd/internal/app"
	"github.com/accession-ingest/accession/cmd/internal/store"
	"github.com/accession-ingest/accession/domain"
)

// batchOfFiles is a manifest of single files on one host.
func batchOfFiles(host string, names ...string) string {
	var b strings.Builder
	b.WriteString("#%checkm_0.7\n#%profile | http://uc3.cdlib.org/registry/ingest/manifest/mrt-single-file-batch-manifest\n" +
		"#%prefix | mrt: | http://merritt.cdlib.org/terms#\n#%prefix | nfo: | http://www.semanticdesktop.org/ontologies/2007/03/22/nfo#\n" +
		"#%fields | nfo:fileUrl | nfo:hashAlgorithm | nfo:hashValue | nfo:fileSize | nfo:fileLastModified | nfo:fileName\n")
	for _, name := range names {
		b.WriteString("http://" + host + "/" + name + "\n")
	}
	return b.String() + "#%eof\n"
}

// mends serves a batch of four files, and more: the first is good, the second and
// third are lost until mended is set, the others always are.
func mends(t *testing.T, more ...string) (base string, mended *atomic.Bool) {
	t.Helper()
	mended = &atomic.Bool{}
	base = webServer(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/batch.checkm":
			_, _ = io.WriteString(rw, batchOfFiles(r.Host, append([]string{"1-good.txt", "2-lost.txt", "3-lost.txt", "4-gone.txt"}, more...)...))
		case strings.Contains(r.URL.Path, "gone"), strings.Contains(r.URL.Path, "lost") && !mended.Load():
			http.Error(rw, "lost", http.StatusNotFound)
		default:
			_, _ = io.WriteString(rw, r.URL.Path)
		}
	}))
	return base, mended
}

// told is what one way of reporting says of a batch: ids of jobs.
type told struct{ Newly, Unresolved, Successful []string }

// An update report says the same by mail, in the tables, in the status-report and
// in the whole report: what succeeded since the report before, and what did not.
func TestUpdateReportIsTheSameEverywhere(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base, mended := mends(t, "5-gone.txt")
	in.serveInProcess()
	id := in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	v := in.rest(id)
	if v.Status != "failed" || v.JobsFailed != 4 || v.JobsCompleted != 1 {
		t.Fatalf("%+v", v.BatchSummary)
	}
	in.reported(id, in.mails(id)[0])
	job := func(i int) string { return v.Jobs[i].ID }
	in.says(0, []string{"job", "delete", job(4), "--yes", "--reason", "listed by mistake"}, "is deleted now, was failed (J21)")
	mended.Store(true)
	in.says(3, words("job requeue "+job(0)), "is completed: requeue is not possible")
	in.says(0, []string{"job", "requeue", job(1), job(2), job(3), "--reason", "found again"}, job(1)+" is downloading now, was failed (J16)")
	in.seen(3, domain.EventJobCompleted)
	in.seen(5, domain.EventJobFailed)
	in.says(0, words("batch update-report "+string(id)+" --dry-run"), "would go from failed to update-reporting (B8)", "3 completed and 1 unresolved jobs")
	in.says(0, []string{"batch", "update-report", string(id), "--reason", "two were found"}, "is update-reporting now, was failed (B8)")
	for _, c := range []struct {
		action, outcome, detail, why string
		things                       int
	}{{"job.requeue", "done", "", "found again", 3}, {"job.requeue", "refused", "refused", "", 1}, {"job.delete", "done", "", "listed by mistake", 1}, {"batch.update-report", "done", "", "two were found", 1}} {
		if n := in.count(`select count(distinct subject) from record.audit_entry where caller <> '' and via = 'machine' and action = $1 and outcome = $2 and detail = $3 and reason = $4 and (subject like 'job/jid%' or subject = $5)`,
			c.action, c.outcome, c.detail, c.why, id.Aggregate().String()); n != c.things {
			t.Errorf("%+v: %d entries of the audit", c, n)
		}
	}
	if n := in.count(`select count(*) from record.audit_entry where via = 'machine'`); n != 6 {
		t.Errorf("%d entries of the audit: that of a dry run or of a list is one too many", n)
	}
	in.seen(2, domain.EventBatchFailed) // B7 and B10
	in.seen(2, domain.EventBatchReported)
	in.shown()

	want := told{Newly: []string{job(1), job(2)}, Unresolved: []string{job(3)}, Successful: []string{job(0), job(1), job(2)}}
	live, err := in.wired.Live(in.ctx())
	if err != nil {
		t.Fatal(err)
	}
	at, err := live.Batch(in.ctx(), id)
	if err != nil {
		t.Fatal(err)
	}
	report := at.State.Report
	v, err = in.app.BatchReport(in.ctx(), id, 10)
	if err != nil || len(v.ReportsMade) != 2 {
		t.Fatalf("%v, %+v", err, v.ReportsMade)
	}
	sql := v.ReportsMade[1]
	for way, got := range map[string]told{
		"status-report": {texts(report.NewlySuccessfulJobs), texts(report.UnresolvedJobs), texts(report.SuccessfulJobs)},
		"tables":        {sql.NewlySuccessfulJobs, sql.UnresolvedJobs, sql.SuccessfulJobs},
		"whole report":  in.wholeReport(report.ReportURL),
		"mail":          mailedReport(in.updateMail(id)),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", way, diff)
		}
	}
	in.reported(id, in.updateMail(id))
	in.says(0, words("report batch --batch "+string(id)+" --format mail"), "From: <accession@example.org>", "To: <depositor@example.org>", "1 deleted", "text/html")
	if sql.Kind != "update" || sql.Status != "failed" || sql.ReportSha256 != report.ReportSHA256 {
		t.Errorf("%+v", sql)
	}
	in.agree()
}

func texts[T ~string](ids []T) (list []string) {
	for _, id := range ids {
		list = append(list, string(id))
	}
	return list
}

// wholeReport reads the report that is kept in the object store.
func (in *installation) wholeReport(url string) (r told) {
	in.t.Helper()
	key, ok := store.KeyOf(url)
	data, err := os.ReadFile(filepath.Join(in.cfg.Store, filepath.FromSlash(key)))
	if err != nil || !ok {
		in.t.Fatalf("%s: %v", url, err)
	}
	var body struct {
		Jobs []struct {
			ID    string `json:"job_id"`
			State string `json:"state"`
			New   bool   `json:"newly_successful"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(data, &body); err != nil {
		in.t.Fatal(err)
	}
	for _, j := range body.Jobs {
		if j.New {
			r.Newly = append(r.Newly, j.ID)
		}
		switch j.State {
		case "failed":
			r.Unresolved = append(r.Unresolved, j.ID)
		case "completed":
			r.Successful = append(r.Successful, j.ID)
		}
	}
	return r
}

var jobName = regexp.MustCompile(`(?m)^  (jid\d{10})  `)

// mailedReport reads a mail with an update report.
func mailedReport(body string) (r told) {
	for _, part := range strings.Split(body, "\n\n") {
		title, _, _ := strings.Cut(part, "\n")
		for _, match := range jobName.FindAllStringSubmatch(part, -1) {
			switch title {
			case "Unresolved":
				r.Unresolved = append(r.Unresolved, match[1])
			case "Completed since the report before":
				r.Newly, r.Successful = append(r.Newly, match[1]), append(r.Successful, match[1])
			case "Completed":
				r.Successful = append(r.Successful, match[1])
			}
		}
	}
	slices.Sort(r.Successful)
	return r
}

// updateMail returns the one mail with an update report on the batch.
func (in *installation) updateMail(id domain.BatchID) string {
	in.t.Helper()
	all := in.mails(id)
	updates := slices.DeleteFunc(slices.Clone(all), func(body string) bool { return !strings.Contains(body, "\nUnresolved\n") })
	if len(updates) != 1 {
		in.t.Fatalf("%d of %d mails are update reports on %s", len(updates), len(all), id)
	}
	return updates[0]
}

// Batches are deleted and cleaned up by command: no node and no working directory
// of theirs is left, history and tables stay and agree.
// Shows: P1 P8
func TestBatchesAreDeletedAndCleanedUp(t *testing.T) {
	t.Parallel()
	in := newInstallation(t)
	base, mended := mends(t)
	in.serveInProcess()
	failed := in.submit(app.Deposit{Payload: base + "/batch.checkm", Type: domain.TypeFileBatchManifest})
	v := in.rest(failed)
	in.says(3, words("batch cleanup "+string(failed)+" --yes"), "is failed: clean up is not possible", "accession batch delete "+string(failed))
	// One of its jobs waits to be processed again, and has its files here.
	mended.Store(true)
	in.says(0, words("queue pause processing"))
	in.says(0, words("job requeue "+v.Jobs[1].ID))
	in.seen(2, domain.EventJobDownloaded) // the good one and this
	in.says(0, words("job priority --to 3 "+v.Jobs[1].ID), "stays processing", "its priority changes from 5 to 3")
	if _, err := os.Stat(filepath.Join(in.cfg.WorkDir, string(failed), v.Jobs[1].ID)); err != nil {
		t.Errorf("the job's files: %v", err)
	}
	in.says(0, []string{"job", "delete", v.Jobs[2].ID, "--reason", "sent twice", "--yes"}, "is deleted now, was failed (J21)",
		"the report of "+string(failed)+" already named it to the depositor", "3-lost.txt")
	in.shown()
	in.says(0, words("batch ls"), "jobs  completed  failed  held  deleted  in progress", "   4          1       1     0        1            1  ")
	in.says(2, words("batch delete "+string(failed)+" --reason withdrawn"), "there is no terminal to ask at")
	in.says(0, words("batch delete "+string(failed)+" --reason withdrawn --dry-run"), "would go from failed to deleted (B11)", "its 3 jobs go with it: 1 completed, 1 failed, 1 in progress")
	in.says(0, words("batch delete "+string(failed)+" --reason withdrawn --yes"), "is deleted now, was failed (B11)")
	in.nothingOf(failed, 4)
	in.says(0, words("queue resume processing"))

	good := in.submit(app.Deposit{Payload: base + "/1-good.txt"})
	if v := in.rest(good); v.Status != "completed" {
		t.Fatalf("%+v", v.BatchSummary)
	}
	in.says(3, words("batch delete "+string(good)+" --reason withdrawn --yes"), "a completed batch is cleaned up, not deleted")
	in.says(0, []string{"batch", "cleanup", string(good), "--reason", "space is short", "--yes"}, "is deleted now, was completed (B13)")
	in.nothingOf(good, 5)
	in.says(4, words("batch delete "+string(good)+" --reason x --yes"), "there is no such batch")

	in.shown()
	report, err := in.app.BatchReport(in.ctx(), failed, 10)
	if err != nil || report.Status != "deleted" || report.JobsDeleted != 4 || *report.RowsListed != 4 || *report.ReasonMessage != "withdrawn" {
		t.Errorf("%v, %+v", err, report.BatchSummary)
	}
	if report, err := in.app.BatchReport(in.ctx(), good, 10); err != nil || report.Status != "deleted" || report.JobsCompleted != 1 {
		t.Errorf("%v, %+v", err, report.BatchSummary)
	}
	in.agree()
}

// nothingOf fails the test if a node or a working directory of the batch or of one of the
// first jobs stays. The janitor of the service may be removing the last of them while the
// command has ended.
func (in *installation) nothingOf(id domain.BatchID, jobs int) {
	in.t.Helper()
	names := []string{string(id)}
	for n := range jobs {
		names = append(names, string(domain.NewJobID(int64(n+1))))
	}
	waitFor(in.t, "the removal of "+string(id), func() bool {
		for _, top := range []string{"/batches", "/jobs"} {
			for _, path := range in.nodesBelow(top) {
				if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(path, name) }) {
					return false
				}
			}
		}
		_, err := os.Stat(filepath.Join(in.cfg.WorkDir, string(id)))
		return os.IsNotExist(err)
	})
}

// nodesBelow returns the names of a node and of those below it.
func (in *installation) nodesBelow(top string) []string {
	in.t.Helper()
	return slices.Collect(maps.Keys(in.nodesFrom(top)))
}
