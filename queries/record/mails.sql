-- name: KeepMail :exec
-- For the mail server. One that waits stays as it is; one that no address got is tried again.
insert into record.outgoing_mail (key, sender, waiting, content)
values (@key, @sender, @waiting::text[], @content::bytea)
on conflict (key) do update set
    sender = excluded.sender, waiting = excluded.waiting, content = excluded.content, refused = '{}',
    kept_at = clock_timestamp(), attempts = 0, next_attempt_at = clock_timestamp(), last_error = '', settled_at = null
where outgoing_mail.settled_at is not null and outgoing_mail.taken = '{}';

-- name: DueMails :many
-- Whose time has come, the longest due first.
select key, sender, waiting, content, attempts, extract(epoch from clock_timestamp() - kept_at)::float8 as age
from record.outgoing_mail where settled_at is null and next_attempt_at <= clock_timestamp()
order by next_attempt_at, key limit @most;

-- name: NextMail :one
-- In how many seconds the next one is due, less than 0 = none waits.
select case when count(*) = 0 then -1 else greatest(extract(epoch from min(next_attempt_at) - clock_timestamp()), 0) end::float8 as seconds from record.outgoing_mail where settled_at is null;

-- name: EndMailAttempt :execrows
-- What one attempt has brought. With no address left to wait, the delivery has its end.
with mail as (
    update record.outgoing_mail m set
        waiting = @waiting::text[], taken = m.taken || @taken::text[], refused = m.refused || @refused::text[],
        attempts = m.attempts + 1, last_error = @last_error::text, next_attempt_at = clock_timestamp() + make_interval(secs => @wait::float8),
        content = case when @waiting::text[] = '{}' then null else m.content end,
        settled_at = case when @waiting::text[] = '{}' then clock_timestamp() end
    where m.key = @key and m.settled_at is null
    returning *
)
update record.delivery d set
    state = case when mail.settled_at is null then d.state when mail.taken = '{}' then 'failed' else 'delivered' end,
    last_error = array_to_string(mail.refused || array_remove(array[mail.last_error], ''), '; '),
    attempts = mail.attempts,
    delivered_at = case when mail.settled_at is not null and mail.taken <> '{}' then mail.settled_at end
from mail where d.key = mail.key;

-- name: MailsWaiting :one
-- How many wait for a mail server, and for how many seconds the oldest.
select count(*) as waiting, coalesce(extract(epoch from clock_timestamp() - min(kept_at)), 0)::float8 as age from record.outgoing_mail where settled_at is null;
