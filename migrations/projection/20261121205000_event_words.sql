-- The columns of the event history's partitions say what those of the history say,
-- and the history says what is so.

-- +goose Up
comment on column accession.event.id is 'KIND/ID/VERSION, such as job/jid0000000042/3: no two events of the log share it, also after a restore.';
comment on column accession.event.actor is 'Who caused it: daemon/NAME, such as daemon/job-provisioning, or user/NAME.';
comment on column accession.event.zxid is 'ZooKeeper''s commit number: the order over batches, jobs and settings within one epoch; 0 for a file.';

-- +goose StatementBegin
create or replace function accession.make_event_partitions(events regclass, seq bigint) returns integer
    language plpgsql
    security definer
    set search_path = pg_catalog, pg_temp
as $$
declare
    width constant bigint := 1000000;
    made integer := 0;
    low bigint;
    part text;
    home text;
    waiting boolean;
    col record;
begin
    select n.nspname into strict home from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = events;
    -- The partition of seq and the one after it.
    for low in select (seq / width + i) * width from generate_series(0, 1) as i loop
        part := format('event_%s', lpad((low / width)::text, 9, '0'));
        continue when to_regclass(format('%I.%I', home, part)) is not null;
        -- Events that came before their partition stay in the default one.
        execute format('select exists (select from %I.event_default d where d.seq >= $1 and d.seq < $1 + $2)', home) into waiting using low, width;
        continue when waiting;
        execute format('create table %I.%I partition of %s for values from (%s) to (%s)', home, part, events, low, low + width);
        execute format('comment on table %I.%I is %L', home, part, format('Events from sequence %s up to, not including, %s.', low, low + width));
        for col in select a.attname, col_description(events, a.attnum) as meaning from pg_attribute a where a.attrelid = events and a.attnum > 0 and not a.attisdropped loop
            execute format('comment on column %I.%I.%I is %L', home, part, col.attname, col.meaning);
        end loop;
        made := made + 1;
    end loop;
    return made;
end
$$;
-- +goose StatementEnd

-- +goose StatementBegin
do $$
declare
    col record;
begin
    for col in
        select i.inhrelid::regclass as part, a.attname, col_description(i.inhparent, a.attnum) as meaning
        from pg_inherits i join pg_attribute a on a.attrelid = i.inhparent
        where i.inhparent = 'accession.event'::regclass and a.attnum > 0 and not a.attisdropped
    loop
        execute format('comment on column %s.%I is %L', col.part, col.attname, col.meaning);
    end loop;
end
$$;
-- +goose StatementEnd
