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
// process holds at a time and that keeps writers waiting, and tells how many that
// were. Versions are kept in SCHEMA.schema_version.
func Up(ctx context.Context, db *sql.DB, schema string, from fs.FS) (int, error) {
	if err := createSchema(ctx, db, schema); err != nil {
		return 0, fmt.Errorf("migrate %s: create schema: %w", schema, err)
	}
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
	if err := finish(ctx, db, schema); err != nil {
		return applied, fmt.Errorf("migrate %s: describe and grant: %w", schema, err)
	}
	return applied, nil
}

// apply applies what is missing and tells how many that were.
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
	return locked(ctx, db, schema, strings.ReplaceAll(`
comment on table SCHEMA.schema_version is 'Migrations of this schema that were applied.';
comment on column SCHEMA.schema_version.id is 'Order in which they were applied.';
comment on column SCHEMA.schema_version.version_id is 'Number that the migration''s file name begins with; 0 = the table itself.';
comment on column SCHEMA.schema_version.is_applied is 'Always true: there is no way back down.';
comment on column SCHEMA.schema_version.tstamp is 'When it was applied, by the clock of PostgreSQL.';`, "SCHEMA", schema), rights)
}

// createSchema makes room for the version table, which goose writes before the
// first migration.
func createSchema(ctx context.Context, db *sql.DB, schema string) error {
	return locked(ctx, db, schema, "create schema if not exists "+schema)
}

// locked runs statements in one transaction that has the lock of the schema: "if not
// exists" and grants alone do not keep two processes apart.
func locked(ctx context.Context, db *sql.DB, schema string, statements ...string) error {
	return again(func() error { return alone(ctx, db, schema, statements) })
}

func alone(ctx context.Context, db *sql.DB, schema string, statements []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, stmt := range append([]string{lockAlone("pg_advisory_xact_lock", schema)}, statements...) {
		if _, err := tx.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return crash.Around("migrations/locked/commit", tx.Commit)
}

// Pending returns the number of migrations that the database still lacks: 0 when a
// newer program has migrated it.
func Pending(ctx context.Context, db *sql.DB, schema string, from fs.FS) (int, error) {
	all, err := fs.Glob(from, "*.sql")
	if err != nil {
		return 0, err
	}
	if there, err := versioned(ctx, db, schema); err != nil || !there {
		return len(all), err
	}
	var missing int
	row := db.QueryRowContext(ctx, fmt.Sprintf(`
select count(*) from unnest(string_to_array($1, ' ')::bigint[]) as n
where n not in (select version_id from %s.schema_version where is_applied)`, schema), numbers(all))
	if err := row.Scan(&missing); err != nil {
		return 0, fmt.Errorf("migrations of %s: %w", schema, err)
	}
	return missing, nil
}

// Unknown returns the number of migrations that a newer program applied to the
// database and that are not among these.
func Unknown(ctx context.Context, db *sql.DB, schema string, from fs.FS) (unknown int, err error) {
	all, err := fs.Glob(from, "*.sql")
	if err != nil {
		return 0, err
	}
	if there, err := versioned(ctx, db, schema); err != nil || !there {
		return 0, err
	}
	row := db.QueryRowContext(ctx, fmt.Sprintf(`
select count(*) from %s.schema_version
where is_applied and version_id > 0 and version_id <> all (string_to_array($1, ' ')::bigint[])`, schema), numbers(all))
	if err := row.Scan(&unknown); err != nil {
		return 0, fmt.Errorf("migrations of %s: %w", schema, err)
	}
	return unknown, nil
}

// versioned reports whether the schema was ever migrated.
func versioned(ctx context.Context, db *sql.DB, schema string) (yes bool, err error) {
	err = db.QueryRowContext(ctx, "select to_regclass($1) is not null", schema+".schema_version").Scan(&yes)
	if err != nil {
		err = fmt.Errorf("migrations of %s: %w", schema, err)
	}
	return yes, err
}

// numbers returns the numbers with which the names of migrations begin.
func numbers(files []string) string {
	list := make([]string, len(files))
	for i, file := range files {
		list[i], _, _ = strings.Cut(file, "_")
	}
	return strings.Join(list, " ")
}
