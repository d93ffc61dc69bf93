-- name: KeepCommand :one
-- The first row of a key stays, and is returned.
insert into record.command (submitter, key, input_sha256, batch_id)
values (@submitter, @key, @input_sha256, @batch_id)
on conflict (submitter, key) do update set key = excluded.key
returning *;

-- name: Command :one
-- The key stands there as it is, or by its digest; the first batch counts.
select * from record.command where submitter = @submitter and key = any(@keys::text[])
order by batch_id limit 1;

-- name: CommandsOfBatches :many
select * from record.command where batch_id = any(@batch_ids::text[]);

-- name: RestoreCommand :exec
insert into record.command (submitter, key, input_sha256, batch_id)
values (@submitter, @key, @input_sha256, @batch_id)
on conflict (batch_id) do update
set submitter = excluded.submitter, key = excluded.key, input_sha256 = excluded.input_sha256;

-- name: KeepQueryCommand :one
-- The first row of a key stays, and is returned.
insert into record.query_command (submitter, key, input_sha256, query_id)
values (@submitter, @key, @input_sha256, @query_id)
on conflict (submitter, key) do update set key = excluded.key
returning *;

-- name: QueryCommand :one
-- The key stands there as it is, or by its digest; the first query counts.
select * from record.query_command where submitter = @submitter and key = any(@keys::text[])
order by query_id limit 1;

-- name: CommandsOfQueries :many
select * from record.query_command where query_id = any(@query_ids::text[]);

-- name: RestoreQueryCommand :exec
insert into record.query_command (submitter, key, input_sha256, query_id)
values (@submitter, @key, @input_sha256, @query_id)
on conflict (query_id) do update
set submitter = excluded.submitter, key = excluded.key, input_sha256 = excluded.input_sha256;
