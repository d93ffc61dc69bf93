-- What is kept of identifiers that users ask about.

-- name: ObjectsOfLocalIDs :many
-- The newest objects of each local id, of all owners.
select b.local_id, b.primary_identifier
from unnest(@ids::text[]) as n (id)
cross join lateral (
    select l.local_id, l.primary_identifier, l.bound_at from record.local_id l
    where l.local_id = n.id order by l.bound_at desc limit @most
) b
order by b.bound_at desc, b.primary_identifier;

-- name: VersionsOfObjects :many
-- The newest stored versions of each object, of those that may be seen.
select v.primary_identifier, v.version, v.job_id, v.batch_id, v.submitter, v.manifest_key, v.bytes, v.stored_at, o.current_version, o.erc_what, o.collection
from unnest(@ids::text[]) as n (id)
join record.object o on o.primary_identifier = n.id
cross join lateral (
    select f.* from record.object_version f
    where f.primary_identifier = n.id and (not @limited::boolean or o.collection = any(@collections::text[]) or f.submitter = @own::text)
    order by f.version desc limit @most
) v
order by v.primary_identifier, v.version desc;

-- name: FilesOfDigests :many
-- The newest stored files of each digest, of those that may be seen.
select f.sha256, f.primary_identifier, f.version, f.name, f.key, f.size, v.job_id, v.batch_id, v.submitter, v.stored_at, o.current_version, o.erc_what, o.collection
from unnest(@ids::text[]) as n (id)
cross join lateral (
    select c.* from record.object_file c
    where c.sha256 = n.id and (not @limited::boolean or exists (
        select from record.object_version i join record.object k on k.primary_identifier = i.primary_identifier
        where i.primary_identifier = c.primary_identifier and i.version = c.version and (k.collection = any(@collections::text[]) or i.submitter = @own::text)))
    order by c.primary_identifier desc, c.version desc, c.name limit @most
) f
join record.object_version v on v.primary_identifier = f.primary_identifier and v.version = f.version
join record.object o on o.primary_identifier = f.primary_identifier
order by f.primary_identifier, f.version desc, f.name;

-- name: BatchesOfDigests :many
-- The newest deposits whose payload has this digest.
select b.digest_value, b.batch_id
from unnest(@ids::text[]) as n (id)
cross join lateral (
    select d.digest_value, d.batch_id from record.deposit d where d.digest_value = n.id order by d.batch_id desc limit @most
) b
order by b.batch_id desc;
