package projections_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestBadManifestAddsUp: a batch that can have no job lists none, and adds up.
func TestBadManifestAddsUp(t *testing.T) {
	t.Parallel()
	w, id := newWorld(t, 1), domain.NewBatchID(1)
	w.batches[id] = domain.Batch{ID: id}
	w.mustBatch(id, domain.SubmitBatch{Submission: w.submission()},
		domain.StartBatch{Problem: &domain.Reason{Class: domain.ClassContent, Code: domain.CodeManifestInvalid, Message: "line 3"}}, domain.BeginReport{})
	db := projtest.DB(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
	b, err := query.Summary(t.Context(), db, id)
	if err != nil || b.RowsListed == nil || *b.RowsListed != 0 || b.JobsInProgress != 0 {
		t.Errorf("%v, listed %v, %d in progress", err, b.RowsListed, b.JobsInProgress)
	}
}

// must make a command count: a refused one ends the test.
func (w *world) must(id domain.JobID, commands ...domain.JobCommand) {
	w.t.Helper()
	for _, c := range commands {
		before := len(w.log)
		w.job(id, c)
		if len(w.log) == before {
			w.t.Fatalf("%s is %s: %T was refused", id, w.jobs[id].State, c)
		}
	}
}

func (w *world) mustBatch(id domain.BatchID, commands ...domain.BatchCommand) {
	w.t.Helper()
	for _, c := range commands {
		before := len(w.log)
		w.batch(id, c)
		if len(w.log) == before {
			w.t.Fatalf("%s is %s: %T was refused", id, w.batches[id].State, c)
		}
	}
}

func failing(code domain.Code) domain.FailJob {
	return domain.FailJob{Reason: domain.Reason{Class: domain.ClassContent, Code: code, Message: "because of " + string(code), Worker: "w1"}}
}

// story is a batch of five jobs with every fate that a failed attempt can have,
// reported twice and then deleted; and a second, younger batch that waits.
func story(t *testing.T) (*world, domain.BatchID, []domain.JobID) {
	w := newWorld(t, 1)
	id := domain.NewBatchID(1)
	w.batches[id] = domain.Batch{ID: id}
	w.mustBatch(id, domain.SubmitBatch{Submission: w.submission()},
		domain.ListBatch{Listing: domain.Listing{Rows: 5, FirstJID: domain.NewJobID(1)}})
	for range 5 {
		w.createJob(w.batches[id])
	}
	w.mustBatch(id, domain.StartBatch{})
	jobs := w.ofBatch[id]
	down := []domain.JobCommand{domain.AcceptJob{}, domain.EstimateJob{Files: 1, Bytes: 5, Priority: 5}, domain.ProvisionJob{}}
	up := []domain.JobCommand{domain.DownloadJob{Files: 1, Bytes: 5, Priority: 5},
		domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/x", Version: 1, Files: 3, Bytes: 9, ManifestKey: "k", ManifestSHA256: "s"}},
		domain.RecordJob{}, domain.CompleteJob{Callback: "none"}}
	for _, j := range jobs {
		w.must(j, down...)
	}
	w.must(jobs[0], up...)
	w.must(jobs[1], failing("http_status"), domain.RequeueJob{}, failing("http_status"), domain.RequeueJob{})
	w.must(jobs[1], up...)
	w.must(jobs[2], failing("digest_mismatch"), domain.DeleteJob{})
	w.must(jobs[3], failing("http_status"), domain.RequeueJob{}, failing("digest_mismatch"))
	w.must(jobs[4], failing("http_status"))
	w.mustBatch(id, domain.BeginReport{})
	w.mustBatch(id, domain.FinishReport{Report: w.report(w.batches[id])})
	w.must(jobs[4], domain.RequeueJob{})
	w.must(jobs[4], up...)
	w.mustBatch(id, domain.RequestUpdate{})
	w.mustBatch(id, domain.FinishReport{Report: w.report(w.batches[id])})
	second := domain.NewBatchID(2)
	w.batches[second] = domain.Batch{ID: second}
	w.mustBatch(second, domain.SubmitBatch{Submission: domain.Submission{Submitter: "zoe", Type: domain.TypeFile}})
	return w, id, jobs
}

func projected(t *testing.T, w *world) *pgxpool.Pool {
	t.Helper()
	db := projtest.DB(t)
	cfg := config(db, w.log)
	cfg.MaxBatch = 3 // so that attempts begin and end in different transactions
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
	return db
}

// TestRetries: every failed attempt stays, and says what became of it.
func TestRetries(t *testing.T) {
	t.Parallel()
	w, id, jobs := story(t)
	line := func(r query.Retry) string {
		to := ""
		if r.ResumedTo != nil {
			to = *r.ResumedTo
		}
		return fmt.Sprintf("%s %d %s %s %s %s", r.JobID[12:], r.Attempt, r.FailedIn, r.Code, to, r.Outcome)
	}
	read := func(db *pgxpool.Pool) []string {
		rows, err := query.Retries(context.Background(), db, query.RetryFilter{Batch: id})
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, r := range rows {
			if (r.ResumedAt == nil) != (r.ResumedBy == nil) || r.FailedAt.Location() != time.UTC {
				t.Errorf("%+v", r)
			}
			lines = append(lines, line(r))
		}
		return lines
	}
	want := []string{
		"2 1 downloading http_status downloading failed_again",
		"2 2 downloading http_status downloading succeeded",
		"3 1 downloading digest_mismatch  deleted",
		"4 1 downloading http_status downloading failed_again",
		"4 2 downloading digest_mismatch  open",
		"5 1 downloading http_status downloading succeeded",
	}
	db := projected(t, w)
	if diff := cmp.Diff(want, read(db)); diff != "" {
		t.Fatal(diff)
	}
	all, err := query.Retries(t.Context(), db, query.RetryFilter{Batch: id})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f    query.RetryFilter
		want []int
	}{
		"of a job": {query.RetryFilter{Job: jobs[3]}, []int{3, 4}}, "by code": {query.RetryFilter{Code: "http_status"}, []int{0, 1, 3, 5}},
		"by outcome": {query.RetryFilter{Outcome: "succeeded"}, []int{1, 5}}, "not yet failed": {query.RetryFilter{Since: all[0].FailedAt.Add(240 * time.Hour)}, nil},
		"failed before": {query.RetryFilter{Until: all[2].FailedAt}, []int{0, 1}}, "within a job": {query.RetryFilter{AfterJob: jobs[3], AfterNumber: all[3].Number}, []int{4, 5}},
		"the first": {query.RetryFilter{Limit: 2}, []int{0, 1}}, "of another batch": {query.RetryFilter{Batch: "bid0000009999"}, nil},
	} {
		if c.f.Batch == "" {
			c.f.Batch = id
		}
		rows, err := query.Retries(t.Context(), db, c.f)
		var got, want []string
		for _, r := range rows {
			got = append(got, line(r))
		}
		for _, n := range c.want {
			want = append(want, line(all[n]))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v (%v), want %v", name, got, err, want)
		}
	}
	one, err := query.RetriesOfJob(context.Background(), db, jobs[3])
	if err != nil || len(one) != 2 {
		t.Errorf("of one job: %v %v", one, err)
	}

	w.mustBatch(id, domain.DeleteBatch{})
	for _, j := range jobs {
		w.job(j, domain.DeleteJobWithBatch{}) // refused for the one that is deleted
	}
	want[4] = "4 2 downloading digest_mismatch  abandoned"
	if diff := cmp.Diff(want, read(projected(t, w))); diff != "" {
		t.Fatal(diff)
	}
}

