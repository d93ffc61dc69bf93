package projections_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// wholeViews are the views whose examples in docs/sql.md read a growing table from end
// to end, and why that is right.
var wholeViews = map[string]string{
	"report.batch_summary":      "the example lists all batches",
	"report.failure_reasons":    "sums up every failed attempt there ever was",
	"report.time_in_state":      "percentiles of every stay there ever was",
	"report.submitter_activity": "sums up every batch there ever was",
}

// wholeQuestions are the headings of docs/sql.md whose question is about everything.
var wholeQuestions = map[string]string{
	"Failures by reason and week":                    "sums up every failed attempt there ever was",
	"95 of 100 jobs: time in each state, by profile": "percentiles of every stay there ever was",
	"Busiest hour":                                          "sums up every job that ever completed",
	"Stored bytes by collection and month":                  "sums up the inventory",
	"Slowest servers":                                       "sums up every download there ever was",
	"Timed out and later succeeded":                         "looks at every failed attempt there ever was",
	"Submitters with more than a tenth failed at first try": "sums up every job there ever was",
	"Listed against stored":                                 "the example lists all batches",
	"Completed jobs that the inventory lacks":               "compares every job with the inventory",
}

// TestDocumentedQueriesHaveTheirIndexes: no example of docs/sql.md reads a growing
// table from end to end but those that sum it up.
func TestDocumentedQueriesHaveTheirIndexes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	db := projtest.DB(t)
	if err := run(t, config(db, installation(t).log)); err != nil {
		t.Fatal(err)
	}
	projtest.Crowd(t, db, 100)
	planned, seen := &projtest.Planned{Pool: db}, map[string]bool{}
	for _, place := range example.FindAllStringSubmatchIndex(string(text), -1) {
		found := []string{"", string(text[place[2]:place[3]])}
		before := string(text[:place[0]])
		title, _, _ := strings.Cut(before[strings.LastIndex(before, "\n## ")+4:], "\n")
		rows, err := planned.Query(t.Context(), found[1])
		if err != nil {
			t.Fatalf("%s: %v", found[1], err)
		}
		rows.Close()
		_, after, _ := strings.Cut(found[1], "from ")
		view, _, _ := strings.Cut(after, " ")
		whole := planned.Whole()
		seen[view] = true
		if _, question := wholeQuestions[title]; question {
			seen[title] = true
			continue
		}
		if reason, allowed := wholeViews[view]; allowed != (len(whole) > 0) {
			t.Errorf("%s reads from end to end %q; allowed: %t (%s)\n%s", view, whole, allowed, reason, found[1])
		}
	}
	for view := range wholeViews {
		if !seen[view] {
			t.Errorf("%s has no example any more", view)
		}
	}
	for title := range wholeQuestions {
		if !seen[title] {
			t.Errorf("the question %q is gone", title)
		}
	}
}

// TestWhatWaitsLongestHasItsIndexes: its cost does not grow with what has ended.
func TestWhatWaitsLongestHasItsIndexes(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	if err := run(t, config(db, installation(t).log)); err != nil {
		t.Fatal(err)
	}
	projtest.Crowd(t, db, 100)
	planned := &projtest.Planned{Pool: db}
	jobs, err := query.OldestJobs(t.Context(), planned, domain.JobStates, 3)
	if err != nil || len(jobs) == 0 {
		t.Fatalf("%d jobs, %v", len(jobs), err)
	}
	for i := 1; i < len(jobs); i++ {
		if jobs[i].State == jobs[i-1].State && jobs[i].Since.Before(jobs[i-1].Since) {
			t.Errorf("%+v comes after %+v", jobs[i], jobs[i-1])
		}
	}
	batches, err := query.OldestBatches(t.Context(), planned, domain.BatchStates, 3)
	if err != nil || len(batches) == 0 {
		t.Fatalf("%d batches, %v", len(batches), err)
	}
	if whole := planned.Whole(); len(whole) > 0 {
		t.Errorf("it reads from end to end: %q", whole)
	}
}

