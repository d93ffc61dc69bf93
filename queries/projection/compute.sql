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
