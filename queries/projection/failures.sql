-- name: FailedJobs :many
-- The failed jobs by why they failed, the largest group first. Class and message are those of
-- the newest job of each group; alike counts those of any host with its code, collection and
-- profile.
select g.code::text as code, g.host, g.collection, g.profile_name, g.jobs, g.first_failed_at::timestamptz as first_failed_at, g.last_failed_at::timestamptz as last_failed_at,
    g.example::text as example, coalesce(e.reason_class, '')::text as class, coalesce(e.reason_message, '')::text as message, g.alike::bigint as alike, g.groups
from (
    select coalesce(j.reason_code, '') as code, j.host, j.collection, j.profile_name, count(*) as jobs, min(j.status_since) as first_failed_at, max(j.status_since) as last_failed_at,
        max(j.id) as example, count(*) over () as groups,
        sum(count(*)) over (partition by coalesce(j.reason_code, ''), j.collection, j.profile_name) as alike
    from accession.job j
    where j.status = 'failed' and (@batch_id::text = '' or j.batch_id = @batch_id)
        and (@profile::text = '' or j.profile_name = @profile) and (@collection::text = '' or j.collection = @collection)
        and (@submitter::text = '' or j.submitter = @submitter) and (@code::text = '' or j.reason_code = @code)
        and (@host::text = '' or j.host = @host)
        and (sqlc.narg(since)::timestamptz is null or j.created_at >= sqlc.narg(since))
        and (sqlc.narg(until)::timestamptz is null or j.created_at < sqlc.narg(until))
        and (not @limited::boolean or j.collection = any(@collections::text[]) or @own::text <> '' and j.submitter = @own)
    group by 1, 2, 3, 4
    order by count(*) desc, 1, 2, 3, 4
    limit @max_rows
) g
join accession.job e on e.id = g.example
order by g.jobs desc, g.code, g.host, g.collection, g.profile_name;
