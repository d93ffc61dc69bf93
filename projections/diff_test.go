package projections_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/accession-ingest/accession/projections"
	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/rebuild"
)

func compared(t *testing.T, db *pgxpool.Pool, o rebuild.DiffOptions) rebuild.Diff {
	t.Helper()
	d, err := rebuild.Compare(context.Background(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func tableOf(t *testing.T, d rebuild.Diff, name string) rebuild.TableDiff {
	t.Helper()
	for _, one := range d.Tables {
		if one.Table == name {
			return one
		}
	}
	t.Fatalf("%s was not compared", name)
	return rebuild.TableDiff{}
}

// TestDiffOfAStoppedRebuild: every way in which rows can differ is found, with its
// values, in the tables that a rebuild left because of it, and nothing else.
func TestDiffOfAStoppedRebuild(t *testing.T) {
	t.Parallel()
	const hostile = "\x1b[2J'; drop table x; --\n=1+1"
	w := history(t, 61, 1500)
	db, ctx := projtest.DB(t), context.Background()
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	// Jobs: the first has another text, the second has NULL where there was something
	// or an empty text where there was NULL, the third is missing, one is too many.
	exec(t, db, "update accession.job set erc_what = 'old', callback = 'there', manifest_key = '' where id = (select min(id) from accession.job where manifest_key is null)")
	exec(t, db, "create table public.third as select * from accession.job order by id limit 1 offset 2")
	exec(t, db, "delete from accession.job where id = (select id from public.third)")
	exec(t, db, "insert into accession.job select (jsonb_populate_record(j, '{\"id\": \"a odd\"}')).* from public.third j")
	if _, err := db.Exec(ctx, "update accession.setting set why = $1 where (kind, name) = (select kind, name from accession.setting order by kind, name limit 1)", hostile); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "update accession.batch set manifest_url = '' where id = (select min(id) from accession.batch where manifest_url is null)") // and nothing else
	var differ *rebuild.DifferentError
	if _, err := rebuild.Run(ctx, anew(db, w.log)); !errors.As(err, &differ) || !strings.Contains(err.Error(), "accession diff") {
		t.Fatalf("got %v", err)
	}
	before := digests(t, db)

	d := compared(t, db, rebuild.DiffOptions{Limit: 10})
	if d.Before.Schema != "accession" || d.After.Schema != "accession_next" || d.Before.Seq != int64(len(w.log)) || d.After.Rules != projections.Version || d.Same() {
		t.Errorf("%+v %+v", d.Before, d.After)
	}
	if len(d.Tables) != len(before) {
		t.Errorf("%d tables of %d", len(d.Tables), len(before))
	}
	for _, one := range d.Tables {
		if (one.Different() > 0) != (one.Table == "job" || one.Table == "setting" || one.Table == "batch") || one.RowsBefore != before[one.Table].Rows {
			t.Errorf("%+v", one)
		}
	}
	jobs := tableOf(t, d, "job")
	if jobs.OnlyBefore != 1 || jobs.OnlyAfter != 1 || jobs.Changed != 1 || len(jobs.Rows) != 3 || jobs.RowsAfter != jobs.RowsBefore {
		t.Fatalf("%+v", jobs)
	}
	var first, third string
	if err := db.QueryRow(ctx, "select min(n.id), (select id from public.third) from accession_next.job n where n.manifest_key is null").Scan(&first, &third); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a odd": rebuild.OnlyBefore, third: rebuild.OnlyAfter, first: rebuild.Changed}
	for _, r := range jobs.Rows {
		if len(r.Key) != 1 || want[r.Key[0]] != r.Change || (len(r.Columns) > 0) != (r.Change == rebuild.Changed) {
			t.Errorf("%+v", r)
		}
		delete(want, strings.Join(r.Key, " "))
		for _, c := range r.Columns {
			switch {
			case c.Column == "callback" && c.After == nil && *c.Before == "there",
				c.Column == "manifest_key" && c.After == nil && *c.Before == "",
				c.Column == "erc_what" && *c.Before == "old" && *c.After != "old":
			default:
				t.Errorf("%+v", c)
			}
		}
		if r.Change == rebuild.Changed && len(r.Columns) != 3 {
			t.Errorf("%+v", r)
		}
	}
	settings := tableOf(t, d, "setting")
	if settings.Changed != 1 || len(settings.Rows[0].Key) != 2 || *settings.Rows[0].Columns[0].Before != hostile {
		t.Errorf("%+v", settings)
	}

	if batches := tableOf(t, d, "batch"); batches.Changed != 1 || len(batches.Rows[0].Columns) != 1 || batches.Rows[0].Columns[0].After != nil {
		t.Errorf("NULL against an empty text: %+v", batches)
	}

	// One table, and no more rows than asked for, but all counted.
	d = compared(t, db, rebuild.DiffOptions{Table: "job", Limit: 2})
	if len(d.Tables) != 1 || len(d.Tables[0].Rows) != 2 || d.Tables[0].Different() != 3 {
		t.Errorf("%+v", d)
	}
	if _, err := rebuild.Compare(ctx, db, rebuild.DiffOptions{Table: "checkpoint", Limit: 1}); err == nil || !strings.Contains(err.Error(), `no table "checkpoint"`) {
		t.Error(err)
	}
	// A column that one generation has is named and not compared; a table is refused.
	exec(t, db, `alter table accession_next.setting add column "a ""new"" one" text default 'x'`)
	if one := tableOf(t, compared(t, db, rebuild.DiffOptions{Table: "setting"}), "setting"); !cmp.Equal(one.ColumnsAfter, []string{`a "new" one`}) || len(one.ColumnsBefore) > 0 || one.Changed != 1 {
		t.Errorf("%+v", one)
	}
	exec(t, db, "drop table accession_next.retry cascade")
	if _, err := rebuild.Compare(ctx, db, rebuild.DiffOptions{Limit: 1}); err == nil || !strings.Contains(err.Error(), `compare retry: there is no "accession_next"."retry"`) {
		t.Error(err)
	}
	if diff := cmp.Diff(before, digests(t, db)); diff != "" {
		t.Error(diff)
	}
}

// TestDiffOfKeptTables: what was kept is equal to what came after it; when one of
// them has gone on, or is of another log, or is not there, it says so.
func TestDiffOfKeptTables(t *testing.T) {
	t.Parallel()
	w := history(t, 62, 900)
	db, ctx := projtest.DB(t), context.Background()
	refused := func(want string) {
		t.Helper()
		if _, err := rebuild.Compare(ctx, db, rebuild.DiffOptions{Limit: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want …%s…, got %v", want, err)
		}
	}
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	refused("`accession rebuild --keep-old` keeps")
	re := anew(db, w.log)
	re.KeepOld = true
	if _, err := rebuild.Run(ctx, re); err != nil {
		t.Fatal(err)
	}
	d := compared(t, db, rebuild.DiffOptions{Limit: 1})
	if !d.Same() || d.Before.Schema != "accession_old" || d.After.Schema != "accession" || d.Before.Seq != int64(len(w.log)) {
		t.Errorf("%+v", d)
	}
	for _, one := range d.Tables {
		if one.RowsBefore == 0 || one.RowsBefore != one.RowsAfter {
			t.Errorf("%+v", one)
		}
	}
	exec(t, db, "update accession.checkpoint set stream_created = stream_created + interval '1 hour'")
	refused("different logs")
	exec(t, db, "update accession.checkpoint set stream_created = stream_created - interval '1 hour'")
	more := history(t, 62, 1000)
	if err := run(t, config(db, more.log)); err != nil {
		t.Fatal(err)
	}
	var places *rebuild.SequenceError
	if _, err := rebuild.Compare(ctx, db, rebuild.DiffOptions{Limit: 1}); !errors.As(err, &places) || places.Before.Seq >= places.After.Seq {
		t.Errorf("%v", err)
	}
	refused("`accession rebuild --drop` and then `accession rebuild --keep-old`")
	if err := rebuild.Drop(ctx, db, false); err != nil {
		t.Fatal(err)
	}
	exec(t, db, "create schema accession_next")
	exec(t, db, "create table accession_next.checkpoint as select * from accession.checkpoint where false")
	refused("accession_next at event 0") // one that has only begun
	exec(t, db, "drop schema accession cascade")
	refused("`accession migrate` makes them")
}

// TestDiffWhileRebuilding: tables that a rebuild may swap or drop are not compared.
func TestDiffWhileRebuilding(t *testing.T) {
	t.Parallel()
	w := history(t, 63, 300)
	db, ctx := projtest.DB(t), context.Background()
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	re, tried := anew(db, w.log), false
	re.Progress = func(p rebuild.Progress) {
		if p.Phase == "swap" {
			tried = true
			if _, err := rebuild.Compare(ctx, db, rebuild.DiffOptions{Limit: 1}); !errors.Is(err, rebuild.ErrBusy) {
				t.Errorf("got %v", err)
			}
		}
	}
	if _, err := rebuild.Run(ctx, re); err != nil || !tried {
		t.Error(err, tried)
	}
}

// TestDiffOfManyRows: fifty thousand rows that all differ are counted, and only
// those asked for come here.
func TestDiffOfManyRows(t *testing.T) {
	t.Parallel()
	db := projtest.DB(t)
	exec(t, db, "create schema accession_next")
	for _, table := range []string{"checkpoint", "file_count"} {
		exec(t, db, "create table accession_next."+table+" (like accession."+table+" including all)")
	}
	exec(t, db, `insert into accession.file_count select 'jid' || lpad(i::text, 10, '0'), 1, 0, 0, 0, 0, 0, 0, 0, 0, false from generate_series(1, 50000) i`)
	exec(t, db, "insert into accession_next.file_count select * from accession.file_count")
	if d := compared(t, db, rebuild.DiffOptions{Table: "file_count", Limit: 7}); !d.Same() || d.Tables[0].RowsAfter != 50_000 || len(d.Tables[0].Rows) != 0 {
		t.Errorf("%+v", d)
	}
	exec(t, db, "update accession_next.file_count set files_listed = 2")
	d := compared(t, db, rebuild.DiffOptions{Table: "file_count", Limit: 7})
	one := d.Tables[0]
	if one.Changed != 50_000 || len(one.Rows) != 7 || one.Rows[0].Key[0] != "jid0000000001" || one.Rows[6].Key[0] != "jid0000000007" {
		t.Errorf("%+v", one)
	}
}
