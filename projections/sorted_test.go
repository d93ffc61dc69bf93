package projections_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// sortedList is a list with its orders: what each sorts by, as PostgreSQL compares it.
type sortedList struct {
	db     *pgxpool.Pool
	orders query.Orders
	table  string            // with the alias r
	id     string            // what names a row
	any    string            // what it is sorted by in the order in which rows are made
	equal  string            // how rows with equal values are sorted
	by     map[string]string // nothing to sort by is null
	change string            // changes what the row $1 is sorted by in the order status
	read   func(query.DB, query.Sorting, int) (ids, keys []string, err error)
}

// rowsOf takes rows of a list apart.
func rowsOf[Row any](rows []query.Sorted[Row], id func(Row) string, err error) (ids, keys []string, _ error) {
	for _, r := range rows {
		ids, keys = append(ids, id(r.Row)), append(keys, r.Key)
	}
	return ids, keys, err
}

// words is what a text is sorted by.
func words(column string) string {
	return `nullif(lower(left(` + column + `, 256)), '') collate "C"`
}

// vary makes rows differ in what lists sort by.
const vary = `
	update accession.batch set erc_what = case right(id, 4)::int / 3 % 3 when 0 then '' when 1 then 'B' || id else 'a' || id end, rows_listed = nullif(right(id, 4)::int / 5 % 12, 4), jobs_completed = right(id, 4)::int / 3 % 13,
		jobs_failed = 10 * (right(id, 4)::int / 3 % 14), submitter = 's' || right(id, 4)::int / 3 % 2, reason_code = case right(id, 4)::int / 3 % 2 when 0 then 'c' || right(id, 4)::int / 7 % 10 end, reason_message = 'because';
	update accession.file_count set files_listed = right(id, 4)::int / 5 % 11, bytes_listed = 1000000 * (right(id, 4)::int / 5 % 13) where id like 'bid%';
	update accession.job set erc_what = case right(id, 4)::int / 3 % 3 when 0 then '' when 1 then 'Ärger' || repeat('x', 300) else 'a' || id end, files = nullif(right(id, 4)::int / 5 % 12, 5), bytes = nullif(1000 * (right(id, 4)::int / 5 % 9), 3000),
		retry_count = right(id, 4)::int / 3 % 4, primary_identifier = case right(id, 4)::int / 3 % 3 when 0 then '' else 'ark:/1/' || right(id, 3) end, submitter = 's' || right(id, 4)::int / 3 % 2,
		reason_code = case right(id, 4)::int / 3 % 2 when 0 then 'c' || right(id, 4)::int / 7 % 10 end, reason_message = 'because';
	update accession.file set path = right(seq::text, 1) || '/' || path, size = seq % 7, listed_size = seq % 5, download_attempts = seq % 12, processing_attempts = seq % 3, dataset = case seq % 2 when 0 then '' else 'd' || seq % 5 end,
		reason_code = case seq % 2 when 0 then 'c' || seq % 10 end, reason_message = 'because'`

