package rebuild

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/accession-ingest/accession/migrations"
	"github.com/accession-ingest/accession/projections/internal/tables"
)

// DependentsError reports that another program has built on tables or views that a
// rebuild replaces: dropping these would drop what was built on them.
type DependentsError struct {
	Objects []string // such as: view public.mine
	Begun   bool     // the swap is over; only the old tables are still there
}

// Error implements error.
func (e *DependentsError) Error() string {
	list := strings.Join(e.Objects, ", ")
	const remedy = "make them again afterwards (pg_get_viewdef gives the text of a view)"
	if e.Begun {
		return fmt.Sprintf("these depend on the old tables and views, which are therefore kept: %s; drop them, then `accession rebuild --drop`, and %s; `accession rebuild --drop --drop-dependents` drops them all", list, remedy)
	}
	return fmt.Sprintf("these are not of this program and would be dropped with the tables and views that they depend on: %s; nothing was changed: drop them yourself and %s, or let `--drop-dependents` drop them", list, remedy)
}

// sqlDependents finds the objects outside two schemas that are dropped with them. Like
// PostgreSQL it follows dependencies: from a table to the rule of a view on it, from
// the rule to the view, and on to what is built on the view.
const sqlDependents = `
with recursive
mine as (select oid from pg_namespace where nspname = any($1)),
object(classid, objid) as (
	select 'pg_class'::regclass::oid, oid from pg_class where relnamespace in (select oid from mine)
	union select 'pg_type'::regclass::oid, oid from pg_type where typnamespace in (select oid from mine)
	union select 'pg_proc'::regclass::oid, oid from pg_proc where pronamespace in (select oid from mine)
	union select 'pg_namespace'::regclass::oid, oid from mine
	union
	select n.classid, n.objid from object o cross join lateral (
		select d.classid, d.objid from pg_depend d where d.refclassid = o.classid and d.refobjid = o.objid
		union all
		select d.refclassid, d.refobjid from pg_depend d
		where o.classid = 'pg_rewrite'::regclass and d.classid = o.classid and d.objid = o.objid and d.deptype = 'i'
	) n
)
select distinct i.type || ' ' || i.identity
from object o cross join lateral pg_identify_object(o.classid, o.objid, 0) i
where o.classid = any(array['pg_class', 'pg_proc', 'pg_constraint', 'pg_attrdef', 'pg_policy', 'pg_trigger',
		'pg_publication_rel', 'pg_publication_namespace']::regclass[])
	and not exists (select from pg_class c where o.classid = 'pg_class'::regclass and c.oid = o.objid
		and (c.relnamespace in (select oid from mine) or c.relnamespace = 'pg_toast'::regnamespace or c.relkind in ('i', 'I', 't', 'c')))
	and not exists (select from pg_proc p where o.classid = 'pg_proc'::regclass and p.oid = o.objid and p.pronamespace in (select oid from mine))
	and not exists (select from pg_constraint c left join pg_class t on t.oid = c.conrelid
		where o.classid = 'pg_constraint'::regclass and c.oid = o.objid and (c.contype <> 'f' or t.relnamespace in (select oid from mine)))
	and not exists (select from pg_attrdef a join pg_class t on t.oid = a.adrelid
		where o.classid = 'pg_attrdef'::regclass and a.oid = o.objid and t.relnamespace in (select oid from mine))
	and not exists (select from pg_trigger g where o.classid = 'pg_trigger'::regclass and g.oid = o.objid and g.tgisinternal)
order by 1`

// sqlForeignObjects finds relations and functions of the live schemas that the new ones,
// made by the same migrations, do not have.
const sqlForeignObjects = `
select distinct i.type || ' ' || i.identity
from (
	select 'pg_class'::regclass::oid as classid, c.oid as objid, c.relnamespace as schema, c.relname as name from pg_class c
	where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
	union all select 'pg_proc'::regclass::oid, p.oid, p.pronamespace, p.proname from pg_proc p
) o
join (values ($1::text, $2::text), ($3::text, $4::text)) as pair(live, next) on o.schema = to_regnamespace(pair.live)
cross join lateral pg_identify_object(o.classid, o.objid, 0) i
where not exists (select from pg_class c where c.relnamespace = to_regnamespace(pair.next) and c.relname = o.name)
	and not exists (select from pg_proc p where p.pronamespace = to_regnamespace(pair.next) and p.proname = o.name)
order by 1`

// dependents lists the objects that would be dropped with a generation of tables and
// views and are not part of it.
func dependents(ctx context.Context, db tables.DB, n migrations.Names) ([]string, error) {
	return identities(ctx, db, "look for what depends on the tables", sqlDependents, []string{n.Tables, n.Views})
}

// foreignObjects lists what another program has put into the live schemas.
func foreignObjects(ctx context.Context, db tables.DB) ([]string, error) {
	return identities(ctx, db, "look for objects of other programs beside the tables", sqlForeignObjects,
		migrations.Live.Tables, migrations.Next.Tables, migrations.Live.Views, migrations.Next.Views)
}

// identities queries the catalog, without JIT: PostgreSQL takes a thousand times as
// long to compile such a query as to run it.
func identities(ctx context.Context, db tables.DB, what, sql string, args ...any) (list []string, err error) {
	err = pgx.BeginTxFunc(ctx, db, pgx.TxOptions{}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "set local jit = off"); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// checkDependents returns an error if other programs have built on the tables, unless
// these objects may be dropped.
func (r *rebuild) checkDependents(ctx context.Context) error {
	if r.cfg.DropDependents {
		return nil
	}
	list, err := dependents(ctx, r.cfg.Pool, migrations.Live)
	if err == nil && len(list) > 0 {
		err = &DependentsError{Objects: list}
	}
	return err
}

// checkForeign returns an error if other programs have added objects to the live schemas,
// unless these may be dropped. It then drops the new schemas again if this run made
// them.
func (r *rebuild) checkForeign(ctx context.Context, pending int, resumed bool) error {
	if r.cfg.DropDependents || pending > 0 { // a newer program may have removed something
		return nil
	}
	list, err := foreignObjects(ctx, r.cfg.Pool)
	if err != nil || len(list) == 0 {
		return err
	}
	if !resumed {
		if err := drop(ctx, r.cfg.Pool, migrations.Next, false); err != nil {
			return err
		}
	}
	return &DependentsError{Objects: list}
}
