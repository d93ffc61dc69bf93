-- name: KeepGroupWaits :exec
-- Keeps what groups wait for that are not decided.
insert into record.group_deposit (dataset, group_name, discovery, waits)
select @dataset::text, r.group_name, @discovery::text, r.waits from json_populate_recordset(null::record.group_deposit, @rows::json) r
on conflict (dataset, group_name) do update set discovery = excluded.discovery, waits = excluded.waits, waits_at = excluded.waits_at
where group_deposit.decided_at is null and (group_deposit.discovery, group_deposit.waits) is distinct from (excluded.discovery, excluded.waits);

-- name: DecideGroup :one
-- Keeps that a group is complete, once, with its files; says how many of these were kept.
with decided as (
    insert into record.group_deposit (dataset, group_name, discovery, cause, profile, submitter, type, manifest, decided_at)
    values (@dataset, @group_name, @discovery, @cause, @profile, @submitter, @type, @manifest, clock_timestamp())
    on conflict (dataset, group_name) do update set discovery = excluded.discovery, waits = '', waits_at = excluded.waits_at, cause = excluded.cause, profile = excluded.profile,
        submitter = excluded.submitter, type = excluded.type, manifest = excluded.manifest, decided_at = excluded.decided_at
    where group_deposit.decided_at is null
    returning dataset, group_name
), kept as (
    insert into record.group_file (dataset, group_name, raw_file_hash, path, part)
    select d.dataset, d.group_name, r.raw_file_hash, r.path, r.part
    from decided d cross join json_populate_recordset(null::record.group_file, @files::json) r
    returning 1
)
select count(*) from kept;

-- name: GroupsOpen :many
-- The groups that were found complete and are not at their end, the oldest first.
select * from record.group_deposit where decided_at is not null and ended_at is null order by decided_at, dataset, group_name limit @max_rows;

-- name: GroupFilesOf :many
-- The files of a group that was found complete, which are in its deposit or are its marker.
select raw_file_hash from record.group_file where dataset = @dataset and group_name = @group_name and part in ('deposited', 'marker') order by raw_file_hash;

-- name: GroupToProcess :one
-- Whether the deposit of a group has a file, and is not at its end.
select exists (select from record.group_file m join record.group_deposit g on g.dataset = m.dataset and g.group_name = m.group_name
    where m.dataset = @dataset and m.group_name = @group_name and m.raw_file_hash = @raw_file_hash and m.part in ('deposited', 'marker') and g.ended_at is null)::boolean as there;

-- name: GroupRefused :exec
-- Keeps why the batch of a group cannot be made now.
update record.group_deposit set waits = @waits, waits_at = clock_timestamp() where dataset = @dataset and group_name = @group_name and waits <> @waits;

-- name: GroupBatched :exec
update record.group_deposit set batch_id = @batch_id, waits = '', waits_at = clock_timestamp() where dataset = @dataset and group_name = @group_name;

-- name: GroupEnded :exec
update record.group_deposit set ended_at = clock_timestamp() where dataset = @dataset and group_name = @group_name and ended_at is null;

-- name: GroupCounts :one
-- How many groups of a discovery were deposited, and how many wait.
select count(*) filter (where batch_id <> '') as deposited, count(*) filter (where batch_id = '') as waiting
from record.group_deposit where discovery = @discovery;

-- name: GroupsWaiting :many
-- Groups of a discovery that wait, the first of them by name.
select group_name, waits from record.group_deposit where discovery = @discovery and batch_id = '' order by group_name limit @max_rows;
