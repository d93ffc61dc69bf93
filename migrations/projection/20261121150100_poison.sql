-- Events that cannot be applied hold their aggregate and nothing else; the
-- checkpoint says which meaning its tables have; partitions can be made in
-- whichever schema the tables stand, by a role that does not own them.

-- +goose Up
drop table accession.poison_event; -- nothing ever wrote to it
create table accession.poison_event (
    name         text        not null,
    seq          bigint      not null,
    id           text        not null,
    type         text        not null,
    kind         text        not null,
    aggregate_id text        not null,
    version      bigint      not null,
    batch_id     text        not null,
    waits_for    bigint,
    in_history   boolean     not null,
    error        text        not null,
    data         text        not null,
    attempts     bigint      not null,
    first_seen   timestamptz not null,
    last_seen    timestamptz not null,
    primary key (name, seq)
);
create index poison_event_aggregate on accession.poison_event (name, kind, aggregate_id, seq);
comment on table accession.poison_event is 'One row per event that could not be applied, and per later event of the same aggregate, which waits behind it. Normally empty.';
comment on column accession.poison_event.name is 'The projection that could not apply it.';
comment on column accession.poison_event.seq is 'Sequence in the log.';
comment on column accession.poison_event.id is 'KIND/ID/VERSION of the event.';
comment on column accession.poison_event.type is 'Type of the event; empty = it could not be read.';
comment on column accession.poison_event.kind is 'Sort of aggregate that is held.';
comment on column accession.poison_event.aggregate_id is 'Whose events are held.';
comment on column accession.poison_event.version is 'Number of the event among those of its aggregate; 0 = it could not be read.';
comment on column accession.poison_event.batch_id is 'The batch it belongs to; empty for a setting, or when it could not be read.';
comment on column accession.poison_event.waits_for is 'Sequence of the event that it waits behind; null = it is that event.';
comment on column accession.poison_event.in_history is 'Whether the table event has it all the same.';
comment on column accession.poison_event.error is 'Why it could not be applied the last time; empty = it only waits.';
comment on column accession.poison_event.data is 'Its data as far as it could be read, for people.';
comment on column accession.poison_event.attempts is 'How often it was tried.';
comment on column accession.poison_event.first_seen is 'When it was held.';
comment on column accession.poison_event.last_seen is 'When it was last tried.';

alter table accession.checkpoint add column meaning bigint not null default 1;
comment on column accession.checkpoint.meaning is 'Version of the rules that the tables were made by. A program with other rules makes them anew: accession rebuild.';

drop function accession.make_event_partitions(bigint);
-- +goose StatementBegin
create function accession.make_event_partitions(events regclass, seq bigint) returns integer
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
        made := made + 1;
    end loop;
    return made;
end
$$;
-- +goose StatementEnd
comment on function accession.make_event_partitions(regclass, bigint) is 'Makes the partition of the event history that holds this sequence of the log, and the one after it. Returns how many it made.';
