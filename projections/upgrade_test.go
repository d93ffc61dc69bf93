package projections_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// next is what the next version of the program migrates to: all of today's, and one
// more.
func next(t *testing.T, sql string) fs.FS {
	t.Helper()
	all := fstest.MapFS{"20991231000000_next.sql": {Data: []byte("-- +goose Up\n" + sql)}}
	today := migrations.Projection()
	names, err := fs.Glob(today, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(today, name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &fstest.MapFile{Data: data}
	}
	return all
}

// adds is a migration of every sort that a projector of the version before lives
// with: it takes nothing away and asks for nothing.
const adds = `
alter table accession.job add column shelf text, add column weight bigint not null default 7;
alter table accession.file add column shelf text;
alter table accession.event add column shelf text;
alter table accession.batch add column shelf text;
alter table accession.checkpoint add column shelf text;
create index job_shelf on accession.job (shelf);
create index event_shelf on accession.event (shelf);
create table accession.shelf (name text primary key);
create view report.shelves as select shelf, count(*) as jobs from accession.job group by shelf;
`

func up(db *pgxpool.Pool, from fs.FS) (int, error) {
	return migrations.Up(context.Background(), db, migrations.ProjectionSchema, from)
}

func pending(t *testing.T, db *pgxpool.Pool, from fs.FS) int {
	t.Helper()
	n, _, err := migrations.Compare(context.Background(), db, migrations.ProjectionSchema, from)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestMigrationUnderProjector: a projector of the version before goes on through a
// migration that adds, and behind it, while events keep coming; the tables are
// those of one that was migrated before the first event.
func TestMigrationUnderProjector(t *testing.T) {
	t.Parallel()
	w := history(t, 71, 1200)
	db := projtest.DB(t)
	newer := next(t, adds)
	begin, migrated := make(chan struct{}), make(chan struct{})
	cfg := config(db, w.log)
	cfg.MaxBatch, cfg.MaxDelay = 10, time.Millisecond
	cfg.Source = func(ctx context.Context, from uint64) iter.Seq2[domain.Recorded, error] {
		return func(yield func(domain.Recorded, error) bool) {
			for r, err := range sourceOf(w.log)(ctx, from) {
				switch r.Seq {
				case 200:
					close(begin)
				case 1000:
					<-migrated
				}
				if !yield(r, err) {
					return
				}
			}
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- run(t, cfg) }()
	<-begin
	n, err := up(db, newer)
	close(migrated)
	if err != nil || n != 1 {
		t.Errorf("%d migrations: %v", n, err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	w.compare(db)
	if n := count(t, db, "select count(*) from accession.poison_event"); n != 0 {
		t.Errorf("%d events are held", n)
	}

	before := projtest.DB(t)
	if _, err := up(before, newer); err != nil {
		t.Fatal(err)
	}
	if err := run(t, config(before, w.log)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(digests(t, before), digests(t, db)); diff != "" {
		t.Error(diff)
	}

	// Both versions find their tables, and neither migrates again.
	for version, files := range map[string]fs.FS{"old": migrations.Projection(), "new": newer} {
		if n := pending(t, db, files); n != 0 {
			t.Errorf("%d migrations are missing for the %s program", n, version)
		}
		if n, err := up(db, files); n != 0 || err != nil {
			t.Errorf("the %s program migrates: %d, %v", version, n, err)
		}
	}
}

// TestRebuildOfOlderProgram: it would take away what a newer one has added, and
// refuses, also when that happens while it is at work.
func TestRebuildOfOlderProgram(t *testing.T) {
	t.Parallel()
	w := history(t, 73, 400)
	db, ctx := projtest.DB(t), t.Context()
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	re := anew(db, w.log)
	re.Progress = func(p rebuild.Progress) {
		if p.Phase == "index" {
			if n, err := up(db, next(t, adds)); n != 1 || err != nil {
				t.Error(n, err)
			}
		}
	}
	const remedy = "rebuild with that one"
	if _, err := rebuild.Run(ctx, re); err == nil || !strings.Contains(err.Error(), remedy) {
		t.Errorf("migrated meanwhile: %v", err)
	}
	if err := rebuild.Drop(ctx, db, false); err != nil {
		t.Fatal(err)
	}
	if _, err := rebuild.Run(ctx, anew(db, w.log)); err == nil || !strings.Contains(err.Error(), remedy) {
		t.Errorf("migrated before: %v", err)
	}
	if got := schemas(t, db); got != "accession report" {
		t.Errorf("it left %s", got)
	}
	w.compare(db)
}

// TestWrongOrder: a program whose tables were not migrated, or were taken from it,
// says so and what to do, changes nothing, holds nothing, and goes on when that is
// done.
func TestWrongOrder(t *testing.T) {
	t.Parallel()
	w := history(t, 72, 400)
	db := projtest.DB(t)
	if n := pending(t, db, next(t, adds)); n != 1 {
		t.Errorf("the new program finds %d migrations missing, want 1", n)
	}
	exec(t, db, "delete from accession.schema_version where version_id = (select min(version_id) from accession.schema_version where version_id > 0)")
	exec(t, db, "insert into accession.schema_version (version_id, is_applied) values (20991231000000, true)")
	if n := pending(t, db, migrations.Projection()); n != 1 {
		t.Errorf("%d migrations are missing, want 1: as many others do not stand for it", n)
	}
	exec(t, db, "alter table accession.job rename column priority to precedence")
	var tables *projections.TablesError
	if err := run(t, config(db, w.log)); !errors.As(err, &tables) || !strings.Contains(err.Error(), "accession migrate") {
		t.Fatalf("got %v", err)
	}
	if n := count(t, db, "select count(*) + (select count(*) from accession.poison_event) from accession.event"); n != 0 {
		t.Errorf("%d events were applied or held", n)
	}
	exec(t, db, "alter table accession.job rename column precedence to priority")
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	w.compare(db)
}

// awaitLock returns when somebody waits for a lock on the table, and fails when what
// should wait has ended.
func awaitLock(t *testing.T, db *pgxpool.Pool, table string, ended <-chan error) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for count(t, db, "select count(*) from pg_locks where not granted and relation = $1::text::regclass", table) == 0 {
		select {
		case err := <-ended:
			t.Fatal("it did not wait: ", err)
		case <-tick.C:
		}
	}
}

// TestRightsAreGivenAfterADeadlock: the rights that follow a migration lock tables
// too, while a reader, which takes no lock of ours, holds them in its own order.
// PostgreSQL gives them up, and they are given in the end.
func TestRightsAreGivenAfterADeadlock(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := granted(t)
	for tries := 1; ; tries++ {
		exec(t, db, "alter table accession.job owner to current_user")
		other, err := db.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, other, "set local deadlock_timeout = '3s'; lock table accession.job in access share mode")
		ended := make(chan error, 1)
		go func() {
			_, err := up(db, migrations.Projection())
			ended <- err
		}()
		awaitLock(t, db, "accession.job", ended)
		_, gaveUp := other.Exec(ctx, "lock table accession.schema_version in share update exclusive mode")
		if err := other.Rollback(ctx); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if n := count(t, db, `select count(*) from pg_class where oid = 'accession.job'::regclass and relowner = 'accession_owner'::regrole`); n != 1 {
			t.Error("the table has not changed hands")
		}
		if gaveUp == nil { // so the rights were what PostgreSQL gave up
			return
		}
		if tries == 5 {
			t.Fatalf("the deadlock was never theirs: %v", gaveUp)
		}
	}
}
