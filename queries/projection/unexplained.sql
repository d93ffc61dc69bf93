-- Whether batches add up, a few at a time.

-- name: LookAtBatches :many
-- The batches behind one, up to a bound of batches and of their jobs (one at least),
-- and those that are looked at again. Their jobs are only counted, in an index. A
-- batch adds up when its counters give the jobs that it lists, and each job that was
-- made has its row.
with few as (
    select n.id, sum(n.jobs_created) over (order by n.id) - n.jobs_created as before
    from (select b.id, b.jobs_created from accession.batch b where b.id > @after order by b.id limit @max_rows) n
), chosen as (
    select f.id, false as again from few f where f.before < @max_jobs::bigint
    union all
    select o.id, true as again from unnest(@again::text[]) as o(id)
)
select b.id, c.again,
       (coalesce(b.rows_listed <> b.jobs_completed + b.jobs_failed + b.jobs_held + b.jobs_deleted + b.jobs_in_progress, false)
        or b.jobs_created <> (select count(*) from accession.job j where j.batch_id = b.id))::boolean as unexplained
from chosen c
join accession.batch b on b.id = c.id
order by c.again desc, b.id;
