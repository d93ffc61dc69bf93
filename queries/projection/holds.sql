-- What waits behind holds. Few batches and jobs are held at a time, and both
-- tables have an index by status.

-- name: HeldByProfile :many
select profile_name, sum(batches)::bigint as batches, sum(jobs)::bigint as jobs
from (
    select profile_name, count(*) as batches, 0 as jobs from accession.batch where status = 'held' group by profile_name
    union all
    select profile_name, 0, count(*) from accession.job where status = 'held' group by profile_name
) as held
group by profile_name
order by profile_name;

-- name: HeldByCollection :many
-- What waits because of the hold on a collection, and not because an operator held it.
select 'batch'::text as kind, b.id from accession.batch b
where b.status = 'held' and b.reason_code = 'collection_held' and b.profile_name = any(@profiles::text[])
union all
select 'job'::text, j.id from accession.job j
where j.status = 'held' and j.reason_code = 'collection_held' and j.profile_name = any(@profiles::text[])
order by kind, id;
