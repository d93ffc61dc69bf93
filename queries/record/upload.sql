-- name: KeepUpload :one
-- The first row of a key stays, and is returned.
insert into record.upload (submitter, key_sha256, input_sha256, deposit_id)
values (@submitter, @key_sha256, @input_sha256, @deposit_id)
on conflict (submitter, key_sha256) do update set key_sha256 = excluded.key_sha256
returning *;

-- name: Upload :one
select * from record.upload where submitter = @submitter and key_sha256 = @key_sha256;
