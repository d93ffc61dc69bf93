package rebuild

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/migrations"
)

// compared are the tables that follow from the log alone.
var compared = []string{
	"event", "batch", "job", "job_transition", "file", "file_transition", "file_count", "retry", "batch_report", "setting", "deposit", "query", "slot", "slot_transition", "compute_entry",
}

// TableDigest compares a table's contents in two generations.
type TableDigest struct {
	Table      string `json:"table"`
	LiveRows   int64  `json:"rows_before"`
	NewRows    int64  `json:"rows_after"`
	LiveDigest string `json:"digest_before"`
	NewDigest  string `json:"digest_after"`
}

// Same reports whether both hold the same rows.
func (d TableDigest) Same() bool { return d.LiveRows == d.NewRows && d.LiveDigest == d.NewDigest }

// Digest is the number of rows of a table and a digest of all their columns as
// text, whatever their order.
type Digest struct {
	Rows   int64
	Digest string
}

// fingerprint sums a hash of each row up, a tenth of the work of a digest: it hashes
// the values as they are, without writing them as text. It distinguishes generations
// that one server holds, and is never kept.
func fingerprint(ctx context.Context, tx pgx.Tx, names migrations.Names, table string, columns []string) (d Digest, err error) {
	if _, err := tx.Exec(ctx, noParallelWorkers+"; set local jit = off"); err != nil {
		return d, err
	}
	sql := fmt.Sprintf("select count(*), coalesce(sum(hash_record_extended(row(%s), 0)), 0)::text from %s.%s",
		strings.Join(columns, ", "), names.Tables, table)
	err = tx.QueryRow(ctx, sql).Scan(&d.Rows, &d.Digest)
	return d, err
}

// plainText makes values have the same text on every connection. It also turns JIT off,
// which does not help queries whose work is in functions.
func plainText(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "set local timezone = 'UTC'; set local datestyle = 'ISO'; set local extra_float_digits = 1; set local jit = off")
	return err
}

// columnsOfTable returns the columns that a table has in all these generations.
func columnsOfTable(ctx context.Context, tx pgx.Tx, table string, in ...migrations.Names) ([]string, error) {
	var schemas []string
	for _, n := range in {
		schemas = append(schemas, n.Tables)
	}
	rows, err := tx.Query(ctx, `
select a.attname::text from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
where n.nspname = any($1) and c.relname = $2 and a.attnum > 0 and not a.attisdropped
group by a.attname having count(*) = cardinality($1::text[]) order by 1`, schemas, table)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
