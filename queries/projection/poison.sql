-- Events that could not be applied, and those that wait behind them.

-- name: HeldAggregates :many
-- Which aggregates are held, and behind which sequence.
select kind, aggregate_id, min(seq)::bigint as seq from accession.poison_event
where name = @name and waits_for is null
group by kind, aggregate_id
order by seq;

-- name: HoldEvents :exec
insert into accession.poison_event (
    name, seq, id, type, kind, aggregate_id, version, batch_id, waits_for, in_history, error, data, attempts,
    first_seen, last_seen
)
select
    r.name, r.seq, r.id, r.type, r.kind, r.aggregate_id, r.version, r.batch_id, r.waits_for, r.in_history,
    r.error, r.data, r.attempts, clock_timestamp(), clock_timestamp()
from json_populate_recordset(null::accession.poison_event, @rows::json) r;

-- name: PoisonEvents :many
-- What is held, in the order of the log: all of it, or one aggregate's.
select * from accession.poison_event
where name = @name and (@kind::text = '' or kind = @kind) and (@aggregate_id::text = '' or aggregate_id = @aggregate_id)
order by seq
limit @max_rows;

-- name: HeldEvents :many
-- What is held, in the order of the log, from a sequence on.
select * from accession.poison_event
where name = @name and seq > @after and (@batch_id::text = '' or batch_id = @batch_id)
    and (sqlc.narg(since)::timestamptz is null or first_seen >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or first_seen < sqlc.narg(until))
order by seq
limit @max_rows;

-- name: CountHeldEvents :one
select count(*) from accession.poison_event
where name = @name and (@batch_id::text = '' or batch_id = @batch_id)
    and (sqlc.narg(since)::timestamptz is null or first_seen >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or first_seen < sqlc.narg(until));

-- name: PoisonEvent :one
select * from accession.poison_event where name = @name and seq = @seq;

-- name: CountPoison :one
select count(*) as events, count(*) filter (where waits_for is null) as aggregates
from accession.poison_event where name = @name;

-- name: LockCheckpoint :one
-- No process applies anything until the transaction ends.
select * from accession.checkpoint where name = @name for update;

-- name: FreeEvents :exec
delete from accession.poison_event where name = @name and seq = any(@seqs::bigint[]);

-- name: StillPoison :exec
-- This one is what the later ones of its aggregate wait for now.
update accession.poison_event set
    waits_for = case when poison_event.seq = @seq then null else @seq::bigint end,
    error = case when poison_event.seq = @seq then @error::text else '' end,
    attempts = attempts + (poison_event.seq = @seq)::integer,
    last_seen = case when poison_event.seq = @seq then clock_timestamp() else last_seen end
where name = @name and kind = @kind and aggregate_id = @aggregate_id and poison_event.seq >= @seq;
