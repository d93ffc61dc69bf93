-- How long work waits.

-- name: OldestJobs :many
-- Of each state the jobs that have been in it longest, these first; one look into an
-- index a state.
select j.id, s.status::text as status, j.status_since
from unnest(@states::text[]) as s(status)
cross join lateral (
    select o.id, o.status_since from accession.job o
    where o.status = s.status and o.status_since is not null
    order by o.status_since limit @max_rows
) as j;

-- name: OldestBatches :many
-- Of each state the batches that have not changed for longest, these first; one look
-- into an index a state.
select b.id, s.status::text as status, b.last_modified
from unnest(@states::text[]) as s(status)
cross join lateral (
    select o.id, o.last_modified from accession.batch o
    where o.status = s.status and o.last_modified is not null
    order by o.last_modified limit @max_rows
) as b;
