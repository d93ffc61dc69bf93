-- name: LoadComputeEntries :many
select * from accession.compute_entry where id = any(@ids::text[]);

-- name: UpdateComputeEntries :exec
-- Rows travel as one JSON array, with the column names as keys; there are few of them.
update accession.compute_entry e set
    version = r.version,
    status = r.status,
    attempt = r.attempt,
    worker = r.worker,
    claimed_at = r.claimed_at,
    ended_at = r.ended_at,
    exit_status = r.exit_status,
    result_sha256 = r.result_sha256,
    result_size = r.result_size,
    reason_class = r.reason_class,
    reason_code = r.reason_code,
    reason_message = r.reason_message,
    reason_who_acts = r.reason_who_acts,
    last_modified = r.last_modified,
    command_id = r.command_id
from json_populate_recordset(null::accession.compute_entry, @rows::json) r
where e.id = r.id and e.version < r.version;

-- name: ComputeEntries :many
select * from accession.compute_entry
where (@status::text = '' or status = @status) and (@dataset::text = '' or dataset = @dataset) and (@before::text = '' or id < @before)
    and (@of_all::boolean or dataset = any(@datasets::text[]))
    and (@submitter::text = '' or submitter = @submitter) and (@code::text = '' or reason_code = @code)
    and (@host::text = '' or exists (select 1 from jsonb_array_elements_text(inputs) i where lower(split_part(i, '/', 3)) = @host))
    and (sqlc.narg(since)::timestamptz is null or requested_at >= sqlc.narg(since)) and (sqlc.narg(until)::timestamptz is null or requested_at < sqlc.narg(until))
order by id desc
limit @max_rows;

-- name: ComputeEntryByID :one
select * from accession.compute_entry where id = @id;

-- name: ComputeEntryOfKey :one
-- The last entry of a key that has a result.
select * from accession.compute_entry where key = @key and result_sha256 is not null order by id desc limit 1;

-- name: ComputeEntriesOfKeys :many
-- The entries that were requested under some keys, newest first.
select * from accession.compute_entry where key = any(@keys::text[]) order by id desc limit @max_rows;

-- name: ComputeWorkers :many
-- How many entries each worker has ended since a time, those over HTTP by the name that they gave.
select split_part(worker, '/', 1)::text as name, count(*) filter (where status = 'SUCCESSFUL') as completed, count(*) filter (where status = 'FAILED') as failed
from accession.compute_entry
where worker is not null and status in ('SUCCESSFUL', 'FAILED') and ended_at > @since
group by 1
order by 1
limit @max_rows;

-- name: StrandedComputeEntries :many
-- The entries that have not ended and stand for an own step of a job that is not in processing,
-- for another state than its job is in, or for a job that was requeued since, in the order of
-- their ids.
with open as (
    select p.id from accession.compute_entry p where p.status = 'PENDING' and p.key like 'job/%' and p.id > @after
    union all
    select s.id from accession.compute_entry s where s.status = 'STAGING' and s.key like 'job/%' and s.id > @after
)
select e.* from open o join accession.compute_entry e on e.id = o.id left join accession.job j on j.id = split_part(e.key, '/', 2)
where (j.id is null or j.status <> case when e.key like 'job/%/\_%' then substr(split_part(e.key, '/', 3), 2) else 'processing' end or j.retry_count::text <> split_part(e.key, '/', 4))
order by e.id
limit @max_rows;

-- name: ComputeEntriesOfJob :many
-- The entries that stand for own steps of a job, newest first.
select * from accession.compute_entry where key like 'job/%' and split_part(key, '/', 2) = @job_id::text order by id desc limit @max_rows;
