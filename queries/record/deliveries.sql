-- name: BeginDelivery :one
-- One more attempt, unless it was delivered before.
insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error, last_attempt_at, commands)
values (@key, @channel, @about, @batch_id, @job_id, @recipients::text[], 'pending', 1, '', clock_timestamp(), array_remove(array[@command::text], ''))
on conflict (key) do update set
    state = case delivery.state when 'delivered' then 'delivered' else 'pending' end,
    created_at = case delivery.attempts when 0 then clock_timestamp() else delivery.created_at end,
    attempts = delivery.attempts + case delivery.state when 'delivered' then 0 else 1 end,
    recipients = case delivery.state when 'delivered' then delivery.recipients else excluded.recipients end,
    last_attempt_at = case delivery.state when 'delivered' then delivery.last_attempt_at else excluded.last_attempt_at end,
    commands = case when delivery.state = 'delivered' or delivery.commands @> excluded.commands then delivery.commands
        else delivery.commands || excluded.commands end
returning *;

-- name: EndDelivery :execrows
-- An empty error means that it arrived. What has arrived stays so. A mail that is kept for a
-- mail server, since the attempt began, has the state that its sender gives it.
with kept as (
    select m.key from record.outgoing_mail m join record.delivery d using (key)
    where m.key = @key and @last_error::text = '' and (m.settled_at is null or m.settled_at >= d.last_attempt_at)
)
update record.delivery set
    state = case when exists (select from kept) then delivery.state when @last_error::text = '' then 'delivered' when @final::boolean then 'failed' else 'pending' end,
    last_error = case when exists (select from kept) then delivery.last_error else @last_error::text end,
    delivered_at = case when @last_error::text = '' and not exists (select from kept) then clock_timestamp() end
where delivery.key = @key and delivery.state <> 'delivered';

-- name: Delivery :one
select sqlc.embed(d), exists (select from record.outgoing_mail m where m.key = d.key and m.settled_at is null) as waiting
from record.delivery d where d.key = @key;

-- name: BatchDeliveries :many
-- About the batch itself; its jobs have callbacks of their own.
select sqlc.embed(d), exists (select from record.outgoing_mail m where m.key = d.key and m.settled_at is null) as waiting
from record.delivery d where d.batch_id = @batch_id and d.job_id = '' order by d.created_at, d.key;

-- name: OpenCallbacks :many
-- About the jobs of a batch, that have not arrived, newest first.
select * from record.delivery
where batch_id = @batch_id and channel = 'callback' and state <> 'delivered' order by created_at desc, key limit @most;

-- name: MadeCallbacks :many
-- About the jobs of a batch, that have arrived, newest first.
select * from record.delivery
where batch_id = @batch_id and channel = 'callback' and state = 'delivered' order by created_at desc, key limit @most;

-- name: Callbacks :many
-- About the jobs of a batch, newest first, a page at a time.
select d.* from record.delivery d
where d.batch_id = @batch_id and d.channel = 'callback' and (@job_id::text = '' or d.job_id = @job_id) and (@state::text = '' or d.state = @state)
    and (sqlc.narg(since)::timestamptz is null or d.created_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or d.created_at < sqlc.narg(until))
    and (@after::text = '' or (d.created_at, d.key) < ((select l.created_at from record.delivery l where l.key = @after), @after))
order by d.created_at desc, d.key desc limit @max_rows;

-- name: ExpectDelivery :exec
-- Its recipients, before its first attempt.
insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error)
values (@key, @channel, @about, '', '', @recipients::text[], 'pending', 0, '')
on conflict (key) do update set recipients = excluded.recipients where delivery.state <> 'delivered';
