package projections_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// goneRound is how many batches do not add up after all were looked at.
func goneRound(t *testing.T, db *pgxpool.Pool, u *query.Unexplained) (n int) {
	t.Helper()
	for range count(t, db, "select count(*) from accession.batch") {
		var err error
		if n, err = u.Scan(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestUnexplainedBatches: none in a sound history; a job without its row and a
// counter that is wrong are found, in one look or in many, and no longer when they
// are mended.
func TestUnexplainedBatches(t *testing.T) {
	t.Parallel()
	w := history(t, 74, 1200)
	db := projtest.DB(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	if n := count(t, db, "select count(*) from accession.batch where jobs_created > 0"); n < 4 {
		t.Fatalf("%d batches have jobs", n)
	}
	whole, pair, little := &query.Unexplained{}, &query.Unexplained{Batches: 2}, &query.Unexplained{Jobs: 1}
	all := map[string]*query.Unexplained{"all at once": whole, "two batches at a look": pair, "few jobs at a look": little}
	for _, step := range []struct {
		sql  string
		want int
	}{
		{"select 1", 0},
		{"create table public.kept as select * from accession.job order by id limit 1", 0},
		{"delete from accession.job where id in (select id from public.kept)", 1},
		{"update accession.batch set jobs_failed = jobs_failed + 1 where id = (select max(batch_id) from accession.job)", 2},
		{"insert into accession.job select * from public.kept", 1},
		{"update accession.batch set jobs_failed = jobs_failed - 1 where id = (select max(batch_id) from accession.job)", 0},
	} {
		exec(t, db, step.sql)
		for name, u := range all {
			if got := goneRound(t, db, u); got != step.want {
				t.Errorf("%s: %s: %d, want %d", step.sql, name, got, step.want)
			}
		}
	}
}

// TestLookAtBatchesReadsLittle: a look reads a few batches and counts their jobs in
// an index.
func TestLookAtBatchesReadsLittle(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	if err := run(t, config(db, installation(t).log)); err != nil {
		t.Fatal(err)
	}
	projtest.Crowd(t, db, 100)
	planned := &projtest.Planned{Pool: db}
	u := &query.Unexplained{Batches: 10}
	for range 2 { // the second looks again at what the first found: copies count no jobs
		if _, err := u.Scan(t.Context(), planned); err != nil {
			t.Fatal(err)
		}
	}
	if whole := planned.Whole(); len(whole) > 0 {
		t.Errorf("it reads from end to end %q", whole)
	}
}
