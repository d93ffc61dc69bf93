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
-- An empty error means that it arrived. What has arrived stays so.
update record.delivery set
    state = case when @last_error::text = '' then 'delivered' when @final::boolean then 'failed' else 'pending' end,
    last_error = @last_error,
    delivered_at = case when @last_error = '' then clock_timestamp() end
where key = @key and state <> 'delivered';

-- name: Delivery :one
select * from record.delivery where key = @key;

-- name: BatchDeliveries :many
-- About the batch itself; its jobs have callbacks of their own.
select * from record.delivery where batch_id = @batch_id and job_id = '' order by created_at, key;

-- name: ExpectDelivery :exec
-- Its recipients, before its first attempt.
insert into record.delivery (key, channel, about, batch_id, job_id, recipients, state, attempts, last_error)
values (@key, @channel, @about, '', '', @recipients::text[], 'pending', 0, '')
on conflict (key) do update set recipients = excluded.recipients where delivery.state <> 'delivered';
