-- Objects as they are found and read. A list goes through the index of what is rarest: a
-- local id, a name of a file, what is said of a version, or the objects themselves.

-- name: ObjectsWithWords :many
-- What has the words is found first: with the limit in sight, PostgreSQL would rather look
-- at one object after the other.
with c as materialized (
    select o.* from record.object o
    where (@title::text = '' or to_tsvector('simple', o.erc_what) @@ plainto_tsquery('simple', @title))
        and (@creator::text = '' or to_tsvector('simple', o.erc_who) @@ plainto_tsquery('simple', @creator))
        and (@identifier::text = '' or o.primary_identifier = @identifier)
)
select o.* from c o
where o.primary_identifier > @after::text and (not @limited::boolean or o.collection = any(@collections::text[]))
order by o.primary_identifier limit @max_rows;

-- name: Objects :many
select o.* from record.object o
where o.primary_identifier > @after::text
    and (@identifier::text = '' or o.primary_identifier = @identifier)
    and (not @limited::boolean or o.collection = any(@collections::text[]))
order by o.primary_identifier limit @max_rows;

-- name: ObjectsWithLocalID :many
select o.* from (
    select distinct l.primary_identifier from record.local_id l where l.local_id = @local_id and l.primary_identifier > @after::text
) c join record.object o on o.primary_identifier = c.primary_identifier
where (@identifier::text = '' or o.primary_identifier = @identifier)
    and (@title::text = '' or to_tsvector('simple', o.erc_what) @@ plainto_tsquery('simple', @title))
    and (@creator::text = '' or to_tsvector('simple', o.erc_who) @@ plainto_tsquery('simple', @creator))
    and (not @limited::boolean or o.collection = any(@collections::text[]))
    and (@file::text = '' or exists (select from record.object_file f where f.primary_identifier = o.primary_identifier
        and (f.name = @file or right(f.name, length(@file) + 1) = '/' || @file)))
    and (not @by_version::boolean or exists (select from record.object_version v where v.primary_identifier = o.primary_identifier
        and (@submitter::text = '' or v.submitter = @submitter) and (@batch_id::text = '' or v.batch_id = @batch_id) and (@profile::text = '' or v.profile_name = @profile)
        and (sqlc.narg(since)::timestamptz is null or v.recorded_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or v.recorded_at < sqlc.narg(until))))
order by o.primary_identifier limit @max_rows;

-- name: ObjectsWithFile :many
-- With a file of this name, or whose path ends with it.
select o.* from (
    select distinct f.primary_identifier from record.object_file f
    where regexp_replace(f.name, '^.*/', '') = regexp_replace(@file::text, '^.*/', '') and f.primary_identifier > @after::text
        and (f.name = @file or right(f.name, length(@file) + 1) = '/' || @file)
) c join record.object o on o.primary_identifier = c.primary_identifier
where (@identifier::text = '' or o.primary_identifier = @identifier)
    and (@title::text = '' or to_tsvector('simple', o.erc_what) @@ plainto_tsquery('simple', @title))
    and (@creator::text = '' or to_tsvector('simple', o.erc_who) @@ plainto_tsquery('simple', @creator))
    and (not @limited::boolean or o.collection = any(@collections::text[]))
    and (not @by_version::boolean or exists (select from record.object_version v where v.primary_identifier = o.primary_identifier
        and (@submitter::text = '' or v.submitter = @submitter) and (@batch_id::text = '' or v.batch_id = @batch_id) and (@profile::text = '' or v.profile_name = @profile)
        and (sqlc.narg(since)::timestamptz is null or v.recorded_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or v.recorded_at < sqlc.narg(until))))
order by o.primary_identifier limit @max_rows;

-- name: ObjectsByVersion :many
-- One version meets all of its conditions.
select o.* from (
    select distinct v.primary_identifier from record.object_version v
    where (@submitter::text = '' or v.submitter = @submitter) and (@batch_id::text = '' or v.batch_id = @batch_id) and (@profile::text = '' or v.profile_name = @profile)
        and (sqlc.narg(since)::timestamptz is null or v.recorded_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or v.recorded_at < sqlc.narg(until)) and v.primary_identifier > @after::text
) c join record.object o on o.primary_identifier = c.primary_identifier
where (@identifier::text = '' or o.primary_identifier = @identifier)
    and (@title::text = '' or to_tsvector('simple', o.erc_what) @@ plainto_tsquery('simple', @title))
    and (@creator::text = '' or to_tsvector('simple', o.erc_who) @@ plainto_tsquery('simple', @creator))
    and (not @limited::boolean or o.collection = any(@collections::text[]))
order by o.primary_identifier limit @max_rows;

-- name: Object :one
select * from record.object where primary_identifier = @primary_identifier;

-- name: VersionsOfObject :many
-- Newest first; with a submitter, those that it deposited.
select v.* from record.object_version v
where v.primary_identifier = @primary_identifier and (@submitter::text = '' or v.submitter = @submitter)
order by v.version desc limit @max_rows;

-- name: ObjectVersion :one
select * from record.object_version where primary_identifier = @primary_identifier and version = @version;

-- name: ObjectFiles :many
-- In the order of their kinds and names, a page at a time.
select * from record.object_file
where primary_identifier = @primary_identifier and version = @version and (kind, name) > (@after_kind::text, @after_name::text)
order by kind, name limit @max_rows;

-- name: ObjectFile :many
-- The depositor's before that of the system.
select * from record.object_file
where primary_identifier = @primary_identifier and version = @version and name = @name and (@kind::text = '' or kind = @kind)
order by kind limit 1;

-- name: Ingest :many
-- What was stored within each hour, day, week, month or year (UTC). A type is told without
-- its parameters, such as a charset.
select date_trunc(@by::text, v.stored_at, 'UTC')::timestamptz as since, o.collection, o.owner,
       trim(split_part(f.mime_type, ';', 1))::text as media_type,
       count(distinct (v.primary_identifier, v.version)) as versions, count(*) as files, sum(f.size)::bigint as bytes
from record.object_version v
join record.object o on o.primary_identifier = v.primary_identifier
join record.object_file f on f.primary_identifier = v.primary_identifier and f.version = v.version
where v.stored_at >= @stored_since and v.stored_at < @stored_until and f.kind = 'producer'
group by 1, 2, 3, 4
order by 1, 2, 3, 4;
