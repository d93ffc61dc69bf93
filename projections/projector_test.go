package projections_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/domain/compute"
	"github.com/accession-ingest/accession/domain/slot"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// TestEqualsFold: what SQL holds is what folding the log gives, however the log
// is cut into transactions.
// Shows: P4
func TestEqualsFold(t *testing.T) {
	t.Parallel()
	for seed, size := range []int{1000, 1, 7, 50} {
		t.Run(fmt.Sprintf("seed %d, %d at once", seed, size), func(t *testing.T) {
			t.Parallel()
			w := history(t, uint64(seed), 800)
			db := projtest.DB(t)
			cfg := config(db, w.log)
			cfg.MaxBatch = size
			if err := run(t, cfg); err != nil {
				t.Fatal(err)
			}
			w.compare(db)
		})
	}
}

// compare checks every aggregate, the history and the attempts against the log.
func (w *world) compare(db *pgxpool.Pool) {
	t := w.t
	t.Helper()
	got := w.projected(db)
	want := world{batches: map[domain.BatchID]domain.Batch{}, jobs: w.jobs, files: w.files, settings: w.settings}
	for id, batch := range w.batches {
		batch.NextRow = 0 // kept in ZooKeeper only
		want.batches[id] = batch
	}
	if diff := cmp.Diff([]any{want.batches, want.jobs, want.files, want.settings}, []any{got.batches, got.jobs, got.files, got.settings}); diff != "" {
		t.Fatal(diff)
	}
	w.compareHistory(db)
	addsUp(t, db)
}

// projected returns all aggregates as the tables have them.
func (w *world) projected(db query.DB) (got world) {
	ctx := context.Background()
	w.t.Helper()
	err := query.ReadTables(ctx, db, func(tables query.Tables) error {
		batches, err := tables.Batches(ctx, "", math.MaxInt32)
		if err != nil {
			return err
		}
		jobs, err := tables.Jobs(ctx, "", math.MaxInt32)
		if err != nil {
			return err
		}
		files, err := tables.Files(ctx, "", math.MaxInt32)
		if err != nil {
			return err
		}
		settings, err := tables.Settings(ctx)
		got.batches = byKey(batches, func(b domain.Batch) domain.BatchID { return b.ID })
		got.jobs = byKey(jobs, func(j domain.Job) domain.JobID { return j.ID })
		got.files = byKey(files, func(f domain.File) domain.FileHash { return f.Hash })
		got.settings = byKey(settings, func(s domain.Setting) string { return s.Aggregate().ID })
		return err
	})
	work, werr := query.Entries(ctx, db, query.EntryFilter{Limit: math.MaxInt32})
	rows, qerr := query.Queries(ctx, db, query.QueryFilter{Limit: math.MaxInt32})
	if err := errors.Join(err, qerr, werr); err != nil {
		w.t.Fatal(err)
	}
	slots, err := query.Slots(ctx, db, query.SlotFilter{Limit: math.MaxInt32})
	if err != nil {
		w.t.Fatal(err)
	}
	got.slotted = map[string]int{}
	for _, row := range slots {
		history, err := query.SlotHistory(ctx, db, slot.ID(row.SlotID))
		if err != nil || row.Status != history[len(history)-1].ToStatus {
			w.t.Fatalf("%s is %s after %+v, %v", row.SlotID, row.Status, history, err)
		}
		got.slotted[row.SlotID] = len(history)
	}
	got.worked = map[compute.ID]int64{}
	for _, row := range work {
		got.worked[compute.ID(row.ID)] = row.Version
	}
	got.asked = map[domain.QueryID]int64{}
	for _, row := range rows {
		got.asked[domain.QueryID(row.ID)] = row.Version
	}
	return got
}

func byKey[K comparable, V any](list []V, key func(V) K) map[K]V {
	m := make(map[K]V, len(list))
	for _, v := range list {
		m[key(v)] = v
	}
	return m
}

