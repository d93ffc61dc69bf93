package projections_test

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/projtest"
)

var sets = map[string]fs.FS{
	migrations.ProjectionSchema: migrations.Projection(),
	migrations.RecordSchema:     migrations.Record(),
}

// TestUp migrates an empty database from several processes' worth of goroutines
// at once, and again.
func TestUp(t *testing.T) {
	t.Parallel()
	for schema, files := range sets {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			db := projtest.Empty(t)
			all, err := fs.Glob(files, "*.sql")
			if err != nil || len(all) == 0 {
				t.Fatalf("no migrations: %v", err)
			}
			if n, _, err := migrations.Compare(ctx, db, schema, files); err != nil || n != len(all) {
				t.Fatalf("pending before: %d, %v; want %d", n, err, len(all))
			}
			var wg sync.WaitGroup
			applied := make([]int, 3)
			errs := make([]error, 3)
			for i := range applied {
				wg.Go(func() { applied[i], errs[i] = migrations.Up(ctx, db, schema, files) })
			}
			wg.Wait()
			sum := 0
			for i := range applied {
				if errs[i] != nil {
					t.Fatal(errs[i])
				}
				sum += applied[i]
			}
			if sum != len(all) {
				t.Errorf("%d migrations were applied, want each of %d once", sum, len(all))
			}
			if n, _, err := migrations.Compare(ctx, db, schema, files); err != nil || n != 0 {
				t.Errorf("pending after: %d, %v", n, err)
			}
			if n, err := migrations.Up(ctx, db, schema, files); err != nil || n != 0 {
				t.Errorf("again: %d, %v", n, err)
			}
		})
	}
}

// TestNames: files are named by a time, so that they have one order for ever.
func TestNames(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^20\d{12}_[a-z_]+\.sql$`)
	for schema, files := range sets {
		all, err := fs.Glob(files, "*")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if !name.MatchString(f) {
				t.Errorf("%s: %s: want YYYYMMDDhhmmss_words.sql", schema, f)
			}
		}
	}
}

// TestCommented: the names in the database are a contract, and say what they mean,
// those of partitions that a projector makes and of a rebuild's schemas too.
func TestCommented(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	ctx, next := t.Context(), migrations.Next
	if _, err := migrations.Up(ctx, db, next.Tables, migrations.ProjectionIn(next)); err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{migrations.Live.Tables, next.Tables} {
		var made int
		err := db.QueryRow(ctx, fmt.Sprintf("select %[1]s.make_event_partitions('%[1]s.event'::regclass, 7000000)", schema)).Scan(&made)
		if err != nil || made != 2 {
			t.Fatalf("%d partitions in %s: %v", made, schema, err)
		}
	}
	const relations = `
select n.nspname || '.' || c.relname, coalesce(obj_description(c.oid, 'pg_class'), '')
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('accession', 'report', 'record', 'accession_next', 'report_next') and c.relkind in ('r', 'p', 'v', 'm')`
	const columns = `
select n.nspname || '.' || c.relname || '.' || a.attname, coalesce(col_description(c.oid, a.attnum), '')
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
where n.nspname in ('accession', 'report', 'record', 'accession_next', 'report_next') and c.relkind in ('r', 'p', 'v', 'm')
	and a.attnum > 0 and not a.attisdropped`
	for query, least := range map[string]int{relations: 50, columns: 600} {
		if err := commented(t, db, query, least); err != nil {
			t.Fatal(err)
		}
	}
}

func commented(t *testing.T, db *pgxpool.Pool, query string, least int) error {
	rows, err := db.Query(t.Context(), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var name, comment string
		if err := rows.Scan(&name, &comment); err != nil {
			return err
		}
		if comment == "" {
			t.Errorf("%s has no comment", name)
		}
	}
	if n < least {
		return fmt.Errorf("%d names were looked at, want at least %d", n, least)
	}
	return rows.Err()
}