// TestLists reads what people ask for.
func TestLists(t *testing.T) {
	t.Parallel()
	w, id, jobs := story(t)
	db, ctx := projected(t, w), context.Background()

	ids := func(f query.BatchFilter) (got []string) {
		rows, err := query.Batches(ctx, db, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			got = append(got, r.BatchID)
		}
		return got
	}
	for name, c := range map[string]struct {
		f    query.BatchFilter
		want []string
	}{
		"all":       {query.BatchFilter{}, []string{"bid0000000002", "bid0000000001"}},
		"failed":    {query.BatchFilter{State: domain.BatchFailed}, []string{"bid0000000001"}},
		"submitter": {query.BatchFilter{Filter: query.Filter{Submitter: "zoe"}}, []string{"bid0000000002"}},
		"page 1":    {query.BatchFilter{Limit: 1}, []string{"bid0000000002"}},
		"page 2":    {query.BatchFilter{Limit: 1, Before: "bid0000000002"}, []string{"bid0000000001"}},
		"none":      {query.BatchFilter{State: domain.BatchHeld}, nil},
	} {
		if got := ids(c.f); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}

	b, err := query.Summary(ctx, db, id)
	if err != nil {
		t.Fatal(err)
	}
	if got := []int64{*b.RowsListed, b.JobsCompleted, b.JobsFailed, b.JobsHeld, b.JobsDeleted, b.JobsInProgress, b.Reports}; !slices.Equal(got, []int64{5, 3, 1, 0, 1, 0, 2}) {
		t.Errorf("summary: %v", got)
	}
	if b.SecondsToReport == nil || *b.SecondsToReport <= 0 {
		t.Errorf("time to the report: %v", b.SecondsToReport)
	}
	reports, err := query.Reports(ctx, db, id)
	if err != nil || len(reports) != 2 {
		t.Fatalf("%v %v", reports, err)
	}
	if r := reports[0]; r.Kind != "first" || r.Successful != 2 || r.Failed != 2 || len(r.UnresolvedJobs) != 0 {
		t.Errorf("first report: %+v", r)
	}
	if r := reports[1]; r.Kind != "update" || r.Successful != 3 || r.Failed != 1 ||
		!slices.Equal(r.NewlySuccessfulJobs, []string{string(jobs[4])}) || !slices.Equal(r.UnresolvedJobs, []string{string(jobs[3])}) {
		t.Errorf("update report: %+v", r)
	}
	if _, err := query.Summary(ctx, db, domain.NewBatchID(9)); !errors.Is(err, query.ErrNotFound) {
		t.Errorf("a batch that is not there: %v", err)
	}
}

