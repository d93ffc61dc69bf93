package projections_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/query"
)

// granted gives a migrated database with rights for the roles.
func granted(t *testing.T) *pgxpool.Pool {
	t.Helper()
	ctx := context.Background()
	db := projtest.DB(t)
	if err := projections.MakeRoles(ctx, db); err != nil {
		t.Fatal(err)
	}
	if _, err := projections.Migrate(ctx, db); err != nil {
		t.Fatal(err)
	}
	if _, err := migrations.Up(ctx, db, migrations.RecordSchema, migrations.Record()); err != nil {
		t.Fatal(err)
	}
	return db
}

// as gives a connection that somebody with this role made: the login role is the
// test's own and can do nothing but what the role can.
func as(t *testing.T, db *pgxpool.Pool, role string) *pgx.Conn {
	t.Helper()
	ctx := context.Background()
	cfg := db.Config().ConnConfig.Copy()
	login := strings.Replace(cfg.Database, "accession_test", role, 1)
	exec(t, db, fmt.Sprintf("create role %s login password 'secret'", login))
	t.Cleanup(func() { exec(t, db, fmt.Sprintf("drop role %s", login)) })
	exec(t, db, fmt.Sprintf("grant %s to %s", role, login))
	cfg.User, cfg.Password = login, "secret"
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(ctx) })
	return conn
}

func exec(t *testing.T, db query.Reader, sql string) {
	t.Helper()
	if _, err := db.Exec(context.Background(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// relations lists tables and views, schema first.
func relations(t *testing.T, db query.DB, kinds ...string) []string {
	t.Helper()
	rows, err := db.Query(context.Background(), `
select n.nspname || '.' || c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('accession', 'report', 'record') and c.relkind = any($1::text[]::"char"[]) order by 1`, kinds)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 8 {
		t.Fatalf("%v, %v", names, err)
	}
	return names
}

// notWritten is said of a view that nobody can write through.
var notWritten = regexp.MustCompile(`^cannot (delete from|insert into|update) view`)

func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "42501" || pg.Code == "55000" && notWritten.MatchString(pg.Message))
}

// writes are the three ways to change the rows of a table or view. Of a view with columns that
// PostgreSQL could change it is one of those: before it asks for the right it refuses the others.
func writes(t *testing.T, db query.DB, relation string) []string {
	t.Helper()
	column := all(t, db, fmt.Sprintf("select attname::text from pg_attribute where attrelid = '%s'::regclass and attnum > 0 and not attisdropped order by pg_column_is_updatable(attrelid, attnum, false) desc, attnum limit 1", relation))[0][0]
	return []string{"delete from " + relation, "insert into " + relation + " default values", fmt.Sprintf("update %s set %s = null", relation, column)}
}

// rights lists what a role may do, itself, through other roles or as everybody,
// with any column of a relation, and with schemas that are not PostgreSQL's own.
const rights = `
with mine as (select oid, nspname from pg_namespace where nspname !~ '^(pg_|information_schema$)')
select p || ' on ' || nspname from mine, unnest(array['USAGE', 'CREATE']) p where has_schema_privilege($1, oid, p)
union all
select p || ' on ' || c.oid::regclass from pg_class c join mine m on m.oid = c.relnamespace, unnest(array['SELECT', 'INSERT', 'UPDATE', 'REFERENCES', 'DELETE', 'TRUNCATE', 'TRIGGER']) p
where c.relkind in ('r', 'p', 'v', 'm', 'f') and case when p in ('DELETE', 'TRUNCATE', 'TRIGGER')
	then has_table_privilege($1, c.oid, p) else has_any_column_privilege($1, c.oid, p) end
union all
select p || ' on ' || c.oid::regclass from pg_class c join mine m on m.oid = c.relnamespace, unnest(array['USAGE', 'SELECT', 'UPDATE']) p
where c.relkind = 'S' and has_sequence_privilege($1, c.oid, p)
order by 1`

// TestReader: the reporting role reads every view and can neither read a table
// nor write, create or change anything.
func TestReader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := granted(t)
	if err := run(t, config(db, history(t, 3, 300).log)); err != nil {
		t.Fatal(err)
	}
	reader := as(t, db, "accession_reader")
	for _, view := range relations(t, db, "v") {
		if _, err := reader.Exec(ctx, "select * from "+view); err != nil {
			t.Errorf("%s: %v", view, err)
		}
		for _, sql := range append(writes(t, db, view), "drop view "+view) {
			if _, err := reader.Exec(ctx, sql); !refused(err) {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	for _, table := range relations(t, db, "r", "p") {
		for _, sql := range append(writes(t, db, table), "select * from "+table, "truncate "+table, "drop table "+table) {
			if _, err := reader.Exec(ctx, sql); !refused(err) {
				t.Errorf("%s: %v", sql, err)
			}
		}
	}
	for _, sql := range []string{
		"create table report.mine (n integer)", "create table accession.mine (n integer)", "create schema mine",
		"select accession.make_event_partitions('pg_class'::regclass, 1)", "alter schema report rename to mine",
		"set role accession_projector", "set role accession_owner",
	} {
		if _, err := reader.Exec(ctx, sql); !refused(err) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	may := [][]string{{"USAGE on public"}, {"USAGE on report"}}
	for _, view := range relations(t, db, "v") {
		may = append(may, []string{"SELECT on " + view})
	}
	slices.SortFunc(may, slices.Compare)
	got := all(t, db, rights, "accession_reader")
	slices.SortFunc(got, slices.Compare)
	if diff := cmp.Diff(may, got); diff != "" {
		t.Errorf("rights of the reporting role (-want +got):\n%s", diff)
	}
}

// TestProjectorRole: a projector needs no more than its role, partitions
// included, and its role gives no more than it needs.
func TestProjectorRole(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := granted(t)
	w := history(t, 4, 300)
	for i, role := range []string{"accession_projector", "accession_service"} {
		conn := as(t, db, role)
		exec(t, db, "drop table accession.event_000000001")
		if err := run(t, config(conn, w.log[:(i+1)*len(w.log)/2])); err != nil {
			t.Fatalf("%s: %v", role, err)
		}
		if n := count(t, db, "select count(*) from pg_class where relname = 'event_000000001'"); n != 1 {
			t.Errorf("%s: the next partition was not made", role)
		}
		for _, sql := range []string{
			"drop table accession.event", "create table accession.mine (n integer)", "truncate accession.job",
			"delete from accession.schema_version", "delete from record.schema_version", "alter schema accession rename to mine",
		} {
			if _, err := conn.Exec(ctx, sql); !refused(err) {
				t.Errorf("%s: %s: %v", role, sql, err)
			}
		}
		if _, err := conn.Exec(ctx, "select * from record.effect"); refused(err) != (role == "accession_projector") {
			t.Errorf("%s reads records: %v", role, err)
		}
	}
	w.compare(db)
}

// TestOwner: everything belongs to the owner's role, which therefore can migrate.
func TestOwner(t *testing.T) {
	t.Parallel()
	db := granted(t)
	all := slices.Concat(relations(t, db, "v", "r", "p"))
	if n := count(t, db, `
select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
where n.nspname in ('accession', 'report', 'record') and c.relkind in ('r', 'p', 'v') and c.relowner = 'accession_owner'::regrole`); n != len(all) {
		t.Errorf("%d of %d tables and views belong to the owner", n, len(all))
	}
	owner := as(t, db, "accession_owner")
	for _, sql := range []string{"alter table accession.job add column more text", "create schema accession_next", "drop schema accession_next"} {
		if _, err := owner.Exec(context.Background(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
