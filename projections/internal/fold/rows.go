package fold

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// change says how existing rows of a table are updated.
type change struct {
	table string   // without its schema
	key   string   // the column that a row is known by
	where string   // what else must hold of the row as it is (t) and as it becomes (r)
	fixed []string // columns that only the first event sets
}

var (
	// Events of jobs move a batch's counters and leave its version as it is.
	batchChange = change{table: "batch", key: "id", where: " and t.version <= r.version"}
	jobChange   = change{table: "job", key: "id", where: " and t.version < r.version", fixed: []string{"batch_id", "profile_name", "submitter", "payload_url", "payload_type",
		"response_type", "submission_mode", "working_dir", "digest_algorithm", "digest_value", "file_name", "size", "manifest_row",
		"row_fault", "object_key", "profile_version", "host", "erc_who", "erc_what", "erc_when", "erc_where", "created_at"}}
	fileChange = change{table: "file", key: "raw_file_hash", where: " and t.version < r.version", fixed: []string{"seq", "batch_id", "job_id", "source", "path", "by_version",
		"collection", "profile_name", "submitter", "dataset", "group_name", "host",
		"url", "listed_size", "source_modified", "digest_algorithm", "digest_value", "discovered_at"}}
	countChange   = change{table: "file_count", key: "id"}
	depositChange = change{table: "deposit", key: "batch_id", where: " and t.number = r.number",
		fixed: []string{"queue", "user_name", "slot", "size", "received_at", "seq"}}
)

// computed are the columns that PostgreSQL computes itself.
var computed = []string{"seconds", "jobs_in_progress", "waited_seconds", "ran_seconds"}

// column is a field of a row that is stored, under its name in JSON.
type column struct {
	name, kind string
	index      int
}

const textList = "text[]"

// The types of columns, by the types and kinds of fields.
var columnTypes = map[reflect.Type]string{
	reflect.TypeFor[time.Time](): "timestamptz", reflect.TypeFor[json.RawMessage](): "jsonb", reflect.TypeFor[[]string](): textList,
}

var columnKinds = map[reflect.Kind]string{reflect.String: "text", reflect.Int: "bigint", reflect.Int64: "bigint", reflect.Bool: "boolean"}

// table is what is known of a type of rows.
type table struct {
	names   []string
	columns []column
}

var tableTypes sync.Map // reflect.Type → table

func tableOf[R any]() (table, error) {
	t := reflect.TypeFor[R]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if known, ok := tableTypes.Load(t); ok {
		return known.(table), nil
	}
	var all table
	for f := range t.Fields() {
		c := column{name: f.Tag.Get("json"), index: f.Index[0]}
		if !f.IsExported() || slices.Contains(computed, c.name) {
			continue
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		if c.kind = columnTypes[of]; c.kind == "" {
			c.kind = columnKinds[of.Kind()]
		}
		if c.kind == "" {
			return all, fmt.Errorf("no type for column %s, a %s", c.name, of)
		}
		all.names, all.columns = append(all.names, c.name), append(all.columns, c)
	}
	tableTypes.Store(t, all)
	return all, nil
}

// stored returns a time as PostgreSQL keeps it, with microseconds. It is never later
// than the event's: an event that is made from its row again is in the same millisecond.
func stored(at time.Time) time.Time { return at.Truncate(time.Microsecond) }

// value returns a field as pgx takes it.
func (c column) value(row reflect.Value) any {
	f := row.Field(c.index)
	if (f.Kind() == reflect.Pointer || f.Kind() == reflect.Slice) && f.IsNil() {
		return nil
	}
	f = reflect.Indirect(f)
	switch c.kind {
	case "text":
		return f.String()
	case "bigint":
		return f.Int()
	case "timestamptz":
		return stored(f.Interface().(time.Time))
	default:
		return f.Interface()
	}
}

// updateRows updates existing rows in one statement, with one array for each column,
// which costs PostgreSQL a tenth of JSON. It is an error if a row does not exist.
func updateRows[R any](ctx context.Context, tx pgx.Tx, schema string, c change, rows []R) error {
	if len(rows) == 0 {
		return nil
	}
	t, err := tableOf[R]()
	if err != nil {
		return fmt.Errorf("update %s: %w", c.table, err)
	}
	var arrays, names, sets []string
	var values []any
	for _, col := range t.columns {
		if slices.Contains(c.fixed, col.name) {
			continue
		}
		list := make([]any, len(rows))
		for i := range rows {
			list[i] = col.value(reflect.ValueOf(&rows[i]).Elem())
		}
		values, names = append(values, list), append(names, col.name)
		kind, value := col.kind, "r."+col.name
		if kind == textList { // one text each: unnest would flatten an array of arrays
			if err := literals(tx, list); err != nil {
				return fmt.Errorf("update %s: %w", c.table, err)
			}
			kind, value = "text", value+"::text[]"
		}
		arrays = append(arrays, fmt.Sprintf("$%d::%s[]", len(arrays)+1, kind))
		if col.name != c.key {
			sets = append(sets, col.name+" = "+value)
		}
	}
	tag, err := tx.Exec(ctx, fmt.Sprintf("update %s.%s t set %s from unnest(%s) as r(%s) where t.%s = r.%s%s", schema, c.table,
		strings.Join(sets, ", "), strings.Join(arrays, ", "), strings.Join(names, ", "), c.key, c.key, c.where), values...)
	if err == nil && tag.RowsAffected() != int64(len(rows)) {
		err = fmt.Errorf("only %d of them are there: the table was changed by another program; `accession rebuild` rebuilds it", tag.RowsAffected())
	}
	if err != nil {
		return fmt.Errorf("update %d rows of %s: %w", len(rows), c.table, err)
	}
	return nil
}

// literals writes lists of texts as PostgreSQL does.
func literals(tx pgx.Tx, lists []any) error {
	for i, list := range lists {
		if list == nil {
			continue
		}
		text, err := tx.Conn().TypeMap().Encode(pgtype.TextArrayOID, pgx.TextFormatCode, list, nil)
		if err != nil {
			return err
		}
		lists[i] = string(text)
	}
	return nil
}
