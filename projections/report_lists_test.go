package projections_test

import (
	"context"
	"iter"
	"runtime"
	"testing"
	"time"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestLongListsAreReadInPages reads 100,000 changes of files, and 10,000 failed
// attempts, more of them at the same time than a page holds: each is there once and
// in order, and what has been read is not kept.
func TestLongListsAreReadInPages(t *testing.T) {
	db := projtest.DB(t)
	ctx := context.Background()
	for _, sql := range []string{
		`insert into accession.retry (kind, job_id, raw_file_hash, number, attempt, batch_id, status, class, code, message, worker, failed_at, outcome)
		 select 'job', 'jid' || lpad((i % 1000)::text, 10, '0'), '', i, i, 'bid0000000001', 'downloading', 'system', 'x', repeat('m', 100), 'w',
		        timestamptz '2026-03-01' + (i / 1500) * interval '1 hour', 'open' from generate_series(1, 10000) i`,
		`insert into accession.file (raw_file_hash, version, status, seq, batch_id, job_id, source, path, by_version, url, listed_size, digest_algorithm,
		        digest_value, size, sha256, download_attempts, processing_attempts, fence, worker, discovered_at, status_since, command_id)
		 select 'h' || i, 5, 'READY', i, 'bid0000000001', 'jid0000000001', 's', 'p' || i, false, '', 0, '', '', 0, '', 1, 0, 0, '', now(), now(), ''
		 from generate_series(1, 20000) i`,
		`insert into accession.file_transition (raw_file_hash, version, batch_id, job_id, from_status, to_status, at, actor, worker, download_attempts,
		        processing_attempts, size, quarantine, seq)
		 select 'h' || i, v, 'bid0000000001', 'jid0000000001', '', 'READY', now(), 'a', '', 0, 0, 0, '', 5 * i + v
		 from generate_series(1, 20000) i, generate_series(1, 5) v`,
		`analyze accession.retry, accession.file, accession.file_transition`,
	} {
		if _, err := db.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	all := query.Range{}
	var last query.Retry
	stream(t, 10_000, query.AllRetries(ctx, db, all), func(r query.Retry) bool {
		order := r.FailedAt.Compare(last.FailedAt)
		ok := order > 0 || order == 0 && (r.JobID > last.JobID || r.JobID == last.JobID && r.Number > last.Number)
		last = r
		return ok
	})
	var before query.FileMove
	stream(t, 100_000, query.FileMoves(ctx, db, all), func(m query.FileMove) bool {
		ok := m.Seq > before.Seq
		before = m
		return ok
	})
	n := 0
	half := query.Range{Since: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 3, 1, 4, 0, 0, 0, time.UTC), Batch: "bid0000000001"}
	for _, err := range query.AllRetries(ctx, db, half) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 5_999 {
		t.Errorf("%d rows are in the range", n)
	}
}

// stream reads a long list and looks what is alive on the way.
func stream[T any](t *testing.T, long int, rows iter.Seq2[T, error], next func(T) bool) {
	t.Helper()
	n, early := 0, uint64(0)
	alive := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	for row, err := range rows {
		if err != nil || !next(row) {
			t.Fatalf("row %d: %+v is out of order, or not there: %v", n, row, err)
		}
		switch n++; n {
		case long / 10:
			early = alive()
		case long - 1:
			if late := alive(); late > early+8<<20 { // kept rows would be 40 MiB and more
				t.Errorf("%d MiB are held after a tenth of the rows, %d MiB at the end", early>>20, late>>20)
			}
		}
	}
	if n != long {
		t.Errorf("%d rows, want %d", n, long)
	}
}
