-- Withdrawals of stored objects. Of an object one is open at a time: requested, approved or
-- removed.

-- name: AddWithdrawal :execrows
insert into record.withdrawal (primary_identifier, collection, reason, requested_by)
values (@primary_identifier, @collection, @reason, @requested_by)
on conflict (primary_identifier) where state in ('requested', 'approved', 'removed') do nothing;

-- name: OpenWithdrawal :one
select * from record.withdrawal where primary_identifier = @primary_identifier and state in ('requested', 'approved', 'removed');

-- name: DecideWithdrawal :one
update record.withdrawal set state = @state, decided_by = @decided_by, decided_at = clock_timestamp(), decision = @decision
where number = @number and state = 'requested' returning *;

-- name: UnstoredReservations :many
-- Jobs that may still store a version of an object.
select r.job_id from record.version_reservation r
where r.primary_identifier = @primary_identifier and not exists (select from record.object_version v where v.job_id = r.job_id)
order by r.job_id;

-- name: ApprovedWithdrawals :many
-- Oldest first.
select * from record.withdrawal where state = 'approved' order by number limit @max_rows;

-- name: WithdrawalRemoved :exec
-- Nothing is to be copied or mended of what is gone on purpose.
with done as (
    update record.withdrawal set state = 'removed', removed_at = clock_timestamp()
    where number = @number and state = 'approved' returning primary_identifier
), copies as (
    delete from record.replica r using done d where r.primary_identifier = d.primary_identifier
)
delete from record.corrupt_file c using done d where c.primary_identifier = d.primary_identifier;

-- name: WithdrawnObjects :many
select primary_identifier, state from record.withdrawal where primary_identifier = any(@primaries::text[]) and state in ('approved', 'removed');

-- name: Withdrawals :many
-- Newest first, a page at a time.
select * from record.withdrawal
where (sqlc.narg(before)::bigint is null or number < sqlc.narg(before))
    and (@state::text = '' or state = @state)
    and (not @limited::boolean or collection = any(@collections::text[]))
order by number desc limit @max_rows;
