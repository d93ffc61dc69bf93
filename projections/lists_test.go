package projections_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain/access"
	"github.com/accession-ingest/accession/projections/query"
)

// listed is what the lists choose a row by.
type listed struct {
	ID, Profile, Collection, Submitter, Code string
	Hosts                                    []string
	At                                       time.Time
}

// chosen reports whether a filter chooses the row.
func (r listed) chosen(f query.Filter) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(f.Profile, r.Profile) && is(f.Collection, r.Collection) && is(f.Submitter, r.Submitter) && is(f.Code, r.Code) &&
		(f.Host == "" || slices.Contains(r.Hosts, f.Host)) && !r.At.Before(f.Since) && (f.Until.IsZero() || r.At.Before(f.Until)) &&
		(f.Sees == nil || f.Sees.Selects(r.Collection, r.Submitter))
}

// TestFilters compares each list under each filter with a plain reading of the tables.
func TestFilters(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, _, _ := story(t)
	batches := projected(t, w)
	v, _ := fileStory(t)
	files := projected(t, v)
	for _, db := range []*pgxpool.Pool{batches, files} {
		if _, err := db.Exec(ctx, differ); err != nil {
			t.Fatal(err)
		}
	}
	for name, list := range map[string]struct {
		db    query.DB
		rows  string // of listed
		ids   func(query.DB, query.Filter) ([]string, error)
		count func(query.DB, query.Filter) (int64, error) // nil = it is not counted
	}{
		"batches": {batches, `select id, profile_name, collection, submitter, coalesce(reason_code, ''),
			array(select host from accession.job where batch_id = b.id), submitted_at from accession.batch b order by id desc`,
			func(db query.DB, f query.Filter) ([]string, error) {
				rows, err := query.Batches(ctx, db, query.BatchFilter{Filter: f})
				return idsOf(rows, func(r query.BatchSummary) string { return r.BatchID }), err
			}, func(db query.DB, f query.Filter) (int64, error) {
				return query.TotalBatches(ctx, db, query.BatchFilter{Filter: f})
			}},
		"jobs": {batches, `select id, profile_name, collection, submitter, coalesce(reason_code, ''), array[host], created_at from accession.job order by id`,
			func(db query.DB, f query.Filter) ([]string, error) {
				rows, err := query.Jobs(ctx, db, query.JobFilter{Filter: f})
				return idsOf(rows, func(r query.JobRow) string { return r.ID }), err
			}, func(db query.DB, f query.Filter) (int64, error) {
				return query.TotalJobs(ctx, db, query.JobFilter{Filter: f})
			}},
		"files": {files, `select f.raw_file_hash, f.profile_name, f.collection, j.submitter, coalesce(f.reason_code, ''), array[f.host], f.discovered_at
			from accession.file f join accession.job j on j.id = f.job_id order by f.seq`,
			func(db query.DB, f query.Filter) ([]string, error) {
				rows, err := query.Files(ctx, db, query.FileFilter{Filter: f})
				return idsOf(rows, func(r query.FileRow) string { return r.RawFileHash }), err
			}, nil},
	} {
		result, err := list.db.Query(ctx, list.rows)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := pgx.CollectRows(result, pgx.RowToStructByPos[listed])
		if err != nil || len(rows) < 2 {
			t.Fatalf("%s: %d rows (%v)", name, len(rows), err)
		}
		some := 0
		for _, f := range filters(rows) {
			var want []string
			for _, r := range rows {
				if r.chosen(f) {
					want = append(want, r.ID)
				}
			}
			got, err := list.ids(list.db, f)
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%s by %+v (sees %+v): %v, want %v (%v)", name, f, f.Sees, got, want, err)
			}
			if list.count != nil {
				if n, err := list.count(list.db, f); err != nil || int(n) != len(want) {
					t.Errorf("%s by %+v: counted %d, want %d (%v)", name, f, n, len(want), err)
				}
			}
			if len(want) > 0 && len(want) < len(rows) {
				some++
			}
		}
		if some < 6 {
			t.Errorf("%s: only %d filters choose some of the rows", name, some)
		}
	}
}

