package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/query"
)

// mustFile makes commands count: a refused one ends the test.
func (w *world) mustFile(id domain.FileHash, commands ...func(domain.File) domain.FileCommand) {
	w.t.Helper()
	for i, c := range commands {
		before := len(w.log)
		w.file(id, c(w.files[id]))
		if len(w.log) == before {
			w.t.Fatalf("file %s is %s: command %d was refused", w.files[id].Spec.Path, w.files[id].State, i)
		}
	}
}

var twice = domain.Limits{Max: 2, Timeout: time.Hour}

var (
	start   = func(domain.File) domain.FileCommand { return domain.StartDownload{Worker: "w1", Limits: twice} }
	fetched = func(f domain.File) domain.FileCommand {
		return domain.FinishDownload{Fence: f.Fence, Size: 7, SHA256: strings.Repeat("ab", 32)}
	}
	lost = func(f domain.File) domain.FileCommand {
		return domain.FailDownload{Fence: f.Fence, Limits: twice, Reason: domain.WorkerLost("w1")}
	}
	ready   = func(domain.File) domain.FileCommand { return domain.ReadyFile{} }
	process = func(domain.File) domain.FileCommand { return domain.StartProcessing{Worker: "w2"} }
	done    = func(f domain.File) domain.FileCommand { return domain.FinishProcessing{Fence: f.Fence} }
	audit   = func(domain.File) domain.FileCommand {
		return domain.AuditFailed{Limits: twice, Reason: domain.Reason{Class: domain.ClassSystem, Code: "object_corrupt", Message: "the read-back differs"}}
	}
	skip = func(domain.File) domain.FileCommand {
		return domain.SkipFile{Reason: domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "not wanted"}}
	}
	reopen = func(domain.File) domain.FileCommand {
		return domain.ReopenFile{Reason: domain.Reason{Class: domain.ClassCancelled, Code: "asked", Message: "the server is back"}}
	}
)

// fileStory gives the files of the first job each another fate: a.tif is processed
// after a lost download and an audit, b.tif given up, c.tif given up, taken up again
// and under way, d.tif left out, e.tif waits. The second job has one file and is
// deleted.
func fileStory(t *testing.T) (*world, []domain.JobID) {
	w := newWorld(t, 1)
	id := domain.NewBatchID(1)
	w.batches[id] = domain.Batch{ID: id}
	w.mustBatch(id, domain.SubmitBatch{Submission: w.submission()}, domain.ListBatch{Listing: domain.Listing{Rows: 2, FirstJID: domain.NewJobID(1)}})
	w.createJob(w.batches[id])
	w.createJob(w.batches[id])
	w.mustBatch(id, domain.StartBatch{})
	jobs := w.ofBatch[id]
	for i, path := range []string{"a.tif", "b.tif", "c.tif", "d.tif", "e.tif", "x.tif"} {
		spec := domain.FileSpec{Source: string(jobs[i/5]), Path: path, BatchID: id, JobID: jobs[i/5], URL: "http://files.test/" + path, Size: 5}
		w.file(spec.Hash(), domain.DiscoverFile{Spec: spec})
	}
	f := w.found
	w.mustFile(f[0], start, lost)
	w.mustFile(f[0], start, fetched, ready, process, done, audit)
	w.mustFile(f[0], func(domain.File) domain.FileCommand { return domain.RetryProcessing{Limits: twice} }, process, done)
	w.mustFile(f[1], start, lost)
	w.mustFile(f[1], start, lost)
	w.mustFile(f[2], start, lost)
	w.mustFile(f[2], start, lost, reopen)
	w.mustFile(f[2], start)
	w.mustFile(f[3], start, fetched, skip)
	w.mustFile(f[5], start, lost)
	for _, j := range jobs {
		w.job(j, domain.AcceptJob{})
		w.job(j, domain.EstimateJob{Files: 5, Priority: 5})
		w.job(j, domain.ProvisionJob{})
	}
	w.must(jobs[1], failing("worker_lost"), domain.DeleteJob{})
	return w, jobs
}

