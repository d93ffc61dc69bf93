package projections_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// anew is a rebuild from a log that does not grow.
func anew(db *pgxpool.Pool, log []domain.Recorded) rebuild.Config {
	return rebuild.Config{Pool: db, Source: sourceOf(log), Stream: config(db, log).Stream, Window: 500,
		Last: func(context.Context) (uint64, error) { return uint64(len(log)), nil }}
}

// digests gives those of the live tables, which must hold something.
func digests(t *testing.T, db *pgxpool.Pool) map[string]projtest.Digest {
	t.Helper()
	d := projtest.Digests(t, db)
	for table, one := range d {
		if one.Rows == 0 {
			t.Fatalf("%s has no rows: the history proves nothing of it", table)
		}
	}
	return d
}

func schemas(t *testing.T, db query.DB) string {
	t.Helper()
	var names string
	if err := db.QueryRow(context.Background(), "select string_agg(nspname, ' ' order by nspname) from pg_namespace where nspname ~ '^(accession|report)'").Scan(&names); err != nil {
		t.Fatal(err)
	}
	return names
}

// shape is all that the database says of the two schemas: columns, comments,
// indexes, views, functions, rights.
func shape(t *testing.T, db query.DB) [][]string {
	t.Helper()
	return all(t, db, `
select * from (
select c.relkind::text, c.relname::text, a.attname::text, format_type(a.atttypid, a.atttypmod), coalesce(col_description(c.oid, a.attnum), ''), coalesce(obj_description(c.oid, 'pg_class'), ''), coalesce(c.relacl::text, ''), c.relowner::regrole::text
from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped where c.relnamespace in ('accession'::regnamespace, 'report'::regnamespace) and c.relkind <> 'S'
union all select 'index', c.relname::text, pg_get_indexdef(i.indexrelid), '', '', '', '', '' from pg_index i join pg_class c on c.oid = i.indexrelid where c.relnamespace = 'accession'::regnamespace
union all select 'constraint', k.conname::text, k.conrelid::regclass::text, pg_get_constraintdef(k.oid), (k.conparentid <> 0)::text, '', '', '' from pg_constraint k where k.connamespace = 'accession'::regnamespace
union all select 'view', c.relname::text, pg_get_viewdef(c.oid), '', '', '', '', '' from pg_class c where c.relnamespace = 'report'::regnamespace and c.relkind = 'v'
union all select 'function', p.proname::text, pg_get_functiondef(p.oid), obj_description(p.oid, 'pg_proc'), coalesce(p.proacl::text, ''), '', '', '' from pg_proc p where p.pronamespace in ('accession'::regnamespace, 'report'::regnamespace)
union all select 'schema', n.nspname::text, coalesce(n.nspacl::text, ''), obj_description(n.oid, 'pg_namespace'), '', '', '', '' from pg_namespace n where n.nspname ~ '^(accession|report)'
) s order by 1, 2, 3`)
}

