package projections_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/accession-ingest/accession/projections/projtest"
	"github.com/accession-ingest/accession/projections/rebuild"
)

// TestDependents: what others have built on the tables and views is named before a
// rebuild begins, and goes only when somebody says so.
func TestDependents(t *testing.T) {
	t.Parallel()
	w := history(t, 81, 400)
	db, ctx := projtest.DB(t), t.Context()
	if err := run(t, config(db, w.log)); err != nil {
		t.Fatal(err)
	}
	replace := func(change func(*rebuild.Config)) (rebuild.Result, error) {
		re := anew(db, w.log)
		change(&re)
		return rebuild.Run(ctx, re)
	}
	plain := func(*rebuild.Config) {}
	refused := func(err error, want ...string) {
		t.Helper()
		var built *rebuild.DependentsError
		if !errors.As(err, &built) || !strings.Contains(err.Error(), "--drop-dependents") {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff(want, built.Objects); diff != "" {
			t.Error(diff)
		}
	}
	before := schemas(t, db)
	for sql, want := range map[string][]string{
		"create view %s.late as select * from report.overdue_files":                                          {"view public.late"},
		"create view %s.slow as select * from report.batch_summary; create view %s.slower as table %s.slow":  {"view public.slow", "view public.slower"},
		"create materialized view %s.work as select status, count(*) from accession.job group by status":     {"materialized view public.work"},
		"create table %s.note (job text references accession.job (id))":                                      {"table constraint note_job_fkey on public.note"},
		"create function %s.jobs() returns bigint begin atomic select count(*) from accession.job; end":      {"function public.jobs()"},
		"create function %s.one() returns setof accession.job language sql as 'select * from accession.job'": {"function public.one()"},
		"create publication mine for table accession.job":                                                    {"publication relation accession.job in publication mine"},
		"create view report.house as select 1 as one; create table accession.own (n integer)":                {"table accession.own", "view report.house"},
		"create table %s.shape (job accession.job)":                                                          {"table public.shape"},
	} {
		exec(t, db, strings.ReplaceAll(sql, "%s", "public"))
		_, err := replace(plain)
		refused(err, want...)
		if got := schemas(t, db); got != before {
			t.Errorf("it left %s", got)
		}
		exec(t, db, "drop schema public cascade; create schema public; drop publication if exists mine; drop view if exists report.house; drop table if exists accession.own")
	}
	if _, err := replace(plain); err != nil {
		t.Fatal("nothing is built any more: ", err)
	}

	// Old tables that are kept are dropped with what was built on them only on demand.
	exec(t, db, "create view public.late as select * from report.overdue_files")
	done, err := replace(func(re *rebuild.Config) { re.KeepOld, re.DropDependents = true, true })
	if err != nil || !done.Kept {
		t.Fatalf("%+v, %v", done, err)
	}
	refused(rebuild.Drop(ctx, db, false), "view public.late")
	if err := rebuild.Drop(ctx, db, true); err != nil || count(t, db, "select count(*) from pg_views where viewname = 'late'") != 0 {
		t.Error(err)
	}

	// What is built while the rebuild runs is kept, and told.
	done, err = replace(func(re *rebuild.Config) {
		re.Progress = func(p rebuild.Progress) {
			if p.Phase == "index" {
				exec(t, db, "create view public.meanwhile as select * from report.overdue_files")
			}
		}
	})
	refused(err, "view public.meanwhile")
	if !done.Kept || !strings.Contains(err.Error(), "the new tables are live") || count(t, db, "select count(*) from public.meanwhile") < 0 {
		t.Errorf("%+v, %v", done, err)
	}
	if err := rebuild.Drop(ctx, db, true); err != nil {
		t.Error(err)
	}
	exec(t, db, "create view public.late as select * from report.overdue_files")
	if done, err := replace(func(re *rebuild.Config) { re.DropDependents = true }); err != nil || done.Kept || done.Compared != "" {
		t.Errorf("%+v, %v", done, err)
	}
	if left := relations(t, db, "v", "m"); slices.Contains(left, "public.late") || schemas(t, db) != before {
		t.Errorf("left: %s; %s", left, schemas(t, db))
	}
	w.compare(db)
}
