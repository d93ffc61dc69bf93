package projtest

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/migrations"
)

// followed are the tables that follow from the log alone.
var followed = []string{
	"event", "batch", "job", "job_transition", "file", "file_transition", "file_count", "retry", "batch_report", "setting", "deposit", "query", "slot", "slot_transition", "compute_entry",
}

// Digest is the number of rows of a table and a digest of columns as text, whatever the
// order of the rows.
type Digest struct {
	Columns string // separated by commas
	Rows    int64
	Digest  string
}

// Digests returns those of the live tables that follow from the log, of all their columns.
func Digests(t testing.TB, db *pgxpool.Pool) map[string]Digest {
	t.Helper()
	of := map[string]Digest{}
	for _, table := range followed {
		var columns string
		if err := db.QueryRow(context.Background(), `select string_agg(attname::text, ', ' order by attname::text) from pg_attribute
			where attrelid = format('%I.%I', $1::text, $2::text)::regclass and attnum > 0 and not attisdropped`, migrations.Live.Tables, table).Scan(&columns); err != nil {
			t.Fatalf("the columns of %s: %v", table, err)
		}
		of[table] = Digest{Columns: columns}
	}
	return DigestsOf(t, db, of)
}

// DigestsOf returns those of the tables and columns that others are of, which were recorded
// before there were more.
func DigestsOf(t testing.TB, db *pgxpool.Pool, others map[string]Digest) map[string]Digest {
	t.Helper()
	all, ctx := map[string]Digest{}, context.Background()
	err := pgx.BeginTxFunc(ctx, db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		// Values have the same text on every connection.
		if _, err := tx.Exec(ctx, "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local extra_float_digits = 1"); err != nil {
			return err
		}
		for table, other := range others {
			d := Digest{Columns: other.Columns}
			// Two independent hashes of each row are summed up; a row is its columns' text.
			if err := tx.QueryRow(ctx, fmt.Sprintf(`
select count(*), coalesce(sum(hashtextextended(r.t, 0)), 0)::text || '/' || coalesce(sum(hashtextextended(r.t, 1)), 0)::text
from (select row(%s)::text as t from %s.%s) r`, d.Columns, migrations.Live.Tables, table)).Scan(&d.Rows, &d.Digest); err != nil {
				return fmt.Errorf("%s: %w", table, err)
			}
			all[table] = d
		}
		return nil
	})
	if err != nil {
		t.Fatalf("digest the tables: %v", err)
	}
	return all
}