// TestSortedLists compares each order of each list, in both directions and read page by page, with
// that in which PostgreSQL has the values themselves. A row that changes while a list is read moves
// no page.
func TestSortedLists(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	v, _ := fileStory(t)
	db := projected(t, v)
	projtest.Crowd(t, db, 40)
	if _, err := db.Exec(ctx, vary); err != nil {
		t.Fatal(err)
	}
	for name, l := range map[string]sortedList{
		"batches": {db, query.BatchOrders, "accession.batch r left join accession.file_count c on c.id = r.id", "r.id", "r.id", "r.id desc",
			map[string]string{"status": words("r.status"), "title": words("coalesce(nullif(r.erc_what, ''), r.file_name)"), "submitter": words("r.submitter"), "profile_name": words("r.profile_name"), "rows_listed": "r.rows_listed",
				"jobs_completed": "r.jobs_completed", "jobs_failed": "r.jobs_failed", "files_listed": "coalesce(c.files_listed, 0)", "bytes_listed": "coalesce(c.bytes_listed, 0)", "submitted_at": "r.submitted_at", "reason": words("r.reason_code || r.reason_message")},
			"update accession.batch set status = 'zzz' where id = $1",
			func(db query.DB, s query.Sorting, limit int) (ids, keys []string, err error) {
				rows, err := query.SortedBatches(ctx, db, query.BatchFilter{Limit: limit}, s)
				return rowsOf(rows, func(r query.BatchSummary) string { return r.BatchID }, err)
			}},
		"jobs": {db, query.JobOrders, "accession.job r", "r.id", "r.id", "r.id",
			map[string]string{"batch_id": words("r.batch_id"), "status": words("r.status"), "status_since": "r.status_since", "title": words("coalesce(nullif(r.erc_what, ''), r.file_name)"), "primary_identifier": words("r.primary_identifier"),
				"collection": words("r.collection"), "submitter": words("r.submitter"), "files": "r.files", "bytes": "r.bytes", "retry_count": "r.retry_count", "reason": words("r.reason_code || r.reason_message")},
			"update accession.job set status = 'zzz' where id = $1",
			func(db query.DB, s query.Sorting, limit int) (ids, keys []string, err error) {
				rows, err := query.SortedJobs(ctx, db, query.JobFilter{Limit: limit}, s)
				return rowsOf(rows, func(r query.JobRow) string { return r.ID }, err)
			}},
		"files": {db, query.FileOrders, "accession.file r", "r.raw_file_hash", "r.seq", "r.seq",
			map[string]string{"path": words("r.path"), "status": words("r.status"), "status_since": "r.status_since", "job_id": words("r.job_id"), "batch_id": words("r.batch_id"), "dataset": words("r.dataset"), "size": "greatest(r.size, r.listed_size)",
				"download_attempts": "r.download_attempts", "processing_attempts": "r.processing_attempts", "reason": words("r.reason_code || r.reason_message"), "id": words("r.raw_file_hash")},
			"update accession.file set status = 'ZZZ' where raw_file_hash = $1",
			func(db query.DB, s query.Sorting, limit int) (ids, keys []string, err error) {
				rows, err := query.SortedFiles(ctx, db, query.FileFilter{Limit: limit}, s)
				return rowsOf(rows, func(r query.FileRow) string { return r.RawFileHash }, err)
			}},
	} {
		if len(l.by) != len(l.orders.Few) {
			t.Errorf("%s have %d orders, and %d are compared", name, len(l.orders.Few), len(l.by))
		}
		orders := map[string]bool{}
		for _, by := range append(slices.Clone(l.orders.Few), l.orders.Any) {
			for _, down := range []bool{false, true} {
				order := l.by[by] + map[bool]string{false: "", true: " desc"}[down] + " nulls last, " + l.equal
				if by == l.orders.Any {
					order = l.any + map[bool]string{false: "", true: " desc"}[down]
				}
				result, err := db.Query(ctx, "select "+l.id+" from "+l.table+" order by "+order)
				if err != nil {
					t.Fatalf("%s by %s: %v", name, by, err)
				}
				want, err := pgx.CollectRows(result, pgx.RowTo[string])
				if err != nil || len(want) < 20 {
					t.Fatalf("%s: %d rows (%v)", name, len(want), err)
				}
				if got, err := l.all(query.Sorting{By: by, Down: down}, func(string) {}); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s by %s, down %t: %v, want %v (%v)", name, by, down, got, want, err)
				}
				orders[fmt.Sprint(want)] = true
			}
		}
		if most := 2 * len(l.orders.Few); len(orders) < most*3/4 {
			t.Errorf("%s have only %d different orders of %d", name, len(orders), most)
		}
		s := query.Sorting{By: "status"}
		want, err := l.all(s, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.all(s, func(last string) {
			if _, err := db.Exec(ctx, l.change, last); err != nil {
				t.Fatal(err)
			}
		})
		seen := map[string]bool{}
		got = slices.DeleteFunc(got, func(id string) bool { again := seen[id]; seen[id] = true; return again }) // it is last now
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s that change while they are read: %v, want %v (%v)", name, got, want, err)
		}
	}
}

// all reads a list page by page.
func (l sortedList) all(s query.Sorting, between func(last string)) (all []string, err error) {
	const pages = 7
	for {
		ids, keys, err := l.read(l.db, s, pages)
		if all = append(all, ids...); err != nil || len(ids) < pages {
			return all, err
		}
		s.Last, s.LastKey = ids[pages-1], keys[pages-1]
		between(s.Last)
	}
}
