-- Rows travel as one JSON array, with the column names as keys: it keeps nulls and
-- arrays, which several array parameters would lose. New rows go by COPY.

-- name: LoadBatches :many
select * from accession.batch where id = any(@ids::text[]);

-- name: UpsertBatches :exec
-- Events of jobs move a batch's counters and leave its version as it is, hence <=.
insert into accession.batch (
    id, version, status, last_modified, command_id, profile_name, submitter, payload_url, erc_what, erc_who,
    erc_when, erc_where, type, submission_mode, digest_algorithm, digest_value, file_name, size, rows_listed,
    first_jid, manifest_url, manifest_sha256, reason_class, reason_code, reason_message, reason_attempt,
    reason_worker, report, reports, submitted_at, listed_at, started_at, reporting_at, reported_at,
    deleted_at, jobs_created, jobs_processing, jobs_held, jobs_failed, jobs_completed, jobs_deleted
)
select
    r.id, r.version, r.status, r.last_modified, r.command_id, r.profile_name, r.submitter, r.payload_url,
    r.erc_what, r.erc_who, r.erc_when, r.erc_where, r.type, r.submission_mode, r.digest_algorithm,
    r.digest_value, r.file_name, r.size, r.rows_listed, r.first_jid, r.manifest_url, r.manifest_sha256,
    r.reason_class, r.reason_code, r.reason_message, r.reason_attempt, r.reason_worker, r.report, r.reports,
    r.submitted_at, r.listed_at, r.started_at, r.reporting_at, r.reported_at, r.deleted_at, r.jobs_created,
    r.jobs_processing, r.jobs_held, r.jobs_failed, r.jobs_completed, r.jobs_deleted
from json_populate_recordset(null::accession.batch, @rows::json) r
on conflict (id) do update set
    version = excluded.version, status = excluded.status, last_modified = excluded.last_modified,
    command_id = excluded.command_id, profile_name = excluded.profile_name, submitter = excluded.submitter,
    payload_url = excluded.payload_url, erc_what = excluded.erc_what, erc_who = excluded.erc_who,
    erc_when = excluded.erc_when, erc_where = excluded.erc_where, type = excluded.type,
    submission_mode = excluded.submission_mode, digest_algorithm = excluded.digest_algorithm,
    digest_value = excluded.digest_value, file_name = excluded.file_name, size = excluded.size,
    rows_listed = excluded.rows_listed, first_jid = excluded.first_jid, manifest_url = excluded.manifest_url,
    manifest_sha256 = excluded.manifest_sha256, reason_class = excluded.reason_class,
    reason_code = excluded.reason_code, reason_message = excluded.reason_message,
    reason_attempt = excluded.reason_attempt, reason_worker = excluded.reason_worker,
    report = excluded.report, reports = excluded.reports, submitted_at = excluded.submitted_at,
    listed_at = excluded.listed_at, started_at = excluded.started_at, reporting_at = excluded.reporting_at,
    reported_at = excluded.reported_at, deleted_at = excluded.deleted_at,
    jobs_created = excluded.jobs_created, jobs_processing = excluded.jobs_processing,
    jobs_held = excluded.jobs_held, jobs_failed = excluded.jobs_failed,
    jobs_completed = excluded.jobs_completed, jobs_deleted = excluded.jobs_deleted
where batch.version <= excluded.version;
