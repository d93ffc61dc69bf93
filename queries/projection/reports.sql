-- name: InsertBatchReports :exec
insert into accession.batch_report (
    batch_id, report, version, kind, status, successful, failed, newly_successful, successful_jobs,
    failed_jobs, newly_successful_jobs, unresolved_jobs, truncated, report_url, report_sha256, reason_class,
    reason_code, reason_message, reported_at, seq
)
select
    r.batch_id, r.report, r.version, r.kind, r.status, r.successful, r.failed, r.newly_successful,
    r.successful_jobs, r.failed_jobs, r.newly_successful_jobs, r.unresolved_jobs, r.truncated, r.report_url,
    r.report_sha256, r.reason_class, r.reason_code, r.reason_message, r.reported_at, r.seq
from json_populate_recordset(null::accession.batch_report, @rows::json) r;
