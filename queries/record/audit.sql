-- The inventory as it is compared with the object store and the log.

-- name: VersionsOfJobs :many
select * from record.object_version where job_id = any(@jobs::text[]);

-- name: FilesOfJobs :many
select v.job_id, f.* from record.object_version v
join record.object_file f on f.primary_identifier = v.primary_identifier and f.version = v.version
where v.job_id = any(@jobs::text[])
order by v.job_id, f.kind collate "C", f.name collate "C";

-- name: ObjectsByID :many
select * from record.object where primary_identifier = any(@primaries::text[]);

-- name: ReservationsOfJobs :many
select * from record.version_reservation where job_id = any(@jobs::text[]);

-- name: IdentifiersOfJobs :many
select * from record.identifier where job_id = any(@jobs::text[]);

-- name: FinishedEffects :many
select key from record.effect where key = any(@keys::text[]) and state = 'done';

-- name: VersionsAfter :many
-- In the order of their jobs, a page at a time.
select job_id, batch_id, primary_identifier, version from record.object_version
where job_id > @after order by job_id limit @max_rows;

-- name: EmptyObjects :many
select o.primary_identifier from record.object o
where o.primary_identifier > @after and not exists (select from record.object_version v where v.primary_identifier = o.primary_identifier)
order by o.primary_identifier limit @max_rows;

-- name: TakeReservation :exec
-- What the store holds decides whose version it is. A job that reserved it since, from
-- older records, has not stored it and reserves another one.
delete from record.version_reservation where primary_identifier = @primary_identifier and version = @version and job_id <> @job_id;

-- name: PutReservation :exec
insert into record.version_reservation (job_id, primary_identifier, version) values (@job_id, @primary_identifier, @version)
on conflict (job_id) do update set primary_identifier = excluded.primary_identifier, version = excluded.version;

-- name: RemoveFilesOf :exec
-- Of the version that this job has in the inventory, or of the one that it should have.
delete from record.object_file f using record.object_version v
where f.primary_identifier = v.primary_identifier and f.version = v.version
    and (v.job_id = @job_id or v.primary_identifier = @primary_identifier and v.version = @version);

-- name: RemoveVersionOf :exec
delete from record.object_version
where job_id = @job_id or primary_identifier = @primary_identifier and version = @version;

-- name: PutObject :exec
-- The highest version describes the object; the row of a lower one changes nothing.
insert into record.object (primary_identifier, owner, collection, current_version, erc_who, erc_what, erc_when, local_id)
values (@primary_identifier, @owner, @collection, @version, @erc_who, @erc_what, @erc_when, @local_id::text[])
on conflict (primary_identifier) do update set
    owner = excluded.owner, collection = excluded.collection,
    current_version = excluded.current_version, erc_who = excluded.erc_who, erc_what = excluded.erc_what,
    erc_when = excluded.erc_when, local_id = excluded.local_id, modified_at = clock_timestamp()
where excluded.current_version >= (
    select coalesce(max(v.version), 0) from record.object_version v where v.primary_identifier = excluded.primary_identifier);

-- name: LocalIDsOfObjects :many
select primary_identifier, local_id from record.local_id where primary_identifier = any(@primaries::text[]);

-- name: Reservations :many
select primary_identifier, version from record.version_reservation;

-- name: FirstAudit :exec
-- The first pass begins an interval after the auditor was first started.
insert into record.audit (name, ended_at) values ('objects', clock_timestamp()) on conflict do nothing;

-- name: BeginAudit :one
-- Begins a pass when it is time, or continues the one under way; no row: it is not time.
update record.audit set
    begun_at = case when ended_at is null then begun_at else clock_timestamp() end,
    position = case when ended_at is null then position else '' end,
    objects = case when ended_at is null then objects else 0 end,
    files = case when ended_at is null then files else 0 end,
    bytes = case when ended_at is null then bytes else 0 end,
    findings = case when ended_at is null then findings else 0 end,
    ended_at = null
where name = 'objects' and (ended_at is null or last_at + make_interval(secs => @seconds::double precision) <= clock_timestamp())
returning *;

-- name: SaveAudit :exec
update record.audit set position = @position, objects = @objects, files = @files, bytes = @bytes, findings = @findings where name = 'objects';

-- name: EndAudit :exec
update record.audit set ended_at = clock_timestamp(), last_at = clock_timestamp() where name = 'objects';

-- name: Audit :one
select a.*, (select count(*) from record.corrupt_file c where c.state <> 'sound') as corrupt,
    (select count(*) from record.replica r where r.state = 'pending') as replicas
from record.audit a where a.name = 'objects';

-- name: NoteCorrupt :exec
-- What is corrupt for longer keeps its time.
insert into record.corrupt_file (primary_identifier, version, kind, name, key, job_id, code, found, state)
values (@primary_identifier, @version, @kind, @name, @key, @job_id, @code, @found, 'found')
on conflict (primary_identifier, version, kind, name) do update set
    code = excluded.code, found = excluded.found,
    state = case corrupt_file.state when 'sound' then 'found' else corrupt_file.state end,
    found_at = case corrupt_file.state when 'sound' then clock_timestamp() else corrupt_file.found_at end,
    settled_at = case corrupt_file.state when 'sound' then null else corrupt_file.settled_at end;

-- name: SettleCorrupt :exec
update record.corrupt_file set state = @state, settled_at = clock_timestamp()
where primary_identifier = @primary_identifier and version = @version and kind = @kind and name = @name and state <> @state;

-- name: CorruptOfJobs :many
-- What was withdrawn is neither corrupt nor sound.
select * from record.corrupt_file c where c.job_id = any(@jobs::text[]) and c.state <> 'sound'
    and not exists (select from record.withdrawal w where w.primary_identifier = c.primary_identifier and w.state in ('approved', 'removed'))
order by c.job_id, c.found_at;

-- name: CorruptOfBatch :many
select c.job_id, min(c.found_at)::timestamptz as since from record.corrupt_file c
join record.object_version v on v.job_id = c.job_id
where v.batch_id = @batch_id and c.state <> 'sound' group by c.job_id order by c.job_id;
