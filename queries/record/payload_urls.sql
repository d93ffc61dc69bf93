-- name: KeepPayloadURLs :exec
-- In one order, so that two that keep the same cannot wait for each other.
insert into record.payload_url (digest, url)
select unnest(@digests::text[]), unnest(@urls::text[]) order by 1
on conflict do nothing;

-- name: PayloadURLs :many
select digest, url from record.payload_url where digest = any(@digests::text[]);

-- name: PayloadURL :one
select url from record.payload_url where digest = @digest;
