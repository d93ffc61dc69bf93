// Package migrations holds the schemas of both kinds of SQL: the projection
// (schemas accession and report), which follows from the event log and can be
// rebuilt at will, and the record (schema record), which does not and never is.
// Each has its own files, its own version table and is migrated on its own.
//
// Files are named by the time they were written (UTC) and are never changed once
// released. There is no way back down: a projection is rebuilt, a record is
// restored.
package migrations

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/accession-ingest/accession/internal/crash"
)

//go:embed projection/*.sql record/*.sql
var files embed.FS

// Schemas in which the version tables stand.
const (
	ProjectionSchema = "accession"
	RecordSchema     = "record"
)

// Projection returns the migrations of the projection.
func Projection() fs.FS { return sub("projection") }

// Record returns the migrations of the record.
func Record() fs.FS { return sub("record") }

func sub(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // only for a malformed directory name
	}
	return f
}

// Up applies the migrations that the database lacks, under a lock that only one
// process holds at a time and that keeps writers waiting, and returns how many that
// were. Versions are kept in SCHEMA.schema_version.
func Up(ctx context.Context, pool *pgxpool.Pool, schema string, from fs.FS) (int, error) {
	// goose writes the version table before the first migration.
	if err := locked(ctx, pool, schema, "create schema if not exists "+schema); err != nil {
		return 0, fmt.Errorf("migrate %s: create schema: %w", schema, err)
	}
	db := stdlib.OpenDBFromPool(pool)
	defer func() { _ = db.Close() }()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, from,
		goose.WithTableName(schema+".schema_version"), goose.WithSessionLocker(sessionLock{schema}))
	if err != nil {
		return 0, fmt.Errorf("migrate %s: %w", schema, err)
	}
	applied, err := apply(ctx, provider)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		return applied, fmt.Errorf("migrate %s: %s failed, those before it are applied: %w", schema, partial.Failed.Source.Path, partial.Err)
	}
	if err != nil {
		return applied, fmt.Errorf("migrate %s: %w", schema, err)
	}
	if err := finish(ctx, pool, schema); err != nil {
		return applied, fmt.Errorf("migrate %s: describe and grant: %w", schema, err)
	}
	return applied, nil
}

// apply applies what is missing and returns how many that were.
func apply(ctx context.Context, provider *goose.Provider) (applied int, err error) {
	err = again(func() error {
		var done []*goose.MigrationResult
		err := crash.Around("migrations/up/apply", func() (err error) {
			done, err = provider.Up(ctx)
			return err
		})
		applied += len(done)
		var partial *goose.PartialError
		if errors.As(err, &partial) {
			applied += len(partial.Applied)
		}
		return err
	})
	return applied, err
}

// deadlocks is how often a transaction that PostgreSQL gave up for another one is
// tried: who reads the tables, and the projector of an older program, hold no lock of
// ours. What was given up has left nothing behind.
const deadlocks = 5

// again does what PostgreSQL gave up for a deadlock once more.
func again(do func() error) (err error) {
	for range deadlocks {
		err = do()
		var sql interface{ SQLState() string }
		if !errors.As(err, &sql) || sql.SQLState() != "40P01" {
			break
		}
	}
	return err
}

// finish comments the version table, which goose makes without, makes the views of the
// inventory and of listings, and says who may do what with the tables.
func finish(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	file, names := "projection", Live
	switch schema {
	case RecordSchema:
		file = "record"
	case Next.Tables:
		names = Next
	}
	rights, err := accessSQL(file, names)
	if err != nil {
		return err
	}
	inventory, err := accessSQL("inventory", names)
	if err != nil {
		return err
	}
	listings, err := listingViews(names)
	if err != nil {
		return err
	}
	return locked(ctx, pool, schema, strings.ReplaceAll(`
comment on table SCHEMA.schema_version is 'Migrations of this schema that were applied.';
comment on column SCHEMA.schema_version.id is 'Order in which they were applied.';
comment on column SCHEMA.schema_version.version_id is 'Number that the migration''s file name begins with; 0 = the table itself.';
comment on column SCHEMA.schema_version.is_applied is 'Always true: there is no way back down.';
comment on column SCHEMA.schema_version.tstamp is 'When it was applied, by the clock of PostgreSQL.';`, "SCHEMA", schema), inventory, listings, rights)
}

// locked runs statements in one transaction that has the lock of the schema: "if not
// exists" and grants alone do not keep two processes apart.
func locked(ctx context.Context, pool *pgxpool.Pool, schema string, statements ...string) error {
	return again(func() error {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		for _, stmt := range append([]string{lockAlone("pg_advisory_xact_lock", schema)}, statements...) {
			if _, err := tx.Exec(ctx, stmt); err != nil {
				return err
			}
		}
		return crash.Around("migrations/locked/commit", func() error { return tx.Commit(ctx) })
	})
}

// Compare returns how many of these migrations the database lacks, and how many it has
// that are not among them: a newer program applied those.
func Compare(ctx context.Context, pool *pgxpool.Pool, schema string, from fs.FS) (missing, unknown int, err error) {
	files, err := fs.Glob(from, "*.sql")
	if err != nil {
		return 0, 0, err
	}
	versions := make([]string, len(files))
	for i, file := range files {
		versions[i], _, _ = strings.Cut(file, "_")
	}
	var migrated bool
	err = pool.QueryRow(ctx, "select to_regclass($1) is not null", schema+".schema_version").Scan(&migrated)
	if err == nil && !migrated {
		return len(files), 0, nil
	}
	if err == nil {
		err = pool.QueryRow(ctx, fmt.Sprintf(`
with known as (select v::bigint from unnest($1::text[]) v),
    applied as (select version_id from %s.schema_version where is_applied and version_id > 0)
select (select count(*) from known where v not in (select * from applied)),
    (select count(*) from applied where version_id not in (select * from known))`, schema), versions).Scan(&missing, &unknown)
	}
	if err != nil {
		err = fmt.Errorf("migrations of %s: %w", schema, err)
	}
	return missing, unknown, err
}
