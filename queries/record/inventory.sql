-- name: UpsertObject :exec
-- The description is that of the highest version.
insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
values (@primary_identifier, @owner, @collection, @version, @erc_who, @erc_what, @erc_when, @local_id::text[])
on conflict (primary_identifier) do update set
    current_version = excluded.current_version, erc_who = excluded.erc_who, erc_what = excluded.erc_what,
    erc_when = excluded.erc_when, local_id = excluded.local_id, modified_at = clock_timestamp()
where object.current_version < excluded.current_version;

-- name: InsertObjectVersion :execrows
insert into record.object_version (
    primary_identifier, version, job_id, batch_id, profile_name, submitter,
    manifest_key, manifest_sha256, files, bytes, stored_at
) values (
    @primary_identifier, @version, @job_id, @batch_id, @profile_name, @submitter,
    @manifest_key, @manifest_sha256, @files, @bytes, @stored_at
) on conflict do nothing;

-- name: InsertObjectFiles :exec
insert into record.object_file (primary_identifier, version, kind, name, key, size, sha256, mime_type)
select @primary_identifier, @version, r.kind, r.name, r.key, r.size, r.sha256, r.mime_type
from json_populate_recordset(null::record.object_file, @files::json) r;

-- name: ObjectVersionOfJob :one
select * from record.object_version where job_id = @job_id;

-- name: CurrentVersion :one
-- The highest version below one, 0 = none.
select coalesce(max(version), 0)::bigint as version from record.object_version
where primary_identifier = @primary_identifier and version < @below;

-- name: RecordedObjects :many
-- The versions that these jobs stored.
select job_id, primary_identifier, version, files, bytes from record.object_version where job_id = any(@jobs::text[]);

-- name: RecordedFiles :many
-- Which of these names stand in the versions that these jobs stored.
select v.job_id, f.name, f.size, f.sha256
from record.object_version v
join record.object_file f on f.primary_identifier = v.primary_identifier and f.version = v.version
where v.job_id = any(@jobs::text[]) and f.name = any(@names::text[]) and f.kind = 'producer';
