-- name: GroupsUndecided :many
-- The groups of a dataset of which no deposit was made, how many files they have and how many of
-- these are under way, and the state of their slot.
select f.group_name, count(*) as files, count(*) filter (where f.status = any(@moving::text[])) as moving,
    coalesce(min(f.path) filter (where f.status = any(@moving::text[])), '')::text as path,
    coalesce((select s.status from accession.slot s where s.dataset = @dataset and s.group_name = f.group_name), '')::text as slot
from accession.file f
where f.dataset = @dataset and f.job_id = '' and f.group_name > @after
    and not exists (select from record.group_deposit g where g.dataset = f.dataset and g.group_name = f.group_name and g.decided_at is not null)
group by f.group_name
order by f.group_name
limit @max_rows;

-- name: DirectoriesRead :one
-- When the last poll of some discoveries began, and whether the tables have all files that these
-- list. As long as one of them was not read as a whole, they are not whole.
select coalesce(max(d.begun_at), 'epoch')::timestamptz as begun_at, (count(*) = cardinality(@discoveries::text[]) and coalesce(bool_and(d.begun_at <= d.ended_at and d.outcome in ('complete', 'unchanged')), false)
    and not exists (select from record.directory_listing r where r.discovery = any(@discoveries::text[]) and r.gone_at is null
        and not exists (select from accession.file k where k.raw_file_hash = r.raw_file_hash)))::boolean as whole
from record.discovery d where d.name = any(@discoveries::text[]);

-- name: GroupFiles :many
-- The files of some groups, and how the directories of some discoveries list them. They are whole
-- if no poll of these has begun after a time, up to which they were.
select f.group_name, f.raw_file_hash, f.version, f.path, f.url, f.status, f.size, f.sha256,
    (l.discovery is null and o.discovery is not null)::boolean as replaced, (l.discovery is null or l.gone_at is not null)::boolean as gone,
    coalesce(l.changed_at > coalesce(f.download_started_at, f.discovered_at), false)::boolean as changed,
    coalesce(extract(epoch from w.begun_at - coalesce(greatest(l.first_at, l.changed_at), f.discovered_at)), 0)::float8 as quiet_seconds, w.whole::boolean as whole
from accession.file f
left join lateral (
    select * from record.directory_listing r where r.raw_file_hash = f.raw_file_hash order by r.gone_at desc nulls first, r.last_at desc limit 1
) l on true
left join lateral (
    select r.discovery from record.discovery d join record.directory_listing r on r.discovery = d.name and r.path = f.path
    where l.discovery is null and d.url = f.source and r.gone_at is null limit 1
) o on true
cross join (
    select min(d.begun_at) as begun_at, coalesce(max(d.begun_at) = @begun_at::timestamptz, false) as whole
    from record.discovery d where d.name = any(@discoveries::text[])
) w
where f.dataset = @dataset and f.group_name = any(@groups::text[]) and f.job_id = ''
order by f.group_name, f.path, f.raw_file_hash;
