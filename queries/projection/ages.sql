-- How long work waits.

-- name: OldestJobs :many
-- Of each state the job that has been in it longest; one look into an index a
-- state.
select s.status::text as status, j.status_since
from unnest(@states::text[]) as s(status)
cross join lateral (
    select o.status_since from accession.job o
    where o.status = s.status and o.status_since is not null
    order by o.status_since limit 1
) as j;
