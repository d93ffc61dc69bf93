package projections_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/domain"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// write makes the tests of documents write them: make documents.
var write = flag.Bool("write", false, "write docs/data-dictionary.md and the outputs in docs/sql.md anew")

// document compares a page with what it should be, or writes it.
func document(t *testing.T, path, want string) {
	t.Helper()
	if *write {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; write it with `make documents`", err)
	}
	if diff := cmp.Diff(string(have), want); diff != "" {
		t.Errorf("%s is not what the database says; write it anew with `make documents`:\n%s", path, diff)
	}
}

// installation is a small history in which something happened to everything: the
// batch of [fileStory], one whose jobs have all ended, and one that waits.
func installation(t *testing.T) *world {
	w, _ := fileStory(t)
	id := domain.NewBatchID(2)
	w.batches[id] = domain.Batch{ID: id}
	w.mustBatch(id, domain.SubmitBatch{Submission: domain.Submission{Submitter: "zoe", Type: domain.TypeBatchManifest}},
		domain.ListBatch{Listing: domain.Listing{Rows: 3, FirstJID: domain.NewJobID(w.nextJID)},
			Warnings: []string{"line 3: #%columns is not known, and ignored; a comment starts with # alone"}})
	for range 3 {
		w.createJob(w.batches[id])
	}
	w.mustBatch(id, domain.StartBatch{})
	up := []domain.JobCommand{domain.DownloadJob{Files: 1, Bytes: 5, Priority: 5},
		domain.ProcessJob{Object: domain.StoredObject{Primary: "ark:/99999/x", Version: 1, Files: 3, Bytes: 9}},
		domain.RecordJob{}, domain.CompleteJob{Callback: "none"}}
	jobs := w.ofBatch[id]
	for _, j := range jobs {
		w.must(j, domain.AcceptJob{}, domain.EstimateJob{Files: 1, Bytes: 5, Priority: 5}, domain.ProvisionJob{})
	}
	w.must(jobs[0], up...)
	w.must(jobs[1], failing("http_status"), domain.RequeueJob{}, failing("http_status"), domain.RequeueJob{})
	w.must(jobs[1], up...)
	w.must(jobs[2], failing("digest_mismatch"))
	w.mustBatch(id, domain.BeginReport{})
	w.mustBatch(id, domain.FinishReport{Report: w.report(w.batches[id])})
	third := domain.NewBatchID(3)
	w.batches[third] = domain.Batch{ID: third}
	w.mustBatch(third, domain.SubmitBatch{Submission: domain.Submission{Submitter: "zoe", Type: domain.TypeFile}})
	analysts(w)
	w.queueSettings()
	w.deposits(6)
	w.queries()
	w.entries()
	w.slots()
	w.directory()
	return w
}

// example is a query in a page, with its output if it was written yet.
var example = regexp.MustCompile("(?s)```sql\n(.*?)```\n(?:\n```\n.*?```\n)?")

// TestSQLExamples runs every query of docs/sql.md as a reader and compares what
// comes out. Every view has one.
func TestSQLExamples(t *testing.T) {
	t.Parallel()
	const page = "../docs/sql.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	db := granted(t)
	w := installation(t)
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	w.inventory(db)
	projtest.Listings(t, db, w.now)
	reader := as(t, db, "accession_reader")
	want := example.ReplaceAllStringFunc(string(text), func(found string) string {
		query := example.FindStringSubmatch(found)[1]
		return fmt.Sprintf("```sql\n%s```\n\n```\n%s```\n", query, output(t, reader, query))
	})
	document(t, page, want)
	for _, view := range relations(t, db, "v") {
		if !strings.Contains(string(text), "from "+view+" ") {
			t.Errorf("%s has no example in %s", view, page)
		}
	}
}

// output runs a query and writes its rows below each other, as psql does.
func output(t *testing.T, conn *pgx.Conn, query string) string {
	t.Helper()
	rows, err := conn.Query(context.Background(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	var lines [][]string
	var head []string
	for _, f := range rows.FieldDescriptions() {
		head = append(head, f.Name)
	}
	lines = append(lines, head)
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			t.Fatal(err)
		}
		line := make([]string, len(values))
		for i, v := range values {
			line[i] = cell(v)
		}
		lines = append(lines, line)
	}
	if rows.Err() != nil || len(lines) < 2 {
		t.Fatalf("%s: %d rows, %v", query, len(lines)-1, rows.Err())
	}
	return columns(lines)
}

func cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case time.Time:
		return v.UTC().Format(time.DateOnly)
	case fmt.Stringer:
		return v.String()
	case interface{ MarshalJSON() ([]byte, error) }:
		b, _ := v.MarshalJSON()
		return string(b)
	default:
		return fmt.Sprint(v)
	}
}

