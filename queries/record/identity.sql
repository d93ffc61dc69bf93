-- name: InsertIdentifier :exec
insert into record.identifier (job_id, name, state) values (@job_id, @name, 'intent')
on conflict do nothing;

-- name: Identifier :one
select * from record.identifier where job_id = @job_id;

-- name: IdentifierOwner :one
select job_id from record.identifier where name = @name;

-- name: ConfirmIdentifier :execrows
update record.identifier set state = 'done', done_at = coalesce(done_at, clock_timestamp())
where job_id = @job_id and name = @name;

-- name: LockLocalIDs :exec
-- A process that binds one of these names waits here, in the same order as all others.
select pg_advisory_xact_lock(l.key) from (
    select distinct hashtextextended(@owner::text || chr(31) || n.name, 1) as key
    from unnest(@local_ids::text[]) as n (name) order by 1
) as l;

-- name: LocalIDs :many
-- A name without a collection was bound before collections were kept.
select * from record.local_id
where owner = @owner and collection in (@collection, '') and local_id = any(@local_ids::text[])
order by local_id, collection;

-- name: InsertLocalIDs :exec
insert into record.local_id (owner, collection, local_id, primary_identifier, job_id)
select @owner, @collection, unnest(@local_ids::text[]), @primary_identifier, @job_id
on conflict (owner, collection, local_id) do nothing;

-- name: KeepCollection :one
-- The first collection stays: that of the inventory, else that of the first job. A
-- name that is not fresh must be there already.
insert into record.identifier_collection (primary_identifier, collection, job_id)
select @primary_identifier::text as primary_identifier,
    coalesce((select o.collection from record.object o where o.primary_identifier = @primary_identifier), @collection::text) as collection,
    coalesce((select min(v.job_id) from record.object_version v where v.primary_identifier = @primary_identifier), @job_id::text) as job_id
where @fresh::boolean
    or exists (select 1 from record.identifier_collection c where c.primary_identifier = @primary_identifier)
    or exists (select 1 from record.object o where o.primary_identifier = @primary_identifier)
on conflict (primary_identifier) do update set collection = identifier_collection.collection
returning collection, job_id;

-- name: LockObject :exec
select pg_advisory_xact_lock(hashtextextended(@primary_identifier::text, 2));

-- name: VersionReservation :one
select * from record.version_reservation where job_id = @job_id;

-- name: ReserveVersion :one
insert into record.version_reservation (job_id, primary_identifier, version)
select @job_id, @primary_identifier, coalesce(max(r.version), 0) + 1
from record.version_reservation r where r.primary_identifier = @primary_identifier
returning version;

-- name: LimitIdleTransaction :exec
-- PostgreSQL ends the transaction when its process stands still.
select set_config('idle_in_transaction_session_timeout', '5s', true);
