package projtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// growing are the tables that grow with what is deposited, with the columns that
// tell copies of their rows apart.
var growing = map[string][]string{
	"accession.batch":           {"id", "submitted_at", "listed_at", "started_at", "reporting_at", "reported_at"},
	"accession.job":             {"id", "batch_id", "created_at", "status_since", "completed_at", "primary_identifier"},
	"accession.job_transition":  {"job_id", "batch_id", "from_since", "at", "seq"},
	"accession.retry":           {"job_id", "batch_id", "raw_file_hash", "failed_at", "resumed_at"},
	"accession.file":            {"raw_file_hash", "batch_id", "job_id", "source", "path", "seq", "discovered_at", "status_since"},
	"accession.file_transition": {"raw_file_hash", "batch_id", "job_id", "from_since", "at", "seq"},
	"accession.file_count":      {"id"},
	"accession.deposit":         {"batch_id", "received_at", "grabbed_at", "ended_at", "turn"},
	"accession.event":           {"seq", "id", "aggregate_id", "batch_id", "time", "stored"},
	"record.object":             {"primary_identifier"},
	"record.object_version":     {"primary_identifier", "job_id", "batch_id"},
	"record.object_file":        {"primary_identifier"},
}

// Crowd copies all that is in the tables n times, each copy twelve hours before the
// one it follows and with ids of its own, so that there are enough rows for PostgreSQL to look
// for an index. It leaves the tables as autovacuum does, which else might come or not.
func Crowd(t testing.TB, db *pgxpool.Pool, n int) {
	t.Helper()
	ctx := context.Background()
	// Objects come before their versions, these before their files.
	tables := slices.Sorted(maps.Keys(growing))
	slices.SortStableFunc(tables, func(a, b string) int { return strings.Count(a, "_file") - strings.Count(b, "_file") })
	for _, table := range tables {
		rows, err := db.Query(ctx, `select attname::text, format_type(atttypid, atttypmod) from pg_attribute
			where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`, table)
		if err != nil {
			t.Fatal(err)
		}
		var names, values []string
		var name, kind string
		if _, err = pgx.ForEachRow(rows, []any{&name, &kind}, func() error {
			names = append(names, name)
			value := "r." + name
			if slices.Contains(growing[table], name) {
				value = map[string]string{
					"text":                     "case when r.%[1]s ~ '^[bj]id[0-9]+$' then left(r.%[1]s, 3) || lpad((right(r.%[1]s, 10)::bigint + 20 * k)::text, 10, '0') when r.%[1]s = '' then '' else r.%[1]s || '-' || k end",
					"bigint":                   "r.%[1]s + 10000 * k",
					"timestamp with time zone": "r.%[1]s - k * interval '12 hours'",
				}[kind]
				value = fmt.Sprintf(value, name)
			}
			values = append(values, value)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(ctx, fmt.Sprintf("insert into %s (%s) select %s from %[1]s r, generate_series(1, %[4]d) k", table, strings.Join(names, ", "), strings.Join(values, ", "), n)); err != nil {
			t.Fatalf("copy %s: %v", table, err)
		}
	}
	if _, err := db.Exec(ctx, "vacuum analyze"); err != nil {
		t.Fatal(err)
	}
}

// Planned is a database that notes of which growing tables each of its queries reads
// more than half though it was told to avoid that.
type Planned struct {
	*pgxpool.Pool

	mu    sync.Mutex
	whole []string
}

// Whole returns those tables since it was last asked, each with the head of its query.
func (p *Planned) Whole() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.whole
	p.whole = nil
	slices.Sort(list)
	return slices.Compact(list)
}

// Query notes and asks.
func (p *Planned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := p.plan(ctx, sql, args); err != nil {
		return nil, err
	}
	return p.Pool.Query(ctx, sql, args...)
}

// QueryRow notes and asks.
func (p *Planned) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := p.plan(ctx, sql, args); err != nil {
		return failedRow{err}
	}
	return p.Pool.QueryRow(ctx, sql, args...)
}

// BeginTx returns a transaction whose queries are noted too.
func (p *Planned) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := p.Pool.BeginTx(ctx, opts)
	return plannedTx{tx, p}, err
}

type plannedTx struct {
	pgx.Tx
	planned *Planned
}

// Query notes and asks.
func (t plannedTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if err := t.planned.plan(ctx, sql, args); err != nil {
		return nil, err
	}
	return t.Tx.Query(ctx, sql, args...)
}

// QueryRow notes and asks.
func (t plannedTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if err := t.planned.plan(ctx, sql, args); err != nil {
		return failedRow{err}
	}
	return t.Tx.QueryRow(ctx, sql, args...)
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// node is a part of a plan that was carried out.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Schema   string  `json:"Schema"`
	Rows     float64 `json:"Actual Rows"` // each time
	Times    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Plans    []node  `json:"Plans"`
}

func (p *Planned) plan(ctx context.Context, sql string, args []any) error {
	if strings.HasPrefix(sql, "explain ") {
		return nil
	}
	var plans []struct{ Plan node }
	// Where a few thousand rows are all there is, reading them all may be the cheapest, or
	// all of an index.
	// Asked not to, PostgreSQL shows whether it could do without when there are more.
	err := pgx.BeginFunc(ctx, p.Pool, func(tx pgx.Tx) error {
		for _, way := range []string{"seqscan", "indexonlyscan", "hashjoin", "mergejoin"} {
			if _, err := tx.Exec(ctx, "set local enable_"+way+" = off"); err != nil {
				return err
			}
		}
		return tx.QueryRow(ctx, "explain (format json, verbose, analyze, timing off) "+sql, args...).Scan(&plans)
	})
	if err != nil {
		return fmt.Errorf("explain %s: %w", sql, err)
	}
	read := map[string]float64{}
	plans[0].Plan.count(read)
	for table, rows := range read {
		var all float64
		if err := p.Pool.QueryRow(ctx, "select count(*) from "+table).Scan(&all); err != nil {
			return err
		}
		if rows > all/2 {
			p.mu.Lock()
			p.whole = append(p.whole, table+" by "+head(sql))
			p.mu.Unlock()
		}
	}
	return nil
}

// count adds up how many rows of each growing table were looked at.
func (n node) count(read map[string]float64) {
	table := n.Schema + "." + n.Relation
	if strings.HasPrefix(n.Relation, "event_") {
		table = "accession.event" // a partition
	}
	if _, grows := growing[table]; grows {
		read[table] += (n.Rows + n.Filtered) * n.Times
	}
	for _, below := range n.Plans {
		below.count(read)
	}
}

// head is the name that sqlc gives a query, or its first line.
func head(sql string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(sql), "\n")
	if name, is := strings.CutPrefix(line, "-- name: "); is {
		name, _, _ = strings.Cut(name, " ")
		return name
	}
	return line
}
