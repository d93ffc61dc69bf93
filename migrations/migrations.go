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
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/accession-ingest/accession/internal/crash"
)

//go:embed projection/*.sql record/*.sql
var files embed.FS

// Schemas in which the version tables stand.
const (
	ProjectionSchema = "accession"
	RecordSchema     = "record"
)

// Projection gives the migrations of the projection.
func Projection() fs.FS { return sub("projection") }

// Record gives the migrations of the record.
func Record() fs.FS { return sub("record") }

func sub(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // only for a malformed directory name
	}
	return f
}

// lockWait is how long, in seconds, and how often to ask for the lock while
// another process migrates: two minutes altogether.
const lockEvery, lockTries = 1, 120

// Up applies the migrations that the database lacks, under a lock that only one
// process holds at a time, and tells how many that were. Versions are kept in
// SCHEMA.schema_version.
func Up(ctx context.Context, db *sql.DB, schema string, from fs.FS) (int, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockEvery, lockTries))
	if err != nil {
		return 0, fmt.Errorf("migrate %s: %w", schema, err)
	}
	if err := createSchema(ctx, db, schema); err != nil {
		return 0, fmt.Errorf("migrate %s: create schema: %w", schema, err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, from,
		goose.WithTableName(schema+".schema_version"), goose.WithSessionLocker(locker))
	if err != nil {
		return 0, fmt.Errorf("migrate %s: %w", schema, err)
	}
	crash.Point("migrations/up/before-apply")
	done, err := provider.Up(ctx)
	crash.Point("migrations/up/after-apply")
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		return len(partial.Applied), fmt.Errorf("migrate %s: %s failed, those before it are applied: %w", schema, partial.Failed.Source.Path, partial.Err)
	}
	if err != nil {
		return 0, fmt.Errorf("migrate %s: %w", schema, err)
	}
	if err := finish(ctx, db, schema); err != nil {
		return len(done), fmt.Errorf("migrate %s: describe and grant: %w", schema, err)
	}
	return len(done), nil
}

// finish comments the version table, which goose makes without, and says who may
// do what with the tables.
func finish(ctx context.Context, db *sql.DB, schema string) error {
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
	return locked(ctx, db, strings.ReplaceAll(`
comment on table SCHEMA.schema_version is 'Migrations of this schema that were applied.';
comment on column SCHEMA.schema_version.id is 'Order in which they were applied.';
comment on column SCHEMA.schema_version.version_id is 'Number that the migration''s file name begins with; 0 = the table itself.';
comment on column SCHEMA.schema_version.is_applied is 'Always true: there is no way back down.';
comment on column SCHEMA.schema_version.tstamp is 'When it was applied, by the clock of PostgreSQL.';`, "SCHEMA", schema), rights)
}

// createSchema makes room for the version table, which goose writes before the
// first migration.
func createSchema(ctx context.Context, db *sql.DB, schema string) error {
	return locked(ctx, db, "create schema if not exists "+schema)
}

// locked runs statements in one transaction that only one process at a time has:
// "if not exists" and grants alone do not keep two of them apart.
func locked(ctx context.Context, db *sql.DB, statements ...string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, stmt := range append([]string{"select pg_advisory_xact_lock(hashtext('accession create schema'))"}, statements...) {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	crash.Point("migrations/locked/before-commit")
	err = tx.Commit()
	crash.Point("migrations/locked/after-commit")
	return err
}

// Pending tells how many migrations the database still lacks.
func Pending(ctx context.Context, db *sql.DB, schema string, from fs.FS) (int, error) {
	all, err := fs.Glob(from, "*.sql")
	if err != nil {
		return 0, err
	}
	var exists bool
	if err := db.QueryRowContext(ctx, "select to_regclass($1) is not null", schema+".schema_version").Scan(&exists); err != nil {
		return 0, fmt.Errorf("migrations of %s: %w", schema, err)
	}
	if !exists {
		return len(all), nil
	}
	var applied int
	row := db.QueryRowContext(ctx, "select count(*) from "+schema+".schema_version where is_applied and version_id > 0")
	if err := row.Scan(&applied); err != nil {
		return 0, fmt.Errorf("migrations of %s: %w", schema, err)
	}
	return max(len(all)-applied, 0), nil
}
