-- name: LoadJobs :many
select * from accession.job where id = any(@ids::text[]);

-- name: UpsertJobs :exec
insert into accession.job (
    id, version, batch_id, status, last_successful_status, last_modified, retry_count, priority,
    space_needed, command_id, cleaned, profile_name, submitter, payload_url, payload_type, response_type,
    submission_mode, working_dir, digest_algorithm, digest_value, file_name, size, manifest_row, row_fault,
    primary_identifier, local_id, erc_who, erc_what, erc_when, erc_where, reason_class, reason_code,
    reason_message, reason_attempt, reason_worker, created_at, status_since, completed_at, files, bytes,
    identifier_minted, object_version, manifest_key, manifest_sha256, callback
)
select
    r.id, r.version, r.batch_id, r.status, r.last_successful_status, r.last_modified, r.retry_count,
    r.priority, r.space_needed, r.command_id, r.cleaned, r.profile_name, r.submitter, r.payload_url,
    r.payload_type, r.response_type, r.submission_mode, r.working_dir, r.digest_algorithm, r.digest_value,
    r.file_name, r.size, r.manifest_row, r.row_fault, r.primary_identifier, r.local_id, r.erc_who,
    r.erc_what, r.erc_when, r.erc_where, r.reason_class, r.reason_code, r.reason_message, r.reason_attempt,
    r.reason_worker, r.created_at, r.status_since, r.completed_at, r.files, r.bytes, r.identifier_minted,
    r.object_version, r.manifest_key, r.manifest_sha256, r.callback
from json_populate_recordset(null::accession.job, @rows::json) r
on conflict (id) do update set
    version = excluded.version, batch_id = excluded.batch_id, status = excluded.status,
    last_successful_status = excluded.last_successful_status, last_modified = excluded.last_modified,
    retry_count = excluded.retry_count, priority = excluded.priority, space_needed = excluded.space_needed,
    command_id = excluded.command_id, cleaned = excluded.cleaned, profile_name = excluded.profile_name,
    submitter = excluded.submitter, payload_url = excluded.payload_url, payload_type = excluded.payload_type,
    response_type = excluded.response_type, submission_mode = excluded.submission_mode,
    working_dir = excluded.working_dir, digest_algorithm = excluded.digest_algorithm,
    digest_value = excluded.digest_value, file_name = excluded.file_name, size = excluded.size,
    manifest_row = excluded.manifest_row, row_fault = excluded.row_fault,
    primary_identifier = excluded.primary_identifier, local_id = excluded.local_id,
    erc_who = excluded.erc_who, erc_what = excluded.erc_what, erc_when = excluded.erc_when,
    erc_where = excluded.erc_where, reason_class = excluded.reason_class, reason_code = excluded.reason_code,
    reason_message = excluded.reason_message, reason_attempt = excluded.reason_attempt,
    reason_worker = excluded.reason_worker, created_at = excluded.created_at,
    status_since = excluded.status_since, completed_at = excluded.completed_at, files = excluded.files,
    bytes = excluded.bytes, identifier_minted = excluded.identifier_minted,
    object_version = excluded.object_version, manifest_key = excluded.manifest_key,
    manifest_sha256 = excluded.manifest_sha256, callback = excluded.callback
where job.version < excluded.version;

