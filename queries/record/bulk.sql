-- Bulk actions and what became of the things that they are about.

-- name: AddBulkAction :execrows
insert into record.bulk_action (id, request_sha256, input_sha256, actor, kind, verb, filter, user_name, sees, priority, closes_at, reason, matched)
values (@id, sqlc.narg(request_sha256), @input_sha256, @actor, @kind, @verb, @filter, @user_name, sqlc.narg(sees), sqlc.narg(priority), sqlc.narg(closes_at), @reason, sqlc.narg(matched))
on conflict (request_sha256) do nothing;

-- name: BulkActionByRequest :one
select * from record.bulk_action where request_sha256 = @request_sha256;

-- name: BulkAction :one
select * from record.bulk_action where id = @id;

-- name: BulkActions :many
-- Newest first, a page at a time; of one actor, or with an empty name of all.
select * from record.bulk_action
where (sqlc.narg(before)::bigint is null or number < sqlc.narg(before)) and (@actor::text = '' or actor = @actor)
    and (@state::text = '' or @state = case when ended_at is not null and cancelled_at is not null then 'cancelled' when ended_at is not null then 'done'
        when begun_at is not null then 'running' else 'waiting' end)
    and (sqlc.narg(since)::timestamptz is null or requested_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or requested_at < sqlc.narg(until))
order by number desc limit @max_rows;

-- name: OpenBulkActions :many
-- Oldest first.
select id from record.bulk_action where ended_at is null order by number limit @max_rows;

-- name: BulkStanding :one
-- Those that have not ended; what was refused also of those that ended within a day.
select count(*) filter (where ended_at is null and begun_at is null) as waiting, count(*) filter (where ended_at is null and begun_at is not null) as running,
    coalesce(extract(epoch from clock_timestamp() - min(coalesce(moved_at, requested_at)) filter (where ended_at is null)), 0)::double precision as still_seconds,
    coalesce(sum(refused), 0)::bigint as refused
from record.bulk_action where ended_at is null or ended_at > clock_timestamp() - interval '1 day';

-- name: LeadBulkAction :one
-- Whether this transaction has the lead of a bulk action, until it ends. PostgreSQL ends it
-- when its process stands still.
select (pg_try_advisory_xact_lock(hashtextextended('accession bulk action ' || @id::text, 0))
    and set_config('idle_in_transaction_session_timeout', '120s', true) <> '')::boolean;

-- name: MoveBulkAction :execrows
-- Unless another process has moved it, or it is cancelled.
update record.bulk_action set position = @to_position, begun_at = coalesce(begun_at, clock_timestamp()), moved_at = clock_timestamp()
where id = @id and position = @from_position and cancelled_at is null and ended_at is null;

-- name: AddBulkItems :exec
insert into record.bulk_item (action_id, target, version)
select @action_id, unnest(@targets::text[]), unnest(@versions::bigint[])
on conflict do nothing;

-- name: TakeBulkItemsAgain :many
update record.bulk_item set tries = tries + 1, changed_at = clock_timestamp()
where action_id = @action_id and outcome = 'begun' returning *;

-- name: UntryBulkItems :exec
-- A server was away, or the process was stopped: that is no fault of theirs.
update record.bulk_item set tries = tries - 1, changed_at = clock_timestamp()
where action_id = @action_id and outcome = 'begun' and target = any(@targets::text[]);

-- name: EndBulkItem :execrows
update record.bulk_item set outcome = @outcome, result = @result, code = @code, message = @message, changed_at = clock_timestamp()
where action_id = @action_id and target = @target and outcome = 'begun';

-- name: CountBulkItems :exec
update record.bulk_action set done = done + @done, refused = refused + @refused, moved_at = clock_timestamp() where id = @id;

-- name: CancelBulkAction :execrows
update record.bulk_action set cancelled_at = clock_timestamp(), cancelled_by = @cancelled_by
where id = @id and cancelled_at is null and ended_at is null;

-- name: EndBulkAction :exec
update record.bulk_action set ended_at = clock_timestamp(), begun_at = coalesce(begun_at, clock_timestamp()) where id = @id and ended_at is null;

-- name: BulkItems :many
-- In the order of their ids, a page at a time; with an outcome, those.
select * from record.bulk_item
where action_id = @action_id and target > @after and (@outcome::text = '' or outcome = @outcome)
order by target limit @max_rows;
