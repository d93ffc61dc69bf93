-- name: MakeEventPartitions :exec
select accession.make_event_partitions('accession.event'::regclass, @seq);

-- name: EventsAt :many
select * from accession.event where seq = any(@seqs::bigint[]) order by seq;

-- name: EventsOfCommand :many
-- The types of the events of an aggregate that a command caused, in order; without those of a
-- part of it, which has an id of its own.
select type from accession.event
where aggregate_id = @aggregate_id and kind = @kind and command_id = @command_id
order by version;