func columns(lines [][]string) string {
	wide := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, c := range line {
			wide[i] = max(wide[i], len([]rune(c)))
		}
	}
	var b strings.Builder
	for n, line := range lines {
		var cells, rules []string
		for i, c := range line {
			cells = append(cells, fmt.Sprintf("%-*s", wide[i], c))
			rules = append(rules, strings.Repeat("-", wide[i]))
		}
		fmt.Fprintln(&b, strings.TrimRight(strings.Join(cells, " | "), " "))
		if n == 0 {
			fmt.Fprintln(&b, strings.Join(rules, "-+-"))
		}
	}
	return b.String()
}

// TestDefinitions: what the program knows of the schemas is what the migrations make, and
// what is dropped or altered is named.
// Shows: P12
func TestDefinitions(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	all, err := query.Definitions(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	document(t, "query/definitions.txt", strings.Join(all, "\n")+"\n")
	for _, c := range []struct{ change, missing string }{
		{"create table report.mine (a int); alter table accession.batch add column mine int", "[]"},
		{"drop view report.manifest_warning", "[{report.manifest_warning [at timestamp with time zone batch_id text job_id text number bigint seq bigint warning text]}]"},
		{"drop function report.batch_at(text, bigint)", "[{report.batch_at [(batch text, moment bigint)]}]"},
		{"alter table record.payload_url alter column kept_at type date", "[{record.payload_url [kept_at timestamp with time zone]}]"},
	} {
		db := projtest.DB(t)
		_, err := db.Exec(t.Context(), c.change)
		if err != nil {
			t.Fatal(err)
		}
		missing, err := query.MissingDefinitions(t.Context(), db)
		if err != nil || fmt.Sprint(missing) != c.missing {
			t.Errorf("%s: %v, %v; want %s", c.change, missing, err, c.missing)
		}
	}
}

// TestDataDictionary: docs/data-dictionary.md is what the database says of itself.
func TestDataDictionary(t *testing.T) {
	t.Parallel()
	const tables = `
select n.nspname || '.' || c.relname, case c.relkind when 'v' then 'view' else 'table' end, obj_description(c.oid, 'pg_class'), c.oid::bigint
from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('report', 'accession', 'record') and c.relkind in ('r', 'p', 'v') and not c.relispartition
order by array_position(array['report', 'accession', 'record'], n.nspname::text), c.relname`
	const fields = `
select a.attname, format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' else '' end, coalesce(col_description(a.attrelid, a.attnum), '')
from pg_attribute a where a.attrelid = $1::bigint::oid and a.attnum > 0 and not a.attisdropped order by a.attnum`
	const keys = `
select pg_get_indexdef(i.indexrelid), i.indisprimary from pg_index i where i.indrelid = $1::bigint::oid order by not i.indisprimary, 1`
	db := projtest.DB(t)
	var b strings.Builder
	b.WriteString("# Data dictionary\n\nWritten by `make documents` from the comments in the database. Schema `report` holds views for people, `accession` the tables that follow from the log, `record` those that do not. [sql.md](sql.md) has examples.\n")
	for _, table := range all(t, db, tables) {
		fmt.Fprintf(&b, "\n## %s\n\n%s %s\n\n| column | type | | meaning |\n|---|---|---|---|\n", table[0], strings.ToUpper(table[1][:1])+table[1][1:]+".", table[2])
		for _, f := range all(t, db, fields, table[3]) {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f[0], f[1], f[2], strings.ReplaceAll(f[3], "|", `\|`))
		}
		for i, k := range all(t, db, keys, table[3]) {
			if i == 0 {
				b.WriteString("\nIndexes:\n\n")
			}
			primary := ""
			if k[1] == "true" {
				primary = ", the primary key"
			}
			_, on, _ := strings.Cut(k[0], " USING ")
			fmt.Fprintf(&b, "- `%s`%s\n", strings.TrimPrefix(on, "btree "), primary)
		}
	}
	document(t, "../docs/data-dictionary.md", b.String())
}

// all gives the rows of a query as words.
func all(t *testing.T, db query.DB, query string, args ...any) (rows [][]string) {
	t.Helper()
	found, err := db.Query(context.Background(), query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer found.Close()
	for found.Next() {
		values, err := found.Values()
		if err != nil {
			t.Fatal(err)
		}
		row := make([]string, len(values))
		for i, v := range values {
			row[i] = cell(v)
		}
		rows = append(rows, row)
	}
	if found.Err() != nil {
		t.Fatal(found.Err())
	}
	return rows
}