// TestRebuildEqualsLive: made from zero the tables are equal, byte for byte, to
// those that the projector filled event by event, and so is all around them.
// Shows: P4
func TestRebuildEqualsLive(t *testing.T) {
	t.Parallel()
	w := history(t, 31, 4000)
	db := granted(t)
	cfg := config(db, w.log)
	cfg.MaxBatch = 37
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	before, looks := digests(t, db), shape(t, db)
	var phases []string
	re := anew(db, w.log)
	re.Progress = func(p rebuild.Progress) { phases = append(phases, p.Phase) }
	done, err := rebuild.Run(context.Background(), re)
	if err != nil {
		t.Fatal(err)
	}
	if done.Compared != "" || done.At != int64(len(w.log)) || done.Events != int64(len(w.log)) || len(done.Tables) != len(before) || done.Kept {
		t.Errorf("%+v", done)
	}
	if diff := cmp.Diff(before, digests(t, db)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(looks, shape(t, db)); diff != "" {
		t.Error(diff)
	}
	if got := schemas(t, db); got != "accession report" {
		t.Errorf("there are %s", got)
	}
	if got := strings.Join(phases, " "); !strings.HasPrefix(got, "replay replay") || !strings.Contains(got, "index") || !strings.Contains(got, "compare event") || !strings.HasSuffix(got, "swap") {
		t.Errorf("progress: %s", got)
	}
	w.compare(db)
	// The projector goes on in the new ones.
	more := history(t, 31, 4400)
	if err := run(t, config(db, more.log)); err != nil {
		t.Fatal(err)
	}
	more.compare(db)
}

// TestRebuildWhileLive: the projector goes on during the whole of a rebuild, and
// over its swap, and nothing is lost or doubled.
// Shows: P4
func TestRebuildWhileLive(t *testing.T) {
	t.Parallel()
	w := history(t, 32, 6000)
	db, ctx := projtest.DB(t), context.Background()
	var come atomic.Int64 // how much of the log is there
	come.Store(3000)
	swapped := make(chan struct{})
	live := config(db, w.log)
	live.MaxBatch, live.MaxDelay = 20, time.Millisecond
	live.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range sourceOf(w.log)(ctx, from) {
				if r.Seq > uint64(len(w.log)-200) {
					select {
					case <-swapped: // the last ones come to the new tables
					case <-ctx.Done():
						return
					}
				}
				if !yield(r, err) {
					return
				}
				if int64(r.Seq) > come.Load() {
					come.Store(int64(r.Seq))
				}
			}
		}
	}
	started := make(chan struct{}, 1)
	live.Applied = func(projections.Applied) {
		select {
		case started <- struct{}{}:
		default:
		}
	}
	ended := make(chan error, 1)
	go func() {
		for { // as the service does
			p, err := projections.New(live)
			if err == nil {
				err = p.Run(ctx)
			}
			if !errors.Is(err, projections.ErrOtherProjector) {
				ended <- err
				return
			}
		}
	}()
	<-started
	re := anew(db, w.log)
	re.Window = 100
	done, err := rebuild.Run(ctx, re)
	close(swapped)
	if err != nil || done.Compared != "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.compare(db)
	again := projtest.DB(t)
	if err := run(t, config(again, w.log)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digests(t, again), digests(t, db)); diff != "" {
		t.Error(diff)
	}
}

// TestRebuildInterrupted: wherever it ends, the live tables are as they were;
// resumed it goes on where it was; dropped it is gone.
// Shows: P4
func TestRebuildInterrupted(t *testing.T) {
	t.Parallel()
	w := history(t, 33, 3000)
	db := projtest.DB(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	before := digests(t, db)
	ctx := context.Background()
	resume := false
	for _, phase := range []string{"replay", "index", "compare event", "compare setting", "swap"} {
		stop, cancel := context.WithCancel(ctx)
		re := anew(db, w.log)
		re.Window, re.Resume = 300, resume
		seen := 0
		re.Progress = func(p rebuild.Progress) {
			if p.Phase == phase {
				if seen++; seen == 2 || phase != "replay" {
					cancel()
				}
			}
		}
		if _, err := rebuild.Run(stop, re); !errors.Is(err, context.Canceled) {
			t.Fatalf("%s: %v", phase, err)
		}
		cancel()
		resume = true
		if diff := cmp.Diff(before, digests(t, db)); diff != "" {
			t.Fatalf("%s: %s", phase, diff)
		}
		if got := schemas(t, db); got != "accession accession_next report report_next" {
			t.Fatalf("%s: there are %s", phase, got)
		}
		if _, err := rebuild.Run(ctx, anew(db, w.log)); !errors.Is(err, rebuild.ErrLeft) {
			t.Fatalf("%s: begun again: %v", phase, err)
		}
	}
	re := anew(db, w.log)
	re.Resume, re.KeepOld = true, true
	done, err := rebuild.Run(ctx, re)
	if err != nil || done.Events > int64(len(w.log))/2 || !done.Kept || done.Compared != "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if diff := cmp.Diff(before, digests(t, db)); diff != "" {
		t.Error(diff)
	}
	if _, err := rebuild.Run(ctx, anew(db, w.log)); !errors.Is(err, rebuild.ErrOldKept) {
		t.Errorf("over kept tables: %v", err)
	}
	if err := rebuild.Drop(ctx, db, false); err != nil || schemas(t, db) != "accession report" {
		t.Errorf("dropped: %v, %s", err, schemas(t, db))
	}
	if _, err := rebuild.Run(ctx, re); !errors.Is(err, rebuild.ErrNone) {
		t.Errorf("resumed what is not there: %v", err)
	}
	w.compare(db)
}