// TestListsHaveTheirIndexes: a list by what one thing in many has reads no table from end to
// end, also for a depositor, who sees the own.
func TestListsHaveTheirIndexes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	v, _ := fileStory(t)
	db := projected(t, v)
	projtest.Crowd(t, db, 100)
	for _, sql := range []string{
		`update accession.job set submitter = 'rare', host = 'rare', collection = 'rare', profile_name = 'rare', reason_code = 'rare'
		 where id = (select min(job_id) from accession.file where job_id <> '')`,
		`update accession.batch set submitter = 'rare', collection = 'rare', profile_name = 'rare', reason_code = 'rare'
		 where id = (select batch_id from accession.job where submitter = 'rare')`,
		`update accession.file set submitter = 'rare', host = 'rare', collection = 'rare', profile_name = 'rare', reason_code = 'rare'
		 where job_id = (select id from accession.job where submitter = 'rare')`,
		"vacuum analyze",
	} {
		if _, err := db.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	planned := &projtest.Planned{Pool: db}
	for _, f := range []query.RetryFilter{{}, {AfterJob: "jid0000000001", AfterNumber: 1}, {Code: "timeout", Outcome: "open"}} {
		f.Batch = "bid0000000001"
		if _, err := query.Retries(ctx, planned, f); err != nil {
			t.Error(err)
		}
	}
	if whole := planned.Whole(); len(whole) > 0 {
		t.Errorf("failed attempts of a batch are read from end to end: %v", whole)
	}
	for name, f := range map[string]query.Filter{
		"submitter": {Submitter: "rare"}, "collection": {Collection: "rare"}, "profile": {Profile: "rare"}, "host": {Host: "rare"}, "code": {Code: "rare"},
		"what a depositor sees": {Sees: &access.Filter{Submitter: "rare"}},
	} {
		batches, err := query.Batches(ctx, planned, query.BatchFilter{Filter: f})
		if err != nil || len(batches) != 1 {
			t.Errorf("by %s: %d batches (%v)", name, len(batches), err)
		}
		jobs, err := query.Jobs(ctx, planned, query.JobFilter{Filter: f})
		if err != nil || len(jobs) != 1 {
			t.Errorf("by %s: %d jobs (%v)", name, len(jobs), err)
		}
		files, err := query.Files(ctx, planned, query.FileFilter{Filter: f})
		if err != nil || len(files) == 0 {
			t.Errorf("by %s: %d files (%v)", name, len(files), err)
		}
		if n, err := query.TotalBatches(ctx, planned, query.BatchFilter{Filter: f}); err != nil || n != 1 {
			t.Errorf("by %s: counted %d batches (%v)", name, n, err)
		}
		for _, order := range []query.Sorting{{By: "status"}, {By: "status", Down: true}, {By: "id"}, {By: "id", Down: true}} {
			sortedBatches, err := query.SortedBatches(ctx, planned, query.BatchFilter{Filter: f}, order)
			if err != nil || len(sortedBatches) != 1 {
				t.Errorf("by %s, sorted by %s: %d batches (%v)", name, order.By, len(sortedBatches), err)
			}
			sortedJobs, err := query.SortedJobs(ctx, planned, query.JobFilter{Filter: f}, order)
			if err != nil || len(sortedJobs) != 1 {
				t.Errorf("by %s, sorted by %s: %d jobs (%v)", name, order.By, len(sortedJobs), err)
			}
			sortedFiles, err := query.SortedFiles(ctx, planned, query.FileFilter{Filter: f}, order)
			if err != nil || len(sortedFiles) != len(files) {
				t.Errorf("by %s, sorted by %s: %d files (%v)", name, order.By, len(sortedFiles), err)
			}
		}
		if whole := planned.Whole(); len(whole) > 0 {
			t.Errorf("lists by %s read from end to end: %v", name, whole)
		}
	}
}

// TestOrdersOfManyHaveTheirIndexes: a page of all there is, in the order in which it was made, reads
// no table from end to end, wherever in the list it begins.
func TestOrdersOfManyHaveTheirIndexes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	v, _ := fileStory(t)
	db := projected(t, v)
	projtest.Crowd(t, db, 100)
	planned := &projtest.Planned{Pool: db}
	for _, down := range []bool{false, true} {
		batches, jobs, files := query.Sorting{By: "id", Down: down}, query.Sorting{By: "id", Down: down}, query.Sorting{By: "discovered_at", Down: down}
		for range 3 {
			b, err := query.SortedBatches(ctx, planned, query.BatchFilter{Limit: 5}, batches)
			if err != nil || len(b) != 5 {
				t.Fatalf("%d batches (%v)", len(b), err)
			}
			j, err := query.SortedJobs(ctx, planned, query.JobFilter{Limit: 5}, jobs)
			if err != nil || len(j) != 5 {
				t.Fatalf("%d jobs (%v)", len(j), err)
			}
			f, err := query.SortedFiles(ctx, planned, query.FileFilter{Limit: 5}, files)
			if err != nil || len(f) != 5 {
				t.Fatalf("%d files (%v)", len(f), err)
			}
			batches.Last, jobs.Last, files.Last = b[4].Row.BatchID, j[4].Row.ID, f[4].Row.RawFileHash
		}
	}
	if whole := planned.Whole(); len(whole) > 0 {
		t.Errorf("they read from end to end: %v", whole)
	}
}

// TestCountOfBatchesReadsNoRows: how many batches are in each state is counted in an index, where it
// is shown on every overview.
func TestCountOfBatchesReadsNoRows(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	if err := run(t, config(db, installation(t).log)); err != nil {
		t.Fatal(err)
	}
	before, err := query.CountBatches(t.Context(), db)
	if err != nil || len(before) == 0 {
		t.Fatalf("%v, %v", before, err)
	}
	projtest.Crowd(t, db, 300)
	asked := &lastAsked{Pool: db}
	after, err := query.CountBatches(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	for state, n := range before {
		if after[state] != 301*n {
			t.Errorf("%d batches are %s, and were %d", after[state], state, n)
		}
	}
	rows, err := db.Query(t.Context(), "explain (costs off) "+asked.sql)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if text := strings.Join(plan, "\n"); err != nil || !strings.Contains(text, "Index Only Scan using batch_") {
		t.Errorf("%v\n%s", err, text)
	}
}

// lastAsked is a database that keeps its last query.
type lastAsked struct {
	*pgxpool.Pool
	sql string
}

// Query keeps the query, and asks.
func (l *lastAsked) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	l.sql = sql
	return l.Pool.Query(ctx, sql, args...)
}
