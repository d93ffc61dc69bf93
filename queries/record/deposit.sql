-- name: KeepDeposit :one
-- Returns the newest earlier batch of the same, empty = none.
with mine as (
    insert into record.deposit (batch_id, profile_name, submitter, digest_algorithm, digest_value)
    values (@batch_id, @profile_name, @submitter, @digest_algorithm, @digest_value)
    on conflict (batch_id, digest_algorithm) do nothing
)
select coalesce(max(d.batch_id), '')::text as earlier from record.deposit d
where d.digest_value = @digest_value and d.digest_algorithm = @digest_algorithm
    and d.profile_name = @profile_name and d.submitter = @submitter and d.batch_id < @batch_id;
