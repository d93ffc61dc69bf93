-- Partitions of the event history are made ahead, one million sequences each, so
-- that old ones can be moved or dropped as a whole.

-- +goose Up
-- +goose StatementBegin
create function accession.make_event_partitions(seq bigint) returns integer
    language plpgsql
as $$
declare
    width constant bigint := 1000000;
    made integer := 0;
    low bigint;
    part text;
begin
    -- The partition of seq and the one after it.
    for low in select (seq / width + i) * width from generate_series(0, 1) as i loop
        part := format('event_%s', lpad((low / width)::text, 9, '0'));
        continue when to_regclass('accession.' || part) is not null;
        -- Events that came before their partition stay in the default one.
        continue when exists (select from accession.event_default d where d.seq >= low and d.seq < low + width);
        execute format('create table accession.%I partition of accession.event for values from (%s) to (%s)', part, low, low + width);
        execute format('comment on table accession.%I is %L', part, format('Events from sequence %s up to, not including, %s.', low, low + width));
        made := made + 1;
    end loop;
    return made;
end
$$;
-- +goose StatementEnd
comment on function accession.make_event_partitions(bigint) is 'Makes the partition of the event history that holds this sequence of the log, and the one after it. Returns how many it made.';

select accession.make_event_partitions(0);