func (w *world) compareHistory(db *pgxpool.Pool) {
	t, ctx := w.t, context.Background()
	t.Helper()
	rows, err := db.Query(ctx, "select seq, id, type, batch_id, actor, command_id, zxid, data from accession.event order by seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var seq, zxid int64
		var id, typ, batch, actor, command string
		var data []byte
		if err := rows.Scan(&seq, &id, &typ, &batch, &actor, &command, &zxid, &data); err != nil {
			t.Fatal(err)
		}
		want := w.log[n]
		def, _ := domain.Lookup(want.Type)
		got := def.New()
		if err := json.Unmarshal(data, got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Data, got); diff != "" {
			t.Fatalf("data of event %d:\n%s", seq, diff)
		}
		if diff := cmp.Diff([]any{want.Seq, want.ID(), string(want.Type), string(want.BatchID), string(want.Actor), want.CommandID, want.Zxid},
			[]any{uint64(seq), id, typ, batch, actor, command, zxid}); diff != "" {
			t.Fatalf("event %d:\n%s", seq, diff)
		}
	}
	if rows.Err() != nil || n != len(w.log) {
		t.Fatalf("%d events of %d in the history: %v", n, len(w.log), rows.Err())
	}
	transitions, failures, reports, ofFiles := 0, 0, 0, 0
	for _, r := range w.log {
		if m, ok := domain.MoveOfJob(r.Data); ok && m.From != m.To {
			transitions++
			if m.To == domain.JobFailed {
				failures++
			}
		}
		if m, ok := domain.MoveOfFile(r.Data); ok {
			ofFiles++
			if m.To == domain.FileDownloadingFailed || m.To == domain.FileProcessingFailed {
				failures++
			}
		}
		if _, ok := r.Data.(*domain.BatchReport); ok {
			reports++
		}
	}
	for table, want := range map[string]int{"job_transition": transitions, "retry": failures, "batch_report": reports, "file_transition": ofFiles, "file": len(w.files)} {
		if got := count(t, db, "select count(*) from accession."+table); got != want {
			t.Errorf("%s has %d rows, want %d", table, got, want)
		}
	}
	if got := count(t, db, traced); got != failures {
		t.Errorf("%d failures of %d have the trace of their event", got, failures)
	}
}

// traced counts the failed attempts that have the trace of the event that told of
// them, or none where that has none.
const traced = `
select count(*) from accession.retry r
left join accession.job_transition t on r.kind = 'job' and t.job_id = r.job_id and t.to_status = 'failed' and t.retry_count = r.number - 1
join accession.event e on e.kind = r.kind and e.aggregate_id = case r.kind when 'job' then r.job_id else r.raw_file_hash end and e.version = coalesce(t.version, r.number)
where r.trace_id is not distinct from nullif(split_part(e.trace_parent, '-', 2), '')`

func count(t testing.TB, db query.DB, sql string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRow(context.Background(), sql, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// addsUp finds batches whose counters do not sum up, or do not agree with the
// jobs there are.
func addsUp(t testing.TB, db query.DB) {
	t.Helper()
	const wrong = `
select count(*) from accession.batch b
left join lateral (
	select count(*) as created,
		count(*) filter (where status = 'held') as held,
		count(*) filter (where status = 'failed') as failed,
		count(*) filter (where status = 'completed') as completed,
		count(*) filter (where status = 'deleted') as deleted
	from accession.job j where j.batch_id = b.id) j on true
where b.rows_listed <> b.jobs_completed + b.jobs_failed + b.jobs_held + b.jobs_deleted + b.jobs_in_progress
	or b.jobs_created <> b.jobs_processing + b.jobs_completed + b.jobs_failed + b.jobs_held + b.jobs_deleted
	or b.jobs_created > b.rows_listed
	or (b.jobs_created, b.jobs_held, b.jobs_failed, b.jobs_completed, b.jobs_deleted) is distinct from (j.created, j.held, j.failed, j.completed, j.deleted)`
	if n := count(t, db, wrong); n != 0 {
		t.Fatalf("%d batches do not add up", n)
	}
	filesAddUp(t, db)
}

// filesAddUp finds jobs and batches whose counters of files do not sum up or do
// not agree with the files there are, and files whose failed attempts do not fit
// their state.
func filesAddUp(t testing.TB, db query.DB) {
	t.Helper()
	const wrong = `
select count(*) from (select distinct unnest(array[job_id, batch_id]) as id from accession.file where job_id <> '') ids
left join accession.file_count c using (id)
left join lateral (
	select count(*) as listed, coalesce(sum(size), 0) as bytes,
		count(*) filter (where not gone and status = 'PROCESSED') as processed,
		count(*) filter (where not gone and status = 'SKIPPED') as skipped,
		count(*) filter (where not gone and status in ('IGNORE', 'ABANDONED')) as given_up,
		count(*) filter (where gone) as deleted,
		count(*) filter (where sha256 <> '') as downloaded, coalesce(sum(size) filter (where sha256 <> ''), 0) as bytes_downloaded
	from (select f.*, coalesce(j.status = 'deleted', false) as gone from accession.file f
		left join accession.job j on j.id = f.job_id where f.job_id <> '' and (f.job_id = ids.id or f.batch_id = ids.id)) f) f on true
where c.files_listed <> c.files_processed + c.files_skipped + c.files_given_up + c.files_deleted + c.files_in_progress
	or (c.files_listed, c.files_processed, c.files_skipped, c.files_given_up, c.files_deleted, c.files_downloaded, c.bytes_listed, c.bytes_downloaded)
	is distinct from (f.listed, f.processed, f.skipped, f.given_up, f.deleted, f.downloaded, f.bytes, f.bytes_downloaded)`
	if n := count(t, db, wrong); n != 0 {
		t.Fatalf("the files of %d jobs and batches do not add up", n)
	}
	if n := count(t, db, "select count(*) from accession.file f left join accession.job j on j.id = f.job_id where f.submitter <> coalesce(j.submitter, '')"); n != 0 {
		t.Fatalf("%d files are not of their jobs' submitters", n)
	}
	const odd = `
select count(*) from accession.file f left join lateral (
	select count(*) filter (where r.outcome = 'open') as open, count(*) filter (where r.outcome = 'given_up') as given_up, max(r.number) as last
	from accession.retry r where r.raw_file_hash = f.raw_file_hash) r on true
where f.status in ('DOWNLOADING_FAILED', 'PROCESSING_FAILED') and (r.open <> 1 or r.last <> f.version or f.open_failure <> f.version)
	or f.status in ('IGNORE', 'ABANDONED') and (r.open <> 0 or r.given_up <> 1)
	or f.status in ('PROCESSED', 'DOWNLOADED', 'SKIPPED') and (r.open <> 0 or r.given_up <> 0 or f.open_failure is not null)`
	if n := count(t, db, odd); n != 0 {
		t.Fatalf("the failed attempts of %d files do not fit their state", n)
	}
}

// TestAddsUpAlways looks after every single event.
func TestAddsUpAlways(t *testing.T) {
	t.Parallel()
	for seed, events := range map[uint64]int{6: 900, 61: 300, 62: 300, 63: 300, 64: 300} {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			db := projtest.DB(t)
			cfg := config(db, history(t, seed, events).log)
			cfg.MaxBatch = 1
			seen := "ffffff"
			cfg.Applied = func(projections.Applied) {
				addsUp(t, db)
				seen = ever(t, db, seen)
			}
			if err := run(t, cfg); err != nil {
				t.Fatal(err)
			}
			if listed := count(t, db, "select count(*) from accession.batch where rows_listed > 0"); listed < events/180 {
				t.Fatalf("only %d batches were listed: the history proves nothing", listed)
			}
			if events == 900 && seen != "tttttt" {
				t.Errorf("not all kinds of file were counted (%s): the history proves nothing of them", seen)
			}
		})
	}
}