// TestJobs reads jobs and their history.
func TestJobs(t *testing.T) {
	t.Parallel()
	w, id, jobs := story(t)
	db, ctx := projected(t, w), context.Background()
	for name, c := range map[string]struct {
		f    query.JobFilter
		want []domain.JobID
	}{
		"batch":     {query.JobFilter{Batch: id}, jobs},
		"no batch":  {query.JobFilter{Batch: "bid0000000002"}, nil},
		"completed": {query.JobFilter{State: domain.JobCompleted}, []domain.JobID{jobs[0], jobs[1], jobs[4]}},
		"page":      {query.JobFilter{After: jobs[1], Limit: 2}, jobs[2:4]},
	} {
		rows, err := query.Jobs(ctx, db, c.f)
		if err != nil {
			t.Fatal(err)
		}
		var got []domain.JobID
		for _, r := range rows {
			got = append(got, domain.JobID(r.ID))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	j, err := query.JobByID(ctx, db, jobs[1])
	if err != nil || j.RetryCount != 2 || *j.ObjectVersion != 1 || *j.Files != 1 || *j.Callback != "none" || j.CompletedAt == nil || j.CreatedAt.Location() != time.UTC {
		t.Errorf("%+v %v", j, err)
	}
	moves, err := query.Transitions(ctx, db, jobs[1])
	if err != nil {
		t.Fatal(err)
	}
	state := ""
	for i, m := range moves {
		if m.FromStatus != state || (m.FromSince == nil) != (i == 0) || i > 0 && *m.Seconds != m.At.Sub(*m.FromSince).Seconds() {
			t.Errorf("transition %d: %+v", i, m)
		}
		state = m.ToStatus
	}
	if len(moves) != 12 || state != "completed" {
		t.Errorf("%d transitions, the last to %s", len(moves), state)
	}
	if _, err := query.JobByID(ctx, db, domain.NewJobID(99)); !errors.Is(err, query.ErrNotFound) {
		t.Errorf("a job that is not there: %v", err)
	}
}

// TestReportViews reads the views that have no reader here.
func TestReportViews(t *testing.T) {
	t.Parallel()
	w, _, _ := story(t)
	db := projected(t, w)
	for sql, want := range map[string]int{
		"select unresolved from report.failure_reasons where failed_in = 'downloading' and code = 'digest_mismatch'": 1,
		"select jobs from report.failure_reasons where code = 'http_status'":                                         3,
		"select failures from report.failure_reasons where code = 'http_status'":                                     4,
		"select times from report.time_in_state where status = 'downloading'":                                        9,
		"select count(*) from report.time_in_state where p50 > p95 or p95 > p99 or p99 > longest or p50 <= 0":        0,
		"select count(*) from report.retry_history where seconds_waiting < 0":                                        0,
	} {
		if got := count(t, db, sql); got != want {
			t.Errorf("%s: %d, want %d", sql, got, want)
		}
	}
}

// TestThroughputOfAPartOfADay: what was done is counted in one of two ranges that meet
// in the middle of a day.
func TestThroughputOfAPartOfADay(t *testing.T) {
	t.Parallel()
	w, _, _ := story(t)
	db := projected(t, w)
	sum := func(r query.Range) (n [3]int64) {
		rows, err := query.Throughput(t.Context(), db, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range rows {
			n[0], n[1], n[2] = n[0]+d.BatchesSubmitted, n[1]+d.JobsCompleted, n[2]+d.JobsFailed
		}
		return n
	}
	var middle time.Time // between two failures
	if err := db.QueryRow(t.Context(), "select at from accession.job_transition where to_status = 'failed' order by seq offset 2 limit 1").Scan(&middle); err != nil {
		t.Fatal(err)
	}
	all, before, after := sum(query.Range{}), sum(query.Range{Until: middle}), sum(query.Range{Since: middle})
	for i := range all {
		if before[i]+after[i] != all[i] {
			t.Errorf("%v before, %v after, %v in all", before, after, all)
		}
	}
	if before[2] != 2 || after[2] == 0 {
		t.Errorf("%d failed before the third", before[2])
	}
}
