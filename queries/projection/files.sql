-- What a file is does not change after its discovery; only the rest is updated.

-- name: LoadFiles :many
select * from accession.file where raw_file_hash = any(@hashes::text[]);

-- name: UpsertFiles :exec
insert into accession.file (
    raw_file_hash, version, status, seq, batch_id, job_id, source, path, by_version, url, listed_size,
    source_modified, digest_algorithm, digest_value, size, sha256, download_attempts, processing_attempts,
    download_started_at, processing_started_at, failed_at, fence, worker, output_key, output_sha256,
    output_size, reason_class, reason_code, reason_message, reason_attempt, reason_worker, open_failure,
    discovered_at, status_since, last_modified, command_id
)
select
    r.raw_file_hash, r.version, r.status, r.seq, r.batch_id, r.job_id, r.source, r.path, r.by_version,
    r.url, r.listed_size, r.source_modified, r.digest_algorithm, r.digest_value, r.size, r.sha256,
    r.download_attempts, r.processing_attempts, r.download_started_at, r.processing_started_at,
    r.failed_at, r.fence, r.worker, r.output_key, r.output_sha256, r.output_size, r.reason_class,
    r.reason_code, r.reason_message, r.reason_attempt, r.reason_worker, r.open_failure, r.discovered_at,
    r.status_since, r.last_modified, r.command_id
from json_populate_recordset(null::accession.file, @rows::json) r
on conflict (raw_file_hash) do update set
    version = excluded.version, status = excluded.status, size = excluded.size, sha256 = excluded.sha256,
    download_attempts = excluded.download_attempts, processing_attempts = excluded.processing_attempts,
    download_started_at = excluded.download_started_at,
    processing_started_at = excluded.processing_started_at, failed_at = excluded.failed_at,
    fence = excluded.fence, worker = excluded.worker, output_key = excluded.output_key,
    output_sha256 = excluded.output_sha256, output_size = excluded.output_size,
    reason_class = excluded.reason_class, reason_code = excluded.reason_code,
    reason_message = excluded.reason_message, reason_attempt = excluded.reason_attempt,
    reason_worker = excluded.reason_worker, open_failure = excluded.open_failure,
    status_since = excluded.status_since, last_modified = excluded.last_modified,
    command_id = excluded.command_id
where file.version < excluded.version;

-- name: LoadFileCounts :many
select * from accession.file_count where id = any(@ids::text[]);

-- name: UpsertFileCounts :exec
insert into accession.file_count (
    id, files_listed, files_processed, files_skipped, files_given_up, files_deleted, files_in_progress,
    files_downloaded, bytes_listed, bytes_downloaded, deleted
)
select
    r.id, r.files_listed, r.files_processed, r.files_skipped, r.files_given_up, r.files_deleted,
    r.files_in_progress, r.files_downloaded, r.bytes_listed, r.bytes_downloaded, r.deleted
from json_populate_recordset(null::accession.file_count, @rows::json) r
on conflict (id) do update set
    files_listed = excluded.files_listed, files_processed = excluded.files_processed,
    files_skipped = excluded.files_skipped, files_given_up = excluded.files_given_up,
    files_deleted = excluded.files_deleted, files_in_progress = excluded.files_in_progress,
    files_downloaded = excluded.files_downloaded, bytes_listed = excluded.bytes_listed,
    bytes_downloaded = excluded.bytes_downloaded, deleted = excluded.deleted;

-- name: Files :many
-- In the order of their discovery. A row's place is that of its discovery, so the
-- last one of a page names where the next page begins.
select * from accession.file f
where (@batch_id::text = '' or f.batch_id = @batch_id) and (@job_id::text = '' or f.job_id = @job_id)
    and (@status::text = '' or f.status = @status) and (@name::text = '' or strpos(f.path, @name) > 0)
    and (@after::text = '' or f.seq > (select a.seq from accession.file a where a.raw_file_hash = @after))
order by f.seq
limit @max_rows;

-- name: File :one
select * from accession.file where raw_file_hash = @raw_file_hash;

-- name: FileTransitions :many
select * from accession.file_transition where raw_file_hash = @raw_file_hash order by version;

-- name: FileRetries :many
select * from report.retry_history where kind = 'file' and raw_file_hash = @raw_file_hash order by number;

-- name: FileCount :one
select * from accession.file_count where id = @id;