// TestFilesOfAJob reads what people ask about files.
func TestFilesOfAJob(t *testing.T) {
	t.Parallel()
	w, jobs := fileStory(t)
	db, ctx := projected(t, w), context.Background()
	for name, c := range map[string]struct {
		f    query.FileFilter
		want string
	}{
		"all":      {query.FileFilter{}, "a b c d e x"},
		"batch":    {query.FileFilter{Batch: "bid0000000001"}, "a b c d e x"},
		"no batch": {query.FileFilter{Batch: "bid0000000002"}, ""},
		"job":      {query.FileFilter{Job: jobs[0]}, "a b c d e"},
		"status":   {query.FileFilter{State: domain.FileIgnore}, "b"},
		"name":     {query.FileFilter{Name: "d."}, "d"},
		"page":     {query.FileFilter{Job: jobs[0], After: w.found[1], Limit: 2}, "c d"},
	} {
		rows, err := query.Files(ctx, db, c.f)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows {
			got = append(got, strings.TrimSuffix(r.Path, ".tif"))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
	for of, want := range map[domain.Aggregate][]int64{
		jobs[0].Aggregate():                         {5, 1, 1, 1, 0, 2, 2, 29, 14},
		jobs[1].Aggregate():                         {1, 0, 0, 0, 1, 0, 0, 5, 0},
		domain.BatchID("bid0000000001").Aggregate(): {6, 1, 1, 1, 1, 2, 2, 34, 14},
		domain.BatchID("bid0000000009").Aggregate(): {0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		c, err := query.CountFiles(ctx, db, of)
		if got := []int64{c.FilesListed, c.FilesProcessed, c.FilesSkipped, c.FilesGivenUp, c.FilesDeleted, c.FilesInProgress,
			c.FilesDownloaded, c.BytesListed, c.BytesDownloaded}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v, %v", of, got, want, err)
		}
	}
	s, err := query.Summary(ctx, db, "bid0000000001")
	if got := []int64{s.FilesListed, s.FilesProcessed, s.FilesSkipped, s.FilesGivenUp, s.FilesDeleted, s.FilesInProgress, s.BytesListed, s.BytesDownloaded}; err != nil ||
		!slices.Equal(got, []int64{6, 1, 1, 1, 1, 2, 34, 14}) {
		t.Errorf("summary: %v %v", got, err)
	}
	if _, err := query.FileByHash(ctx, db, domain.HashFile("no", "where")); !errors.Is(err, query.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := query.NewWaiter(db).For(ctx, w.found[0].Aggregate(), w.files[w.found[0]].Version); err != nil {
		t.Error(err)
	}
}

// TestFileHistory: every change and every failed attempt stays, and says what
// became of it.
func TestFileHistory(t *testing.T) {
	t.Parallel()
	w, _ := fileStory(t)
	db, ctx := projected(t, w), context.Background()
	var got []string
	for i := range w.found {
		rows, err := query.RetriesOfFile(ctx, db, w.found[i])
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			to := ""
			if r.ResumedTo != nil {
				to = *r.ResumedTo
			}
			got = append(got, fmt.Sprintf("%s %d %s %s %s %s %s", r.FileName, r.Attempt, r.FailedIn, r.Code, r.Worker, to, r.Outcome))
		}
	}
	want := []string{
		"a.tif 1 DOWNLOADING worker_lost w1 DOWNLOADING succeeded",
		"a.tif 1 PROCESSED object_corrupt  READY succeeded",
		"b.tif 1 DOWNLOADING worker_lost w1 DOWNLOADING failed_again",
		"b.tif 2 DOWNLOADING worker_lost w1  given_up",
		"c.tif 1 DOWNLOADING worker_lost w1 DOWNLOADING failed_again",
		"c.tif 2 DOWNLOADING worker_lost w1 DISCOVERED open",
		"x.tif 1 DOWNLOADING worker_lost w1  deleted",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	moves, err := query.FileHistory(ctx, db, w.found[0])
	if err != nil || len(moves) != 12 {
		t.Fatalf("%d moves, %v", len(moves), err)
	}
	state := ""
	for i, m := range moves {
		if m.FromStatus != state || (m.FromSince == nil) != (i == 0) || i > 0 && *m.Seconds != m.At.Sub(*m.FromSince).Seconds() || m.At.Location() != time.UTC {
			t.Errorf("transition %d: %+v", i, m)
		}
		state = m.ToStatus
	}
	if moves[1].Worker != "w1" || moves[2].Worker != "w1" || moves[5].Worker != "" || *moves[2].ReasonCode != "worker_lost" {
		t.Errorf("%+v", moves[:6])
	}
}

// TestFilesOfADeletedJobWaitForNobody: neither those that were given up nor those that
// were to be tried again; as of then the same is told.
func TestFilesOfADeletedJobWaitForNobody(t *testing.T) {
	t.Parallel()
	w, jobs := fileStory(t)
	unresolved := func() (n int64) {
		db, past := projected(t, w), query.NewPast()
		now, err := query.Failures(t.Context(), db, query.Range{})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range w.log {
			if err := past.Apply(r); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(now, past.Failures(), nearly); diff != "" {
			t.Errorf("(-tables +past):\n%s", diff)
		}
		for _, f := range now {
			n += f.Unresolved
		}
		if view := count(t, db, "select sum(unresolved)::bigint from report.failure_reasons"); int64(view) != n {
			t.Errorf("%d are unresolved, the view says %d", n, view)
		}
		return n
	}
	if n := unresolved(); n != 1 {
		t.Fatalf("one file is given up, %d are unresolved", n)
	}
	w.must(jobs[0], failing("worker_lost"), domain.DeleteJob{})
	if n := unresolved(); n != 0 {
		t.Errorf("all jobs are deleted, %d are unresolved", n)
	}
}

// TestFileViews reads the views that have no reader here.
func TestFileViews(t *testing.T) {
	t.Parallel()
	w, _ := fileStory(t)
	w.mustFile(w.found[4], start, fetched, ready, process)
	db := projected(t, w)
	for sql, want := range map[string]int{
		"select count(*) from report.overdue_files where seconds_running > 0":                                                                  2,
		"select attempt from report.overdue_files where path = 'c.tif'":                                                                        1,
		"select count(*) from report.abandoned_files":                                                                                          1,
		"select download_attempts from report.abandoned_files where path = 'b.tif'":                                                            2,
		"select count(*) from report.file_lifecycle where path = 'd.tif'":                                                                      4,
		"select count(*) from report.retry_history where kind = 'file'":                                                                        7,
		"select count(*) from report.retry_history where kind = 'job'":                                                                         1,
		"select unresolved from report.failure_reasons where kind = 'file' and failed_in = 'DOWNLOADING'":                                      1,
		"select failures from report.failure_reasons where kind = 'file' and failed_in = 'DOWNLOADING'":                                        6,
		"select files_listed - files_processed - files_skipped - files_given_up - files_deleted - files_in_progress from report.batch_summary": 0,
	} {
		if got := count(t, db, sql); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
}
