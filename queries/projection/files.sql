-- name: LoadFiles :many
select * from accession.file where raw_file_hash = any(@hashes::text[]);

-- name: LoadFileCounts :many
select * from accession.file_count where id = any(@ids::text[]);

-- name: Files :many
-- In the order of their discovery. A row's sequence is that of its discovery, so the
-- last one of a page names where the next page begins.
select * from accession.file f
where (@batch_id::text = '' or f.batch_id = @batch_id) and (@job_id::text = '' or f.job_id = @job_id)
    and (@state::text = '' or f.status = @state) and (@name::text = '' or strpos(f.path, @name) > 0)
    and (@profile::text = '' or f.profile_name = @profile) and (@collection::text = '' or f.collection = @collection)
    and (@submitter::text = '' or f.submitter = @submitter)
    and (@dataset::text = '' or f.dataset = @dataset) and (@group_name::text = '' or f.group_name = @group_name)
    and (@code::text = '' or f.reason_code = @code) and (@host::text = '' or f.host = @host)
    and (sqlc.narg(since)::timestamptz is null or f.discovered_at >= sqlc.narg(since))
    and (sqlc.narg(until)::timestamptz is null or f.discovered_at < sqlc.narg(until))
    and (not @limited::boolean or f.collection = any(@collections::text[]) or @own::text <> '' and f.submitter = @own)
    and (@after::text = '' or f.seq > (select a.seq from accession.file a where a.raw_file_hash = @after))
order by f.seq
limit @max_rows;

-- name: NameSubmitters :exec
-- Of files that were discovered before their jobs were in the tables.
update accession.file f set submitter = j.submitter
from (select unnest(@jobs::text[]) as id, unnest(@submitters::text[]) as submitter) j
where f.job_id = j.id and f.submitter <> j.submitter;

-- name: File :one
select * from accession.file where raw_file_hash = @raw_file_hash;

-- name: FileTransitions :many
select * from accession.file_transition where raw_file_hash = @raw_file_hash order by version;

-- name: FileRetries :many
select * from report.retry_history where kind = 'file' and raw_file_hash = @raw_file_hash order by number;

-- name: FileCount :one
select * from accession.file_count where id = @id;