// ever adds which counters of files are in use now to those that were.
func ever(t testing.TB, db query.DB, before string) (now string) {
	t.Helper()
	const used = `
select string_agg(case when substr($1, i, 1) = 't' or c.n[i] > 0 then 't' else 'f' end, '' order by i)
from generate_series(1, 6) i, (select array[sum(files_processed), sum(files_skipped), sum(files_given_up), sum(files_deleted),
	sum(files_in_progress), sum(files_downloaded)] as n from accession.file_count) c`
	if err := db.QueryRow(context.Background(), used, before).Scan(&now); err != nil {
		t.Fatal(err)
	}
	return now
}

// TestRefusesDamage: an event that cannot follow is held, with its place, or stops the
// projector when it is the place that is wrong. What came before it is left.
func TestRefusesDamage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(log []domain.Recorded) []domain.Recorded{
		"version skipped": func(log []domain.Recorded) []domain.Recorded { log[40].Version++; return log },
		"wrong state": func(log []domain.Recorded) []domain.Recorded {
			log[40].Data = &domain.JobMoved{JobMove: domain.JobMove{From: "nowhere", To: "nowhere"}}
			return log
		},
		"place skipped": func(log []domain.Recorded) []domain.Recorded {
			log[40].Seq++
			return log
		},
		"unknown aggregate": func(log []domain.Recorded) []domain.Recorded { log[40].Aggregate.Kind = "planet"; return log },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := history(t, 3, 100)
			db := projtest.DB(t)
			cfg := config(db, damage(w.log))
			cfg.MaxBatch = 10
			var held []uint64
			cfg.Held = func(e *projections.EventError) { held = append(held, e.Seq) }
			err := run(t, cfg)
			var stream *projections.StreamError
			switch stops := name == "place skipped"; {
			case stops && (!errors.As(err, &stream) || len(held) > 0):
				t.Errorf("got %v, and held %v", err, held)
			case !stops && (err != nil || len(held) == 0 || held[0] != 41):
				t.Errorf("held %v, want 41 first: %v", held, err)
			case !stops && count(t, db, "select min(seq) from accession.poison_event") != 41:
				t.Error("the table of held events does not begin with 41")
			case stops && count(t, db, "select seq from accession.checkpoint") != 40:
				t.Error("the checkpoint is not at 40")
			}
			if n := count(t, db, "select count(*) from accession.event where seq <= 40"); n != 40 {
				t.Errorf("the history has %d events, want 40", n)
			}
		})
	}
}
