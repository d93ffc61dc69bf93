-- name: HighestIDs :one
-- Ids have ten digits, so that the highest is the last in their order.
select coalesce((select max(b.id) from accession.batch b), '')::text as batch_id,
    coalesce((select max(j.id) from accession.job j), '')::text as job_id;

-- name: Definitions :many
-- What migrations make: the columns of tables and views, and functions with their arguments.
select (n.nspname || '.' || c.relname)::text as thing, (a.attname || ' ' || pg_catalog.format_type(a.atttypid, a.atttypmod))::text as part
from pg_catalog.pg_class c
join pg_catalog.pg_namespace n on n.oid = c.relnamespace
join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where n.nspname = any(@schemas::text[]) and c.relkind::text = any(array['r', 'p', 'v', 'm']) and not c.relispartition
union all
select (n.nspname || '.' || p.proname)::text, ('(' || pg_catalog.pg_get_function_identity_arguments(p.oid) || ')')::text
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname = any(@schemas::text[])
order by thing, part;
