-- name: KeepPayloadURLs :exec
-- In one order, so that two that keep the same cannot wait for each other. One that is kept
-- again counts as new.
insert into record.payload_url (digest, url)
select distinct on (k.digest) k.digest, k.url
from (select unnest(@digests::text[]) as digest, unnest(@urls::text[]) as url) as k
order by k.digest
on conflict (digest) do update set kept_at = excluded.kept_at
where record.payload_url.kept_at < excluded.kept_at - interval '1 minute';

-- name: RemovePayloadURLs :execrows
delete from record.payload_url where kept_at < @before::timestamptz;

-- name: PayloadURLs :many
select digest, url from record.payload_url where digest = any(@digests::text[]);

-- name: PayloadURL :one
select url from record.payload_url where digest = @digest;
