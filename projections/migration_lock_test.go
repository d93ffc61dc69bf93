package projections_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// heldDB stops in its transaction before the nth table gets new rows.
type heldDB struct {
	query.DB
	left  int
	there chan struct{} // closed when it stops
	goOn  chan struct{} // until this is closed
}

func (h *heldDB) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := h.DB.BeginTx(ctx, opts)
	return &heldTx{tx, h}, err
}

type heldTx struct {
	pgx.Tx
	h *heldDB
}

// Conn is called for copies, and for updates of lists.
func (t *heldTx) Conn() *pgx.Conn {
	if t.h.left--; t.h.left == 0 {
		close(t.h.there)
		<-t.h.goOn
	}
	return t.Tx.Conn()
}

// TestMigrationMeetsProjector: a migration that locks tables in another order than a
// transaction of the projector waits for that one to end before it locks the first,
// and so do the rights; a transaction that begins meanwhile waits for the migration.
func TestMigrationMeetsProjector(t *testing.T) {
	t.Parallel()
	w := history(t, 74, 300)
	db := projtest.DB(t)
	projector := &heldDB{DB: db, left: 3, there: make(chan struct{}), goOn: make(chan struct{})} // the event and the batch are written, the job comes next
	goOn := sync.OnceFunc(func() { close(projector.goOn) })
	defer goOn()
	cfg := config(projector, w.log)
	cfg.MaxBatch = 100
	projected := make(chan error, 1)
	go func() { projected <- run(t, cfg) }()
	<-projector.there
	migrated := make(chan error, 1)
	go func() {
		n, err := up(db, next(t, "alter table accession.job add column shelf text;\nalter table accession.batch add column shelf text;"))
		if err == nil && n != 1 {
			err = fmt.Errorf("%d migrations", n)
		}
		migrated <- err
	}()
	if got := awaitWaiting(t, db, "", migrated); got != "advisory lock beside 0 tables" {
		t.Errorf("the migration waits for: %s", got)
	}
	goOn()
	if err := <-projected; err != nil {
		t.Error(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
	w.compare(db)
}

// TestWritersWaitForMigration: whatever writes to several tables waits for a migration,
// without having locked a table, and the rights wait in the same way.
func TestWritersWaitForMigration(t *testing.T) {
	t.Parallel()
	w := history(t, 75, 900)
	bad := w.middle(domain.KindJob)
	prepare := func(t *testing.T) *pgxpool.Pool {
		db := projtest.DB(t)
		cfg := config(db, w.log[:800])
		cfg.Source, cfg.RetryDelay = spoiled(w.log[:800], bad), time.Microsecond
		if err := run(t, cfg); err != nil {
			t.Fatal(err)
		}
		return db
	}
	for name, write := range map[string]func(t *testing.T, db *pgxpool.Pool) error{
		"a projector": func(t *testing.T, db *pgxpool.Pool) error { return run(t, config(db, w.log)) },
		"a retry of poison": func(t *testing.T, db *pgxpool.Pool) error {
			_, err := projections.RetryPoison(t.Context(), db, sourceOf(w.log), w.log[bad].Aggregate)
			return err
		},
		"the swap of a rebuild": func(t *testing.T, db *pgxpool.Pool) error {
			_, err := rebuild.Run(t.Context(), anew(db, w.log[:800]))
			return err
		},
		"the rights": func(t *testing.T, db *pgxpool.Pool) error { return upOnly(db) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := prepare(t)
			migration, err := db.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = migration.Rollback(context.WithoutCancel(t.Context())) }()
			lock := strings.NewReplacer("begin; ", "", "_shared", "").Replace(migrations.BeginWriter)
			exec(t, migration, lock)
			ended := make(chan error, 1)
			go func() { ended <- write(t, db) }()
			if got := awaitWaiting(t, db, "advisory", ended); got != "advisory lock beside 0 tables" {
				t.Errorf("it waits for: %s", got)
			}
			if err := migration.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMigrationIsServedInTurn: a projector that begins one transaction after another
// lets a migration that waits go first.
func TestMigrationIsServedInTurn(t *testing.T) {
	t.Parallel()
	db, ctx := projtest.DB(t), t.Context()
	writer := func() pgx.Tx {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{BeginQuery: migrations.BeginWriter})
		if err != nil {
			t.Error(err)
		}
		return tx
	}
	first := writer()
	defer func() { _ = first.Rollback(context.WithoutCancel(ctx)) }()
	migrated := make(chan error, 1)
	go func() { migrated <- upOnly(db) }()
	awaitWaiting(t, db, "advisory", migrated)
	second := make(chan pgx.Tx, 1)
	go func() { second <- writer() }()
	for count(t, db, "select count(*) from pg_locks where not granted and locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())") < 2 {
		select {
		case tx := <-second:
			_ = tx.Rollback(ctx)
			t.Fatal("a writer passed the migration that waits")
		default:
		}
	}
	if err := first.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	tx := <-second // it may come between the migration and its rights
	if err := tx.Rollback(ctx); err != nil {
		t.Error(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

// upOnly migrates with nothing to do but to grant rights.
func upOnly(db *pgxpool.Pool) error {
	n, err := up(db, migrations.Projection())
	if err == nil && n != 0 {
		err = fmt.Errorf("%d migrations", n)
	}
	return err
}

// awaitWaiting returns what a session of this database waits for that waits for a
// lock of this type ("" = any), and how many of the live tables it has locked. It fails when what should
// wait has ended.
func awaitWaiting(t *testing.T, db *pgxpool.Pool, locktype string, ended <-chan error) (what string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := db.QueryRow(t.Context(), `
select format('%s lock beside %s tables', w.locktype, (select count(*) from pg_locks h join pg_class c on c.oid = h.relation
	where h.pid = w.pid and h.granted and c.relnamespace = 'accession'::regnamespace))
from pg_locks w join pg_stat_activity a using (pid) where not w.granted and a.datname = current_database() and w.locktype like $1 || '%'`, locktype).Scan(&what)
		if err == nil {
			return what
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			t.Fatal("it did not wait: ", err)
		case <-tick.C:
		}
	}
}
