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