// filters returns one filter by each value in the rows, by what is in none, by two fields
// at once, and by what callers may see.
func filters(rows []listed) (all []query.Filter) {
	all = append(all, query.Filter{}, query.Filter{Profile: "none"}, query.Filter{Sees: &access.Filter{}}, query.Filter{Sees: &access.Filter{All: true}})
	for _, r := range rows {
		sees := []*access.Filter{{Collections: []string{"none", r.Collection}}, {Submitter: r.Submitter}, {Collections: []string{"none"}, Submitter: r.Submitter}}
		all = append(all, query.Filter{Submitter: rows[0].Submitter, Sees: sees[1]}, query.Filter{Profile: r.Profile}, query.Filter{Collection: r.Collection}, query.Filter{Submitter: r.Submitter},
			query.Filter{Code: r.Code}, query.Filter{Since: r.At}, query.Filter{Until: r.At},
			query.Filter{Submitter: r.Submitter, Code: r.Code, Sees: sees[0]}, query.Filter{Collection: rows[0].Collection, Sees: sees[1]})
		for _, host := range r.Hosts {
			all = append(all, query.Filter{Host: host}, query.Filter{Host: host, Sees: sees[1]})
		}
		for _, s := range sees {
			all = append(all, query.Filter{Sees: s})
		}
	}
	return all
}

// differ makes rows differ in what those of the stories have in common.
const differ = `
	update accession.batch set collection = 'c' || right(id, 1), profile_name = 'p' || right(id, 1);
	update accession.job set collection = 'c' || right(id, 1)::int % 2, host = 'h' || right(id, 1)::int % 3, submitter = 's' || right(id, 1)::int % 2;
	update accession.file f set collection = 'c' || seq % 2, host = 'h' || seq % 3, profile_name = 'p' || seq % 4,
		submitter = (select submitter from accession.job where id = f.job_id)`

func idsOf[T any](rows []T, id func(T) string) (ids []string) {
	for _, r := range rows {
		ids = append(ids, id(r))
	}
	return ids
}

// TestLongListsAreNotCounted: what a list has is counted up to a number, which costs no more
// among a million, and what is asked for as a number is counted whole.
func TestLongListsAreNotCounted(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, _, _ := story(t)
	db := projected(t, w)
	more := func(n int) { // copies of a row
		t.Helper()
		for _, table := range []string{"batch", "job"} {
			var columns string
			err := db.QueryRow(ctx, `select string_agg(column_name, ',') from information_schema.columns
				where table_schema = 'accession' and table_name = $1 and is_generated = 'NEVER' and column_name <> 'id'`, table).Scan(&columns)
			if err == nil {
				_, err = db.Exec(ctx, fmt.Sprintf(`insert into accession.%[1]s (id, %[2]s) select 'copy' || n, %[2]s from (select * from accession.%[1]s limit 1) old,
					generate_series((select count(*) + 1 from accession.%[1]s), $1) n`, table, columns), n)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for n, listed := range []bool{true, false} {
		want := int64(query.MostCounted + n)
		more(int(want))
		for name, count := range map[string]struct {
			listed func() (*int64, error)
			total  func() (int64, error)
		}{
			"batches": {func() (*int64, error) { return query.ListedBatches(ctx, db, query.BatchFilter{}) }, func() (int64, error) { return query.TotalBatches(ctx, db, query.BatchFilter{}) }},
			"jobs":    {func() (*int64, error) { return query.ListedJobs(ctx, db, query.JobFilter{}) }, func() (int64, error) { return query.TotalJobs(ctx, db, query.JobFilter{}) }},
		} {
			if got, err := count.listed(); err != nil || (got != nil) != listed || listed && *got != want {
				t.Errorf("a list of %d %s: counted %v (%v)", want, name, got, err)
			}
			if got, err := count.total(); err != nil || got != want {
				t.Errorf("%d %s: counted %d (%v)", want, name, got, err)
			}
		}
	}
}
