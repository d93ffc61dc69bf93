package fold

import (
	"context"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// change says how rows of a table that are there are updated.
type change struct {
	table string   // without its schema
	key   string   // the column that a row is known by
	where string   // what else must hold of the row as it is (t) and as it becomes (r)
	fixed []string // columns that keep what the first event said
}

var (
	// Events of jobs move a batch's counters and leave its version as it is.
	batchChange = change{table: "batch", key: "id", where: " and t.version <= r.version"}
	jobChange   = change{table: "job", key: "id", where: " and t.version < r.version", fixed: []string{"batch_id", "profile_name", "submitter", "payload_url", "payload_type",
		"response_type", "submission_mode", "working_dir", "digest_algorithm", "digest_value", "file_name", "size", "manifest_row",
		"row_fault", "erc_who", "erc_what", "erc_when", "erc_where", "created_at"}}
	fileChange = change{table: "file", key: "raw_file_hash", where: " and t.version < r.version", fixed: []string{"seq", "batch_id", "job_id", "source", "path", "by_version",
		"url", "listed_size", "source_modified", "digest_algorithm", "digest_value", "discovered_at"}}
	countChange = change{table: "file_count", key: "id"}
)

// PlannerSettings keeps PostgreSQL from reading whole tables for an update, as it would while
// they are small or it knows nothing of them yet: rows are found by their keys. It
// holds until the end of the transaction.
const PlannerSettings = `select set_config('enable_seqscan', 'off', true), set_config('enable_hashjoin', 'off', true),
	set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true)`

// updateRows updates rows that are there in one statement: an array a column in
// PostgreSQL's binary format, which costs it a tenth of rows as JSON. It is an error
// when one of them is not there.
func updateRows[R any](ctx context.Context, tx pgx.Tx, schema string, c change, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	table := schema + "." + c.table
	plan, err := planOf(reflect.TypeFor[R]())
	if err != nil {
		return fmt.Errorf("update %s: %w", table, err)
	}
	sql := c.sql(table, plan)
	from := make([]reflect.Value, len(rows))
	for i := range rows {
		from[i] = reflect.ValueOf(&rows[i]).Elem()
	}
	var values [][]byte
	for i, f := range plan.fields {
		if !slices.Contains(c.fixed, plan.names[i]) {
			values = append(values, f.array(from))
		}
	}
	conn := tx.Conn()
	known, err := conn.Prepare(ctx, sql, sql)
	if err != nil {
		return fmt.Errorf("update %s: %w", table, err)
	}
	tag, err := conn.PgConn().ExecPrepared(ctx, known.Name, values, []int16{1}, nil).Close()
	if err == nil && tag.RowsAffected() != int64(len(rows)) {
		err = fmt.Errorf("only %d of them are there: somebody else has changed the table; `accession rebuild` makes it anew", tag.RowsAffected())
	}
	if err != nil {
		return fmt.Errorf("update %d rows of %s: %w", len(rows), table, err)
	}
	return nil
}

var updates sync.Map // table → its statement

// sql gives the statement.
func (c change) sql(table string, plan *copyPlan) string {
	if known, ok := updates.Load(table); ok {
		return known.(string)
	}
	var arrays, names, sets []string
	for i, name := range plan.names {
		if slices.Contains(c.fixed, name) {
			continue
		}
		of := plan.fields[i].of
		value := "r." + name
		if of == sqlTexts {
			of, value = sqlText, value+"::text[]"
		}
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", len(arrays)+1, of.name))
		names = append(names, name)
		if name != c.key {
			sets = append(sets, name+" = "+value)
		}
	}
	sql := fmt.Sprintf("update %s t set %s from unnest(%s) as r(%s) where t.%s = r.%s%s", table,
		strings.Join(sets, ", "), strings.Join(arrays, ", "), strings.Join(names, ", "), c.key, c.key, c.where)
	updates.Store(table, sql)
	return sql
}

// array gives one column of rows as an array. A list of texts becomes one text, as
// PostgreSQL writes such lists: an array of arrays would be taken apart.
func (f copyField) array(rows []reflect.Value) []byte {
	of := f.of
	if of == sqlTexts {
		of = sqlText
	}
	b := make([]byte, 0, 20+24*len(rows))
	for _, n := range []uint32{1, 1, of.number, uint32(len(rows)), 1} { // one dimension, nulls possible, counted from 1
		b = binary.BigEndian.AppendUint32(b, n)
	}
	for _, row := range rows {
		if list := row.Field(f.index); f.of == sqlTexts && !list.IsNil() {
			b = appendText(b, listText(list))
		} else {
			b = f.value(b, row)
		}
	}
	return b
}

var inQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// listText writes a list of texts as PostgreSQL does.
func listText(list reflect.Value) string {
	words := make([]string, list.Len())
	for i := range words {
		words[i] = `"` + inQuotes.Replace(list.Index(i).String()) + `"`
	}
	return "{" + strings.Join(words, ",") + "}"
}