// TestRebuildDiffers: a row that is otherwise in the live tables blocks the swap,
// unless the tables had another meaning or somebody accepts it.
func TestRebuildDiffers(t *testing.T) {
	t.Parallel()
	w := history(t, 34, 1500)
	db, ctx := projtest.DB(t), context.Background()
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	right := digests(t, db)
	wrong := func() {
		exec(t, db, "update accession.job set priority = priority + 1 where id = (select min(id) from accession.job)")
	}
	wrong()
	_, err := rebuild.Run(ctx, anew(db, w.log))
	var differ *rebuild.DifferentError
	if !errors.As(err, &differ) || !strings.Contains(err.Error(), "job has") {
		t.Fatalf("got %v", err)
	}
	for _, d := range differ.Tables {
		if d.Same() == (d.Table == "job") {
			t.Errorf("%+v", d)
		}
	}
	re := anew(db, w.log)
	re.Resume, re.Accept = true, true
	if done, err := rebuild.Run(ctx, re); err != nil || done.Compared == "" {
		t.Fatalf("accepted: %+v, %v", done, err)
	}
	if diff := cmp.Diff(right, digests(t, db)); diff != "" {
		t.Error(diff)
	}

	wrong()
	exec(t, db, "update accession.checkpoint set meaning = 0")
	var old *projections.VersionError
	if err := run(t, config(db, w.log)); !errors.As(err, &old) {
		t.Errorf("a projector of another meaning: %v", err)
	}
	if done, err := rebuild.Run(ctx, anew(db, w.log)); err != nil || !strings.Contains(done.Compared, "version 0") {
		t.Fatalf("another meaning: %+v, %v", done, err)
	}
	if diff := cmp.Diff(right, digests(t, db)); diff != "" {
		t.Error(diff)
	}
	if err := run(t, config(db, w.log)); err != nil {
		t.Error(err)
	}
}

// TestRebuildStopsAtPoison: what holds one aggregate of the live tables ends a
// rebuild, and when it is mended both go on; the live ones lack nothing behind it.
func TestRebuildStopsAtPoison(t *testing.T) {
	t.Parallel()
	w := history(t, 35, 1500)
	db, ctx := projtest.DB(t), context.Background()
	at := w.middle(domain.KindJob)
	cfg := config(db, w.log)
	cfg.Source, cfg.RetryDelay = spoiled(w.log, at), time.Microsecond
	if err := run(t, cfg); err != nil {
		t.Fatal(err)
	}
	re := anew(db, w.log)
	re.Source, re.Window = spoiled(w.log, at), 100
	var event *projections.EventError
	if _, err := rebuild.Run(ctx, re); !errors.As(err, &event) || event.Seq != uint64(at+1) {
		t.Fatalf("got %v", err)
	}
	re = anew(db, w.log)
	re.Resume = true
	if done, err := rebuild.Run(ctx, re); err != nil || !strings.Contains(done.Compared, "held") {
		t.Fatalf("mended: %+v, %v", done, err)
	}
	w.compare(db)
}

// TestRebuildFromAnotherLog: when the log was replaced or lost its tail, the
// projector says so, and a rebuild makes the tables from what is there.
func TestRebuildFromAnotherLog(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*projections.StreamInfo){
		"replaced":         func(s *projections.StreamInfo) { s.Created = s.Created.Add(time.Hour) },
		"its tail is lost": func(*projections.StreamInfo) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := history(t, 36, 900)
			db, ctx := projtest.DB(t), context.Background()
			if err := run(t, config(db, w.log)); err != nil {
				t.Fatal(err)
			}
			short := history(t, 36, 500)
			cfg := config(db, short.log)
			change(&cfg.Stream)
			var stream *projections.StreamError
			if err := run(t, cfg); !errors.As(err, &stream) || !strings.Contains(err.Error(), "accession restore log") {
				t.Fatalf("got %v", err)
			}
			re := anew(db, short.log)
			re.Stream = cfg.Stream
			if done, err := rebuild.Run(ctx, re); err != nil || done.Compared == "" {
				t.Fatalf("%+v, %v", done, err)
			}
			short.compare(db)
			if err := run(t, cfg); err != nil {
				t.Error(err)
			}
		})
	}
}
