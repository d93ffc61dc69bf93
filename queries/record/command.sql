-- name: KeepCommand :one
-- The first row of a key stays, and is returned.
insert into record.command (submitter, key, input_sha256, batch_id)
values (@submitter, @key, @input_sha256, @batch_id)
on conflict (submitter, key) do update set key = excluded.key
returning *;

-- name: Command :one
select * from record.command where submitter = @submitter and key = @key;
